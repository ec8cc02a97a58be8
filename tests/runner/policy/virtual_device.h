// A pipeline stage and a fill stream in virtual time, stepped as the dispatcher does: for tests of the Session.
//
// Two receives and an all-reduce are an iteration; each is a bubble, in which compute waits through an event. Slices
// run one after the other. Nothing sleeps: a run of thousands of bubbles takes milliseconds.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <vector>

#include "runner/policy/session.h"

namespace weft::testing {

// `SessionType`: Session, or something that is used like one.
template <class SessionType>
struct VirtualDeviceOf final : RecordSink {
  struct Launch {
    TimePoint time;
    bool in_bubble;  // of the model, not as the session sees it
  };
  struct Slice {
    TimePoint launched, ends;
    std::uint64_t bubble;
    TimePoint should_begin;  // as the executor thinks, which knows only what slices take alone
  };

  template <class... More>
  explicit VirtualDeviceOf(SessionOptions options = {}, More... more) : session(checked(options), *this, more...) {}

  static SessionOptions checked(SessionOptions options) {
    options.detector.checks_kept = true;
    return options;
  }
  void push(const Record& record) noexcept override { records.push_back(record); }

  // The main job computes for so long and then waits for a group to be over.
  void microbatch(Duration compute, Duration wait) {
    begin_microbatch(compute, wait);
    advance(in_bubble_to);
  }
  void begin_microbatch(Duration compute, Duration wait) {
    const TimePoint begin = time;
    issue_group();
    in_bubble_from = begin + compute;
    in_bubble_to = begin + compute + wait;
    due.push_back(event(EventKind::wait_reached, 1, in_bubble_from, reached_ticket));
    Event done = event(EventKind::group_done, 2, in_bubble_to, 0);
    done.group = group;
    due.push_back(done);
    due.push_back(event(EventKind::wait_passed, 1, in_bubble_to, reached_ticket + 1));
  }
  // An event without a place in the pattern.
  void happens(EventKind kind) { due.push_back(event(kind, 0, time, 0)); }
  // Likewise, before all that is still to come.
  void happens_first(EventKind kind) { due.push_front(event(kind, 0, time, 0)); }
  void advance(TimePoint until) {
    for (;;) {
      step();
      const TimePoint next = session.next_look(time, {false, static_cast<std::uint32_t>(fill.size()), !due.empty()});
      if (time == until) return;
      time = std::min(next > time + look ? next + late : time + look, until);
    }
  }
  void step() {
    while (!due.empty() && due.front().time <= time) {
      session.observe(due.front());
      due.pop_front();
    }
    session.looked(time);
    while (!fill.empty() && fill.front().ends <= time && !gpu_hangs) finish_first();
    session.look(time, view());
    while (!paused) {
      const Decision decision = session.decide(time, view());
      if (!decision.launch) return;
      launches.push_back({time, time >= in_bubble_from && time <= in_bubble_to});
      const TimePoint starts = fill.empty() ? time : std::max(time, fill.back().ends);
      fill.push_back({time, starts + takes, decision.bubble, fill.empty() ? time : view().in_flight.expected_end});
      session.launched({});
    }
  }
  FillView view() const {
    FillView view;
    view.ready = session.fills() && fill.size() < (fillable == Fillable::any ? 2U : 1U);
    view.awaits_work = !has_work;
    view.ready = view.ready && has_work;
    view.candidates = {{slice}, 1};
    view.fillable = fillable;
    view.nothing_enqueued = nothing_enqueued;
    view.in_flight.slices = static_cast<std::uint32_t>(fill.size());
    if (fill.empty()) return view;
    view.in_flight.oldest_launched = fill.front().launched;
    view.in_flight.oldest_alone = slice;
    view.in_flight.first_ends = fill.front().should_begin + slice;
    view.in_flight.expected_end = fill.front().should_begin + static_cast<int>(fill.size()) * slice;
    return view;
  }
  std::vector<AnomalyRecord> anomalies() const {
    std::vector<AnomalyRecord> found;
    for (const Record& record : records)
      if (record.kind == RecordKind::anomaly) found.push_back(record.anomaly);
    return found;
  }
  std::uint64_t unfilled(Unfilled reason) const {
    return session.summary(0).unfilled[static_cast<std::size_t>(reason)];
  }

  static constexpr Duration look = std::chrono::microseconds(2);  // takes so long

  TimePoint time{std::chrono::seconds(1)};
  Duration late{};                                  // after each sleep
  Duration slice = std::chrono::microseconds(200);  // on the idle GPU
  Duration takes = slice;                           // now
  bool gpu_hangs = false;                           // no slice ends
  Fillable fillable = Fillable::any;                // as the machine has answered
  bool nothing_enqueued = false;                    // that no marker tells of
  bool paused = false;                              // nobody asks for decisions
  bool has_work = true;                             // of the fill job, records
  std::vector<Launch> launches;
  std::vector<Record> records;
  std::deque<Slice> fill;
  std::deque<Event> due;
  TimePoint in_bubble_from{}, in_bubble_to{};
  SessionType session;

 private:
  static Event event(EventKind kind, StreamId stream, TimePoint time, Ticket ticket) {
    Event made{};
    made.time = time;
    made.kind = kind;
    made.stream = stream;
    made.communicator = 1;
    made.ticket = ticket;
    return made;
  }
  void issue_group() {
    ++group;
    reached_ticket = static_cast<Ticket>(4 * group);
    Event issued = event(EventKind::group_issued, 2, time, reached_ticket - 2);
    issued.done_ticket = reached_ticket - 1;
    issued.summary.signature = 70 + group % 3;
    const bool ends_iteration = group % 3 == 0;
    issued.summary.receives = ends_iteration ? 0 : 1;
    issued.summary.collectives = ends_iteration ? 1 : 0;
    issued.summary.receive_peer = ends_iteration ? -1 : 0;
    issued.summary.send_peer = -1;
    issued.group = group;
    due.push_back(issued);
    Event waits = event(EventKind::wait_issued, 1, time, reached_ticket);
    waits.done_ticket = reached_ticket + 1;
    waits.awaited = {2, reached_ticket - 1};
    due.push_back(waits);
    Event started = event(EventKind::group_started, 2, time, 0);
    started.group = group;
    due.push_back(started);
  }
  void finish_first() {
    const Slice first = fill.front();
    fill.pop_front();
    SliceRecord done;
    done.unit = slices_done++;
    done.bubble = first.bubble;
    done.launched = first.launched;
    done.finished = time;
    done.alone = slice;
    done.unit_done = true;
    done.correct = 1;
    session.finished(done);
  }

  GroupId group = 0;
  Ticket reached_ticket = 0;
  std::uint64_t slices_done = 0;
};

using VirtualDevice = VirtualDeviceOf<Session>;

inline SessionOptions filling(double budget = Budget::unlimited) {
  SessionOptions options;
  options.fills = true;
  options.slowdown_budget = budget;
  return options;
}

inline void run(VirtualDevice& device, int microbatches, Duration compute = std::chrono::milliseconds(2),
                Duration wait = std::chrono::milliseconds(8)) {
  for (int microbatch = 0; microbatch < microbatches; ++microbatch) device.microbatch(compute, wait);
}

}  // namespace weft::testing
