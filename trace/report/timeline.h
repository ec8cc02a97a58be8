// One iteration over all stages: for each rank that is shown its bubbles, fill work, and time that nobody knows, with
// the messages that ended the bubbles.
//
// Used by the report and by tests, in the weft command only. Reads the traces of the ranks that are shown once more,
// and keeps nothing but that iteration.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "trace/report/rank_series.h"

namespace weft::report {

struct ReportedRun;

// Causes come first, by their numbers.
enum class TimelineKind : std::uint8_t { uncertain = cause_names.size(), dark, fill };

// How a bubble ended that waited for a message; `message_of_unknown_time`: by it, but the clocks of both ranks, or
// looks that are apart, have it sent later than that.
enum class EndOfBubble : std::uint8_t { message, other_work, message_of_unknown_time };

struct TimelinePart {
  Duration begin{}, end{};           // since the window's begin, cut off at its borders
  std::uint8_t kind = 0;             // a Cause or a TimelineKind
  std::size_t name = 0;              // index in Timeline::names; of a bubble
  std::optional<std::size_t> from;   // row of the rank that was waited for
  std::optional<Duration> sent;      // when that rank began to send what ended the bubble, likewise; not after `end`
  std::optional<EndOfBubble> ended;  // nothing: it waited for no message, or that is not known
};

struct TimelineRow {
  std::size_t trace = 0;
  std::string why;                  // "": it is one of all; else "median" or "most idle" of its stage
  Duration begin{}, end{};          // of the iteration on this rank
  std::vector<TimelinePart> parts;  // by their begin
};

struct Timeline {
  std::string missing;  // why there is none; "": there is one
  IterationKey iteration;
  bool is_median = true;           // else it was asked for
  Duration length{};               // of the window: from the first begin of the iteration on a row to the last end
  std::vector<std::string> names;  // printable
  std::vector<TimelineRow> rows;
  std::size_t ranks_left_out = 0;
  std::vector<std::string> notes;  // printable
};

struct TimelineLimits {
  std::size_t rows = 64, all_ranks = 32;  // so many ranks are all shown
  std::size_t parts = 10'000;             // short ones of the same kind that stand close become one, until they fit
};

// An iteration of median length among those that are known of the first rank that counts.
std::optional<IterationKey> median_iteration(const ReportedRun& run);

// `iteration`: the number that it has on all ranks; nothing: the median one.
Timeline find_timeline(const ReportedRun& run, std::optional<std::uint64_t> iteration = {},
                       const TimelineLimits& limits = {});

}  // namespace weft::report
