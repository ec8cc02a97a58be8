// A rank's trace held against what CUPTI recorded: idle time, bubbles, their ends, and fill. Pure; used by the command
// and tests. docs/validate.md defines each number.
//
// Truly idle is, as in docs/jobs.md, where a kernel of NCCL is resident and no other kernel of the training, for at
// least `shortest`. Times: nanoseconds.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "trace/validate/intervals.h"
#include "trace/validate/truth_file.h"

namespace weft {

// The contents of a trace, in CLOCK_MONOTONIC.
struct Reported {
  AnySpans windows;  // from the first group to the last one, part by part of the run
  AnySpans bubbles;
  AnySpans said;  // bubbles that the program said, in which no kernel of NCCL has to be resident
  AnySpans uncertain;
  AnySpans moves;  // copies of fill memory, which are no fill work
  std::uint64_t slices = 0;
  std::int64_t fill_alone = 0;  // what the slices take on the idle GPU
};

// How far one end of the reported bubbles was from the true one; positive: too late.
struct EndErrors {
  std::uint64_t samples = 0;
  std::int64_t median = 0;
  std::int64_t p99 = 0;     // of its size, whichever the direction
  std::int64_t latest = 0;  // the largest lateness, 0 where none was late
};

struct Comparison {
  std::int64_t window = 0;        // of the trace, where the truth is known: the time that is compared
  std::int64_t trace_window = 0;  // the whole of the trace's
  std::int64_t compute = 0;       // kernels of the training other than NCCL's, in the window
  // Idle time in the window. `missed` is true and neither reported nor uncertain.
  std::int64_t reported = 0, truth = 0, both = 0, uncertain = 0, uncertain_truth = 0, missed = 0;
  // Reported time that was not idle: the training computed, or nothing of it was resident at all (the host had launched
  // nothing, or a gap shorter than `shortest`).
  std::int64_t beside_compute = 0, beside_nothing = 0;
  std::int64_t before_nccl = 0;  // of beside_nothing: before NCCL's first kernel, while it connects
  // Bubbles that the program said, and the time of them; the training computed in a part of it. Nothing else here has
  // this time, on either side: it is no idle time by the definition of the truth.
  std::uint64_t said_bubbles = 0;
  std::int64_t said = 0, said_beside_compute = 0;
  std::optional<double> coverage;   // both / truth
  std::optional<double> precision;  // both / reported

  // Bubbles: one counts as matched when at least half of it is true. True ones are stretches of true idle time with
  // less than `shortest` between them; one counts as missed when less than half of it was reported or uncertain.
  std::uint64_t bubbles = 0, matched = 0, false_bubbles = 0, true_bubbles = 0, missed_bubbles = 0;
  // Likewise, of those that last at least `long_bubble`.
  std::uint64_t long_true = 0, long_missed = 0, long_false = 0;
  Spans largest_missed, largest_false;  // the longest first, at most five
  EndErrors opens, closes;

  std::uint64_t slices = 0, fill_records = 0;
  std::int64_t fill_alone = 0;                             // as reported
  std::int64_t fill_busy = 0;                              // what CUPTI says that the fill's kernels took
  std::int64_t fill_in_idle = 0, fill_beside_compute = 0;  // in time

  double share(std::int64_t part) const {
    return window > 0 ? static_cast<double>(part) / static_cast<double>(window) : 0;
  }
};

// Within `windows` and where the truth is known.
Comparison compare(const Reported& reported, const DeviceTruth& truth, Span known, std::int64_t shortest);

inline constexpr std::int64_t long_bubble = 1'000'000;

// The bounds that a rank must keep for the verdict that Weft was right: so much of the true idle time is reported or
// uncertain, and in so much of the reported time no kernel of the training computed; or what is missing of that is less
// than `forgiven` of the window. Reported time in which nothing was resident breaks no bound: the GPU was idle.
struct Bounds {
  double least = 0.98;
  double forgiven = 0.005;
  // Nothing can be said where these are not kept:
  double most_uncertain = 0.2;       // of the true idle time
  double most_beside_nothing = 0.1;  // of the reported time, NCCL's connecting apart: kernels may be unrecorded there
  double least_compared = 0.9;       // of the trace's window
};
// One sentence for each bound that is not kept.
std::vector<std::string> faults(const Comparison& comparison, const Bounds& bounds);
// One sentence for each reason why a comparison without faults does not show that Weft was right.
std::vector<std::string> doubts(const Comparison& comparison, const Bounds& bounds);

}  // namespace weft
