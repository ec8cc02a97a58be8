// The planner: may a slice be launched now, and when must the dispatcher look again? Pure, like the detector.
//
// Called by the dispatcher thread after each step of the detector. It knows times and lengths, no CUDA and no clock.
// The fourth promise of docs/safety.md: at most one slice runs and one waits, and filling stops before the
// forecast end.
#pragma once

#include <cstdint>
#include <optional>

#include "detector/bubble.h"
#include "trace/record.h"

namespace weft {

struct PlannerOptions {
  Duration slice_cap{300'000};  // WEFT_SLICE: a longer slice runs only where the forecast has room for it
  Duration guard{300'000};      // WEFT_GUARD: kept free before the forecast end
  Duration floor{1'000'000};    // WEFT_FLOOR: bubbles with a shorter forecast are left alone
  std::uint32_t most_in_flight = 2;
};

// The slices on the fill stream at this moment. Nothing but `slices` means anything while that is 0.
struct InFlight {
  std::uint32_t slices = 0;
  TimePoint expected_end{};     // when the last of them should finish
  TimePoint oldest_launched{};  // the one that runs, or is next to run
  Duration oldest_alone{};      // its length on the idle GPU
};

struct Decision {
  bool launch = false;              // launch the slice that was asked about, now
  std::optional<TimePoint> again;   // ask again at this time even if nothing happens; nothing: when a bubble opens
  std::optional<Unfilled> refusal;  // why the bubble gets no slice; nothing: it does, or waits for one in flight
  std::uint64_t bubble = 0;         // id of the bubble that the decision is about, 0: none is open
};

// Launches only in a bubble whose forecast's low quantile is at least `floor`, and only what ends `guard` before the
// taken end: the median, but at most half the guard above the low quantile. A queued slice can no longer be stopped,
// so it must end `guard` before the low quantile. An early end costs the main job the rest of the running slice; in the
// shortest tenth of bubbles, one queued slice more. Nothing is launched past the forecast,
// even when the bubble goes on: what it would still last is not known. Ask once per slice; after a launch ask again at
// once. `bubble`: the open bubble or nothing. `slice`: length of the next slice on the idle GPU.
Decision plan(const PlannerOptions& options, TimePoint now, const std::optional<Bubble>& bubble,
              const InFlight& in_flight, Duration slice);

}  // namespace weft
