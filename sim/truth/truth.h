// The real work of the simulated GPU, from its own log: when the main job's compute was idle, and what the fill did.
//
// Used by simgpu-truth, the demo and tests, to hold Weft's trace against. Pure apart from reading the file. A kernel is
// fill when the name of the thread that launched it starts with "weft"; it is communication when its name starts with
// "ncclDevKernel" or it spins; all others are the main job's compute. Times: nanoseconds of CLOCK_MONOTONIC.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace simgpu {

struct Interval {
  std::int64_t begin = 0;
  std::int64_t end = 0;
  friend bool operator==(const Interval&, const Interval&) = default;
};

// Sorted, disjoint, not empty.
using Intervals = std::vector<Interval>;
Intervals united(Intervals any);  // of intervals in any order, which may overlap
Intervals intersection(const Intervals& left, const Intervals& right);
Intervals difference(const Intervals& left, const Intervals& right);
std::int64_t length(const Intervals& intervals);

// When something was resident on one GPU.
struct TruthLog {
  std::int64_t process = 0;
  std::int64_t device = 0;
  Intervals compute;        // of the main job
  Intervals communication;  // of the main job
  Intervals copies;         // of the main job, by the copy engines
  Intervals fill;           // kernels and copies
  // Communication before which the program has put nothing that is left, resident or not yet: something of another
  // stream may stand before it in their hardware queue.
  Intervals due_communication;
  std::uint64_t fill_kernels = 0;
  std::uint64_t fill_hazards = 0;  // calls of Weft's threads that stalled behind a spinning kernel
  std::uint64_t unreadable_lines = 0;
};

// Of kernels: as the model has them, or as anybody could know of them at the earliest. The second is later where the
// simulated GPU got no processor time. Copies by the copy engines have but one.
enum class Times { modelled, told };

// A last line that breaks off is left out. Throws std::runtime_error, one line, when it is no such log.
TruthLog read_truth_log(const std::string& path, Times times = Times::modelled);

// From the start of the first communication kernel to the end of the last one; nothing when there is none.
std::optional<Interval> communication_window(const TruthLog& log);

// Time without compute of the main job is idle where communication of it is resident; or, by who waits for whom, where
// communication is due, resident or not. Copies are no compute.
enum class Idle { beside_communication, behind_communication };

struct Truth {
  Interval window;
  Intervals idle;
  std::int64_t any_idle = 0;  // nothing of the main job at all
  std::int64_t compute = 0;
  std::int64_t fill = 0;                 // something of the fill was resident
  std::int64_t fill_beside_compute = 0;  // of that, next to compute of the main job
  std::int64_t fill_in_idle = 0;         // of that, in `idle`
};

// Idle intervals shorter than `shortest` are left out: the gap between two dependent kernels is no bubble.
Truth truth_of(const TruthLog& log, Interval window, std::int64_t shortest = 0, Idle idle = Idle::beside_communication);

}  // namespace simgpu
