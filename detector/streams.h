// Blocked streams: how far each main-job stream has got, what it waits for, and whether that makes the GPU idle.
//
// Fed by the detector, one thread. Knows markers and groups, no time. The rule is written out in README.md.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "detector/groups.h"
#include "detector/ring_queue.h"

namespace weft {

// The GPU is idle because this stream waits for this group, seen in this way.
struct Idleness {
  GroupId group = 0;
  StreamId stream = 0;  // 0: the host waits
  Pattern pattern = Pattern::event_wait;
};

class Streams {
 public:
  explicit Streams(GroupTable& groups) : groups_(groups) {}

  void group_issued(const Group& group, Ticket ticket);
  void wait_issued(StreamId stream, GroupId group, Ticket ticket);
  void idle_check_issued(StreamId stream);
  void host_wait_begun(StreamId stream, GroupId group);
  void host_wait_ended(StreamId stream, GroupId group);
  void stream_destroyed(StreamId stream);

  void group_started(GroupId group);
  void group_done(GroupId group);
  // The stream has run dry while the host waited.
  void idle_check_reached(StreamId stream);
  // A wait marker was seen. False: no such marker is known.
  bool marker_reached(StreamId stream, Ticket ticket);

  // The oldest group of the stream that is not over; nullptr: none.
  Group* first_pending(StreamId stream);

  std::optional<Idleness> idleness();

  // A stream that nothing is heard of for so many groups no longer counts as busy.
  void set_patience(std::uint64_t groups) { patience_ = groups; }
  std::uint64_t dropped() const;

 private:
  enum class Kind : std::uint8_t { none, start, wait, idle_check };
  // A place that a stream has still to reach, or has reached last.
  struct Mark {
    Kind kind = Kind::none;
    Ticket ticket = 0;
    GroupId group = 0;
  };
  enum class Role : std::uint8_t { unclassified, compute, communication };
  enum class State : std::uint8_t { idle, busy, blocked };
  struct Stream {
    StreamId id = 0;
    Mark at{};                           // reached last
    RingQueue<Mark> ahead{1024};         // issued, not reached
    RingQueue<GroupId> groups{1024};     // issued on this stream, not done
    std::uint64_t heard = 0;             // number of groups issued on the device when it last had news
    std::uint64_t issued = 0, done = 0;  // groups
    std::uint64_t waits = 0;             // for groups of other streams
    std::uint64_t waited_for = 0;        // its groups, by other streams
    std::uint64_t host_waited_for = 0;   // its groups, by the host
    bool sends_only = true;
    bool arrived = false;  // waits, and the group's stream had got to the group

    bool is_checked() const { return !ahead.empty() && ahead.back().kind == Kind::idle_check; }
  };
  struct HostWait {
    StreamId stream = 0;
    GroupId group = 0;
    GroupId arrived = 0;  // the group that explains it, when its stream had got to it
  };

  static constexpr std::size_t most_host_waits = 64;  // at a time: threads of the main job that wait on one device
  static constexpr std::size_t most_streams = 8192;   // at a time: as many as the shim can tell apart

  std::vector<Stream>::iterator place_of(StreamId id);
  Stream* find(StreamId id);
  const Stream* find(StreamId id) const;
  Stream* find_or_add(StreamId id);
  void reach(Stream& stream, std::size_t marks);
  bool at_group(const Group& group) const;
  Role role(const Stream& stream) const;
  State state(Stream& stream, Idleness& why) const;
  bool opens_bubbles(const Stream& stream, const Group& group) const;
  bool others_may_run(const Stream& stream) const;
  bool runs_on(const Stream& stream) const;
  std::optional<GroupId> host_waits_for();
  const Group* first_to_wait_for(const Stream& stream) const;
  const Group* awaited(const HostWait& wait) const;

  GroupTable& groups_;
  std::vector<Stream> streams_;  // by id: ids rise for as long as the process lives, few streams live at a time
  std::vector<HostWait> host_waits_;
  std::uint64_t issued_ = 0;
  std::uint64_t patience_ = 32;
  std::uint64_t lost_ = 0;
};

}  // namespace weft
