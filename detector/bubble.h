// The findings of the detector: bubbles, their slots and forecasts, iterations. Plain values, pure.
//
// Read by the planner, the dispatcher, the trace writer and the tests.
#pragma once

#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "detector/event.h"

namespace weft {

// The operation that the bubble waited for; or the host, which has launched nothing while a group was under way that
// nobody waited for yet; or the schedule, which has nothing to compute, as the framework says.
enum class Cause : std::uint8_t { unknown, receive, send, collective, host, schedule };
inline constexpr std::array cause_names{"unknown",    "receive", "send",
                                        "collective", "host",    "schedule"};  // as traces and messages have them

// How the GPU came to be idle: which of the patterns of docs/how-it-works.md was seen.
enum class Pattern : std::uint8_t { event_wait, inline_group, host_wait, posted_early, said };
inline constexpr std::array pattern_names{"event_wait", "inline_group", "host_wait", "posted_early", "said"};

// Which bubble of an iteration this is. `ordinal` counts the groups of the rhythm, or numbers the slots that different
// iterations share; -1 while no rhythm is known. Bytes may differ from one bubble of a slot to the next.
struct Slot {
  std::int32_t ordinal = -1;
  CommunicatorId communicator = 0;
  std::int32_t send_peer = -1;
  std::int32_t receive_peer = -1;
  std::uint64_t bytes = 0;

  friend bool operator==(const Slot&, const Slot&) = default;
};

// The same for all bubbles of a slot.
struct SlotKey {
  std::uint64_t rhythm = 0;   // see Iteration; 0: none is known and sure
  std::int32_t ordinal = -1;  // see Slot

  bool is_known() const { return rhythm != 0 && ordinal >= 0; }
  auto operator<=>(const SlotKey&) const = default;
};

// Predicted total length of a bubble from its opening, as quantiles of earlier lengths of the same slot.
struct Forecast {
  Duration low;  // 10 %: the bubble lasts at least so long, nine times out of ten
  Duration median;
  Duration high;  // 90 %
  std::uint32_t samples;
};

// The part of the schedule that the framework was in, as it says; -1: it has not said.
struct Said {
  std::int32_t stage = -1;
  std::int32_t chunk = -1;
  std::int64_t microbatch = -1;
};

// The main job has left this enqueued while its host waits for the GPU, as far as its marks say: nothing but groups
// that run; also streams that wait, with nothing behind their waits; or more. `more` also where the host does not wait.
enum class Enqueued : std::uint8_t { groups, waits, more };

struct Bubble {
  std::uint64_t id = 0;  // counts from 1 per device
  TimePoint opened{};
  TimePoint closed{};  // meaningful once closed
  // The true time is not farther away. Filled in by the session, which knows when words and streams were looked at.
  Duration opened_within{}, closed_within{};
  GroupId group = 0;    // the group that was waited for; 0: none, the framework says that it is a bubble
  StreamId stream = 0;  // the stream that waits; 0: the host does
  Slot slot{};
  Cause cause = Cause::unknown;
  Pattern pattern = Pattern::event_wait;
  std::uint64_t iteration = 0;       // 0: before the rhythm was known and sure
  std::uint64_t rhythm = 0;          // of the iteration, see Iteration
  std::uint64_t turn = 0;            // likewise
  Said said{};                       // when the group was issued
  std::optional<Forecast> forecast;  // as it was when the bubble opened
  bool left_out = false;             // its iteration goes without fill, for comparison. Filled in by the session
};

struct Iteration {
  std::uint64_t number = 0;  // counts from 1
  TimePoint started{};
  TimePoint ended{};
  std::uint32_t groups = 0;
  Duration idle{};         // sum of its bubbles
  bool idle_known = true;  // false: its groups had no markers, its times are those at which they were issued
  // The contents of one iteration as a hash: the same when the same rhythm is found again.
  std::uint64_t rhythm = 0;
  // Which iteration since the rhythm was found, from 1, give or take one on other ranks. Between bounds: since the
  // bound was first seen, the same on all ranks. Of those that the framework says: by their numbers, see said_turns.h.
  std::uint64_t turn = 0;
  Duration uncertain{};           // in which nobody could tell whether compute ran
  std::int64_t said = -1;         // the number that the framework gave it; -1: it was found
  std::uint64_t since_found = 0;  // which one since they were last found on this rank, from 1
  std::uint32_t parts = 1;        // its transfers are so many equal rows, each with more than one microbatch
  bool dark = false;              // nothing but its end was watched: `idle` and `uncertain` say nothing of it
};

// Time that nobody watched, to see what watching costs: neither idle, nor busy, nor uncertain.
struct DarkTime {
  TimePoint began{};
  TimePoint ended{};
};

// Time in which it cannot be told whether compute ran: neither idle nor busy.
struct UncertainTime {
  TimePoint began{};
  TimePoint ended{};
  const char* why = nullptr;  // a string literal
};

enum class FindingKind : std::uint8_t {
  bubble_opened,
  bubble_closed,
  uncertain_time,
  dark_time,
  iteration_ended,
  rhythm_found,
  rhythm_lost,
  note,
  anomaly
};

struct Finding {
  FindingKind kind{};
  TimePoint time{};
  Bubble bubble{};             // bubble_opened, bubble_closed
  Iteration iteration{};       // iteration_ended
  UncertainTime uncertain{};   // uncertain_time
  DarkTime dark{};             // dark_time
  std::uint32_t period = 0;    // rhythm_found, rhythm_lost: groups in one iteration; 0: not known before it is over
  const char* text = nullptr;  // anomaly, note: a string literal
};

constexpr const char* name_of(Cause cause) noexcept {
  return cause_names[static_cast<std::size_t>(cause)];
}
constexpr const char* name_of(Pattern pattern) noexcept {
  return pattern_names[static_cast<std::size_t>(pattern)];
}

}  // namespace weft
