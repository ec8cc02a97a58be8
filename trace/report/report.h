// All that a report shows, put together from a run; and its sentences, for people who read no more than these.
//
// Used by `weft report` and tests, in the weft command only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "trace/report/frontier.h"
#include "trace/report/reported_run.h"
#include "trace/report/timeline.h"
#include "trace/report/waits.h"
#include "trace/report/what_if.h"

namespace weft::report {

// How much filling an observed run would give, by the engine's estimate (docs/estimate.md); made by the command.
struct FillEstimate {
  std::string missing;  // why there is none; "": there is one
  std::string job, budget;
  std::size_t ranks = 0;        // that it was made of
  bool has_all_bubbles = true;  // of these
  double conversion = 0;
  double hours_per_day = 0;  // of GPU time, on all ranks of the run
  double most_delay = 0;     // of one rank: the most by which slices would have delayed the training, as a share
  std::vector<std::string> notes;
};

// Sums of the ranks that count, for as long as a day is like the steady part of the run.
struct FillGain {
  bool is_filled = false;
  double conversion = 0;
  double hours_per_day = 0;
  std::size_t ranks = 0;
};

// Of one iteration of all ranks that have it.
struct SeriesPoint {
  IterationKey key;
  Duration since_begin{};             // of the run
  Duration length{};                  // the longest of any rank
  Duration time{}, idle{}, filled{};  // sums
  bool left_out = false;
  std::uint64_t forecasts = 0, within = 0;
  Duration forecast_error{}, forecast_length{};
};

struct ReportedSlot {
  RankSlot slot;
  Calibration forecasts;
  Duration filled{};
};

struct Report {
  std::string place;  // printable: where the traces are
  const ReportedRun* run = nullptr;
  Frontier frontier;
  Waits waits;
  Timeline timeline;
  WhatIf what_if;
  FillGain gain;
  FillEstimate estimate;
  std::vector<SeriesPoint> series;  // in their order
  std::vector<ReportedSlot> slots;  // most idle time first
  std::size_t slots_left_out = 0;
  Duration idle_of_slots{};  // of all slots, also of those that are left out
  Calibration forecasts;
  std::optional<std::size_t> slowest_by_fill;  // the trace that saw the largest slowdown
};

// Without `estimate`. The run has to outlive it.
Report make_report(const ReportedRun& run, const std::string& place, std::optional<std::uint64_t> iteration = {});

// How much is idle and why; which stage makes the others wait; what filling gives or would give. One sentence each;
// what is not known is said.
std::vector<std::string> sentences_of(const Report& report);

// All of it as one JSON object for the page, of ASCII only. Times are nanoseconds, shares hundredths of a percent.
// Nothing in it can end a script element.
std::string data_block(const Report& report);

}  // namespace weft::report
