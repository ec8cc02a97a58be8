// Streams, and short words for what is noted on them; used by streams_test.cpp and one_queue_test.cpp.
#pragma once

#include <gtest/gtest.h>

#include <initializer_list>

#include "detector/streams.h"

namespace weft {

class StreamsTest : public ::testing::Test {
 protected:
  // Its end has the ticket 2000 + id.
  void issue(GroupId id, StreamId stream, bool send_only = false) {
    Group group;
    group.id = id;
    group.stream = stream;
    group.start_known = true;
    group.done_ticket = static_cast<Ticket>(2000 + id);
    group.send_only = send_only;
    groups.insert(group);
    streams.group_issued(group, static_cast<Ticket>(1000 + id));
  }
  // Nothing to compute stands before them.
  void groups_on(Streams& of, StreamId stream, std::initializer_list<GroupId> ids, CommunicatorId communicator) {
    for (const GroupId id : ids) {
      Group group;
      group.id = id;
      group.stream = stream;
      group.start_known = group.nothing_launched = true;
      group.done_ticket = static_cast<Ticket>(2000 + id);
      group.slot.communicator = communicator;
      groups.insert(group);
      of.group_issued(group, static_cast<Ticket>(1000 + id));
    }
  }
  void run(GroupId id) {
    streams.group_started(id);
    streams.group_done(id);
  }
  // A stream waits for a group, or for another wait: its own has the tickets 3000 + number and 4000 + number.
  void wait_for_group(StreamId stream, GroupId id, Ticket number) {
    wait(stream, {groups.find(id)->stream, static_cast<Ticket>(2000 + id)}, 3000 + number, 4000 + number);
  }
  void wait_for_wait(StreamId stream, StreamId source, Ticket of, Ticket number) {
    wait(stream, {source, 4000 + of}, 3000 + number, 4000 + number);
  }
  void wait(StreamId stream, AwaitedPlace awaited, Ticket ticket, Ticket passed, bool nothing_launched = false,
            InGraph in_graph = InGraph::no) {
    Event event{};
    event.kind = EventKind::wait_issued;
    event.stream = stream;
    event.awaited = awaited;
    event.ticket = ticket;
    event.done_ticket = passed;
    event.nothing_launched = nothing_launched;
    event.in_graph = in_graph;
    streams.wait_issued(event);
  }
  // One more wait of the stream, ahead of which something was launched.
  void wait_and_launch(StreamId stream, GroupId id, Ticket ticket) {
    wait(stream, {groups.find(id)->stream, static_cast<Ticket>(2000 + id)}, ticket, ticket + 1);
  }
  void mark(StreamId stream, Ticket ticket, bool nothing_launched) {
    Event event{};
    event.kind = EventKind::mark_issued;
    event.stream = stream;
    event.ticket = ticket;
    event.nothing_launched = nothing_launched;
    streams.mark_issued(event);
  }
  // The first group of stream 2 is over, stream 1 gets on, and waits for the next one. It has a launch behind that, up
  // to the mark `ticket`.
  void block_again(GroupId id, Ticket ticket) {
    streams.group_done(id - 1);
    issue(id, 2);
    wait(1, {2, static_cast<Ticket>(2000 + id)}, ticket - 9, ticket - 8);
    mark(1, ticket, false);
    streams.group_started(id);
    EXPECT_TRUE(streams.marker_reached(1, ticket - 9));
  }
  void at_wait(StreamId stream, Ticket number) { EXPECT_TRUE(streams.marker_reached(stream, 3000 + number)); }
  void past_wait(StreamId stream, Ticket number) { EXPECT_TRUE(streams.marker_reached(stream, 4000 + number)); }
  void answer(StreamAnswer answer, std::initializer_list<StreamId> of) {
    streams.verdict();
    for (const StreamId stream : of) streams.answered(stream, {answer, 1});
  }
  void sixth_says(StreamAnswer answer, Ticket launched_before) {
    streams.verdict();
    streams.answered(6, {answer, launched_before});
  }
  bool busy() { return streams.verdict().kind == Verdict::Kind::busy; }
  bool uncertain() { return streams.verdict().kind == Verdict::Kind::uncertain; }
  // The group that the GPU is idle for; 0: it is not.
  GroupId idle_for() {
    const Verdict verdict = streams.verdict();
    return verdict.kind == Verdict::Kind::idle ? verdict.idleness.group : 0;
  }
  Pattern pattern() { return streams.verdict().idleness.pattern; }

  GroupTable groups{1024};
  Streams streams{groups, false, true};
};

}  // namespace weft
