// Pipelines in virtual time: the event stream that each rank's detector would see, with its exact bubbles.
//
// Used by the detector's tests and its benchmark. Independent of the detector: the bubbles come from the times of the
// compute streams themselves. One compute stream per rank; groups run on it, or on communication streams.
#pragma once

#include <cstdint>
#include <vector>

#include "detector/event.h"

namespace weft::testing {

enum class Schedule { gpipe, one_f_one_b, interleaved };
enum class Wait { event, in_stream, host };

struct PipelineOptions {
  Schedule schedule = Schedule::one_f_one_b;
  Wait wait = Wait::event;
  int stages = 4;
  int microbatches = 8;
  int chunks = 1;  // per rank; 2 and more with Schedule::interleaved only
  int iterations = 8;
  int startup_groups = 0;  // collectives before the first iteration, each of its own size
  bool all_reduce = true;  // at the end of an iteration
  bool eager = false;      // sends do not wait for their receiver
  Duration forward{10'000'000};
  Duration backward{20'000'000};
  Duration latency{50'000};
  Duration host_call{5'000};
  double jitter = 0;  // of compute, relative
  std::uint32_t seed = 1;
};

struct TrueBubble {
  TimePoint opened{};
  TimePoint closed{};
  GroupId group = 0;
  int iteration = 0;  // from 1
  friend bool operator==(const TrueBubble&, const TrueBubble&) = default;
};

struct Timeline {
  std::vector<Event> events;
  std::vector<TrueBubble> bubbles;
  std::uint32_t groups_per_iteration = 0;
  std::vector<TimePoint> iteration_ends;  // of the last group
};

std::vector<Timeline> simulate(const PipelineOptions& options);

}  // namespace weft::testing
