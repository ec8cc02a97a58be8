// The inside of the detector: its parts, and the state that they share. Only the files that define its members include
// it: detector.cpp (events and groups), annotations.cpp (what the framework says), open_bubble.cpp (when a bubble
// begins and ends) and dark.cpp (when nobody looks). See detector.h for who calls it; nothing here is used from
// outside.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "detector/bounds.h"
#include "detector/dark_turns.h"
#include "detector/detector.h"
#include "detector/groups.h"
#include "detector/iterations.h"
#include "detector/leader.h"
#include "detector/rhythm.h"
#include "detector/ring_queue.h"
#include "detector/said_bubbles.h"
#include "detector/said_turns.h"
#include "detector/sayings.h"
#include "detector/slots.h"
#include "detector/streams.h"

namespace weft {

class Detector::Implementation {
 public:
  explicit Implementation(const DetectorOptions& options)
      : groups_(options.most_groups),
        streams_(groups_, options.one_queue, options.checks_kept),
        rhythm_(options.longest_period),
        iterations_(options.longest_period),
        slots_(options.history, options.warm_up_iterations),
        said_bubbles_(options.history, options.warm_up_iterations),
        longest_period_(static_cast<std::uint32_t>(options.longest_period)),
        dark_turns_(options.goes_dark) {
    remembered_.reserve(most_remembered);
    host_waits_.reserve(most_host_waits);
    findings_.reserve(16);
  }

  std::span<const Finding> observe(const Event& event);
  void looked(TimePoint time) {
    before_look_ = std::exchange(look_, time);
    streams_.looked();
  }
  bool capture_is_open() const { return captures_ != 0; }
  bool is_dark() const { return dark_since_.has_value(); }
  void stay_dark() { dark_turns_.take_all(); }
  std::optional<TimePoint> dark_since() const { return dark_since_; }
  std::uint64_t running_turn() const { return iterations_.running_turn(); }
  std::optional<TimePoint> expected_end() const { return iterations_.expected_end(); }
  std::optional<std::uint64_t> marks_only() const;

  std::optional<Bubble> open_bubble() const { return interrupted_ ? std::nullopt : open_; }
  std::optional<TimePoint> next_expected_bubble() const { return iterations_.next_bubble(); }
  const Streams& streams() const { return streams_; }
  std::uint64_t iteration_of(GroupId id) const {
    const Group* group = groups_.find(id);
    return group == nullptr ? 0 : group->iteration;
  }
  SlotKey slot_of(GroupId id) const {
    const Group* group = groups_.find(id);
    return group == nullptr || group->iteration == 0 ? SlotKey{} : SlotKey{group->rhythm, group->slot.ordinal};
  }
  const Sayings& sayings() const { return sayings_; }
  bool has_groups_under_way() const { return groups_.any_pending(); }
  std::uint64_t dropped() const { return groups_.forgotten() + streams_.dropped() + unknown_; }

 private:
  static constexpr std::size_t most_remembered = 4096;
  static constexpr std::size_t most_host_waits = 1024;

  void dispatch(const Event& event);
  void group_issued(const Event& event);
  void group_done(GroupId id);
  void finish(Group& group);
  void pass(const Group& group, bool idle_known);
  void iteration_over(Iteration iteration, bool idle_known);
  void look_for_parts(const Iteration& iteration);
  void communicator_aborted(CommunicatorId communicator);
  Rhythm::Change follow_rhythm(const Event& event);
  void rhythm_lost(std::uint32_t period);
  void rhythm_found();
  void bounds_found(std::uint64_t last);
  void iteration_said(const Event& event);
  void bubble_said(const Event& event);
  void give_up_bubble(const char* why);
  void follow_bubbles();
  void follow_sayings();
  void stop_following();
  void refused(const char* why);
  void place_earlier();
  void place(Group& group);
  void update_bubble();
  bool is_over(const Bubble& bubble, const Verdict& now) const;
  void look_at_uncertainty(const Verdict& verdict);
  void report_uncertainty(const UncertainTime& uncertain);
  void report_host_waits();
  void leave_out_look();
  void open(const Idleness& idleness);
  void expect(Bubble& bubble, const Group& group);
  void announce();
  // whole: it was seen until its end; cut_off: nobody looks any longer.
  enum class Closing : std::uint8_t { whole, cut_off };
  void close(Closing how = Closing::whole);
  bool goes_dark(std::uint64_t turn) const;
  void look_at_dark();
  void begin_dark();
  void report_dark();
  void end_dark();
  void report(FindingKind kind);
  void look_for_losses();
  void anomaly(const char* text);
  void note(const char* text);
  void say_once(FindingKind kind, const char* text);

  // A bubble that closed: it may turn out to belong to a rhythm that is found later.
  struct Remembered {
    std::uint64_t position = 0;
    Duration length{};
    std::uint32_t table = 0;  // that has its length already
    std::uint32_t piece = 0;  // see Slots
  };

  GroupTable groups_;
  Streams streams_;
  Rhythm rhythm_;
  Bounds bounds_;
  Leader leader_;
  Iterations iterations_;
  Slots slots_;
  Sayings sayings_;
  SaidTurns said_turns_;
  SaidBubbles said_bubbles_;
  std::uint32_t longest_period_;
  DarkTurns dark_turns_;
  std::optional<TimePoint> dark_since_;
  std::uint32_t table_ = 0;  // of the rhythm; 0: none is known
  RingQueue<Remembered> remembered_{most_remembered};
  std::optional<Bubble> open_;
  bool announced_ = false;
  std::optional<TimePoint> interrupted_;  // at this time the open bubble has ended, unless it goes on at once
  std::optional<TimePoint> uncertain_since_;
  const char* uncertain_why_ = nullptr;
  RingQueue<UncertainTime> host_waits_{most_host_waits};  // since the last group, to be reported
  std::uint64_t bubbles_ = 0;
  std::uint64_t issued_ = 0;       // groups
  int in_parts_ = 0;               // iterations in a row that were
  bool latest_is_marked_ = false;  // of them
  bool any_is_marked_ = false;     // likewise
  std::uint32_t captures_ = 0;
  std::uint64_t unknown_ = 0;
  std::uint64_t lost_ = 0;  // by the tables
  std::vector<const char*> said_;
  TimePoint now_{};
  TimePoint look_{}, before_look_{};  // the latest two
  std::vector<Finding> findings_;
};

inline Place place_of(const Group& group) {
  return {group.slot.ordinal, group.iteration, group.turn, group.rhythm, group.ends_iteration, -1};
}

}  // namespace weft
