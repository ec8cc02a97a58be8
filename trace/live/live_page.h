// The page of a rank: how it stands at this moment, in 4096 bytes of plain numbers and texts of fixed length, as a file
// beside its trace ("rank0.1234.live"). `weft top` shows the pages of a run.
//
// Filled in by the dispatcher thread (LiveNumbers) and the writer thread of the trace (the rest), which writes it with
// one call over the one before. A reader may meet a page that is half old, on a disk that several machines share: it
// shows only one whose two sequence numbers and whose checksum are right (read_live.h). Lengths and times are
// nanoseconds, texts end with a zero, and the layout's number rises with each change of it.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>

#include "detector/bubble.h"
#include "trace/record.h"

namespace weft {

inline constexpr std::string_view live_extension = ".live";
inline constexpr std::size_t live_page_bytes = 4096;
inline constexpr std::uint32_t live_layout = 1;
inline constexpr std::array<char, 8> live_magic{'W', 'E', 'F', 'T', 'L', 'I', 'V', 'E'};

template <std::size_t size>
void set_text(std::array<char, size>& target, std::string_view text) {
  const std::size_t end = put_text(target.data(), size - 1, text);
  std::fill(target.begin() + static_cast<std::ptrdiff_t>(end), target.end(), '\0');
}

// Up to the first zero, or all of it where a damaged page has none.
template <std::size_t size>
std::string_view text_of(const std::array<char, size>& text) {
  return {text.data(), static_cast<std::size_t>(std::ranges::find(text, '\0') - text.begin())};
}

// As Snapshot::Filling of the session.
enum class LiveFilling : std::uint32_t { observes, fills, paused, ended };
inline constexpr std::size_t live_fillings = 4;

// One of the latest iterations. `filled` is of the slices that were seen to end in it.
struct LiveIteration {
  std::int64_t length = 0, idle = 0, uncertain = 0, filled = 0;
};

// Idle time in which a receive from, or a send to, this peer was waited for. `communicator` is the one that all its
// ranks know by this id; 0: none is known, so nobody can tell which rank of the job the peer is.
struct LiveWait {
  std::uint64_t communicator = 0;
  std::int64_t idle = 0;
  std::int32_t peer = -1, ranks = 0;
};

// The place of this rank in a communicator, for the pages of others that wait for it.
struct LiveCommunicator {
  std::uint64_t id = 0;
  std::int32_t rank = 0, ranks = 0;
};

inline constexpr std::size_t live_causes = 8;   // places, of which some have no cause yet
inline constexpr std::size_t live_reasons = 8;  // likewise, by Unfilled
inline constexpr std::size_t live_iterations = 32;
inline constexpr std::size_t live_waits = 16;
inline constexpr std::size_t live_communicators = 40;
static_assert(cause_names.size() <= live_causes && unfilled_reasons <= live_reasons);

// Of the present segment of the trace: a process that closes all communicators and opens others begins anew.
struct LiveNumbers {
  std::int64_t time = 0;  // when they were true, on the clock of the trace

  // As in the summary of the trace (TraceSummary), whose sums these are.
  std::int64_t window_begin = 0, window_end = 0;
  std::int64_t idle = 0, uncertain = 0, dark = 0, filled = 0, idle_left_out = 0, moved = 0;
  std::uint32_t startup_known = 0, unused = 0;
  std::int64_t startup_length = 0, startup_idle = 0, startup_uncertain = 0, startup_filled = 0;
  std::uint64_t iterations = 0, bubbles = 0, slices = 0, fill_units = 0, fill_units_wrong = 0, dropped_records = 0;
  std::array<std::uint64_t, live_reasons> unfilled{};

  std::array<std::int64_t, live_causes> idle_by_cause{};

  // The latest iterations that were watched, the oldest first.
  std::int64_t last_iteration_ended = 0;  // also of one that was not
  std::uint64_t last_iteration = 0;       // its number; 0: there was none
  std::uint32_t recent_count = 0, unused_too = 0;
  std::array<LiveIteration, live_iterations> recent{};

  // Of bubbles that had a forecast: how many lasted from its `low` to its `high`, and the median of
  // abs(median - length) / length over the latest ones.
  std::uint64_t forecasts = 0, forecasts_within = 0;
  double forecast_error = 0;

  // control, dark: 0 where nothing is known. Shares: 0.01 is 1 %.
  double slowdown = 0, slowdown_low = 0, slowdown_high = 0, slowdown_budget = 0;
  std::uint32_t slowdown_known = 0, slowdown_control = 0, slowdown_filled = 0, watching_known = 0;
  double watching = 0, watching_low = 0, watching_high = 0;
  double fill_share = 1;  // of the bubbles that the budget lets be filled

  LiveFilling filling = LiveFilling::observes;
  std::uint32_t memory_known = 0;
  std::int64_t memory_cap = 0, memory_reserved = 0, memory_used = 0, device_free = 0, device_total = 0;
  std::array<char, 128> fill_jobs{};  // those that are ready, with ", " between
  std::array<char, 192> why{};        // why filling is paused or over; "": it is neither
  std::array<char, 192> anomaly{};    // the latest; "": there was none

  std::int64_t idle_of_other_waits = 0;  // of peers that the list has no room for
  std::uint32_t wait_count = 0, communicator_count = 0;
  std::uint32_t communicators_left_out = 0, anomalies = 0;
  std::array<LiveWait, live_waits> waits{};
  std::array<LiveCommunicator, live_communicators> communicators{};

  // See SlowdownRecord.
  bool knows_slowdown() const { return slowdown_known != 0 && slowdown_control != 0 && slowdown_high >= 0; }
};
static_assert(std::is_trivially_copyable_v<LiveNumbers> && sizeof(LiveNumbers) == 3048);

// Does not change while the file is open.
struct LiveIdentity {
  std::int32_t rank = 0, ranks = 0, device = 0;
  std::uint32_t earlier_segments = 0;      // 1: the process had closed its communicators before, the numbers begin here
  std::int64_t process = 0, start_id = 0;  // as in the header of the trace
  // Which process that is, for readers that see the same ones: the namespace of its number, and when it was started,
  // in the kernel's ticks since the boot. 0: it could not be read.
  std::uint64_t process_namespace = 0, process_started = 0;
  std::int64_t started = 0, wall_clock = 0;  // the same moment on both clocks
  std::uint32_t clock_offset_known = 0, unused = 0;
  std::int64_t clock_offset = 0;
  std::array<char, 64> host{};
  std::array<char, 40> boot{};
  std::array<char, 24> weft{};
  std::array<char, 8> mode{};
  std::array<char, 128> idle_unknown{};
};
static_assert(std::is_trivially_copyable_v<LiveIdentity> && sizeof(LiveIdentity) == 344);

struct LivePage {
  std::array<char, 8> magic = live_magic;
  std::uint32_t layout = live_layout, bytes = live_page_bytes;
  std::uint64_t sequence = 0;           // counts the writings since the trace was opened
  std::uint32_t ended = 0, unused = 0;  // 1: the rank has written its summary; these are the last numbers
  LiveIdentity identity;
  LiveNumbers numbers;
  std::array<std::byte, 656> reserved{};
  std::uint64_t checksum = 0;  // of all bytes in front of it
  std::uint64_t sequence_again = 0;
};
static_assert(std::is_trivially_copyable_v<LivePage> && sizeof(LivePage) == live_page_bytes);
static_assert(offsetof(LivePage, sequence) == 16 && offsetof(LivePage, checksum) == live_page_bytes - 16);

// Of the bytes in front of the checksum.
std::uint64_t checksum_of(const LivePage& page);
// Gives the page its number and makes it whole.
void seal(LivePage& page, std::uint64_t sequence);

// "rank0.1234.live" of "rank0.1234.jsonl".
std::string live_path(std::string_view trace_path);

}  // namespace weft
