// The planner: which slice is launched now, if any, and when must the dispatcher look again? Pure, like the detector.
//
// Called by the dispatcher thread after each step of the detector. It knows times and lengths, no CUDA and no clock.
// The fourth promise of docs/safety.md: at most one slice runs and one waits.
//
// A slice is worth its length of fill work. Where it outlasts the bubble, the main job waits for the rest of it, and a
// second of that costs `price` seconds of fill work. How long the bubble goes on is known as a distribution
// (remaining.h); so filling does not stop at a forecast end, but slices become shorter, because then an overrun costs
// half a short slice, while to stop would cost the rest of the bubble. And the next slice is launched just before the
// one that runs ends: no earlier than it has to be, because a bubble may end meanwhile.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>

#include "detector/bubble.h"
#include "runner/policy/cuts.h"
#include "runner/policy/jobs.h"
#include "trace/record.h"

namespace weft {

struct PlannerOptions {
  double price = 20;  // seconds of fill work for a second of delay, see Budget; infinite: nothing is launched
  Duration between_slices{15'000};  // seven of eight looks come no later than this after they were wanted
  Duration launching{6'000};        // from a decision until its slice could begin on an idle stream
  Duration behind_another{2'000};   // from the end of a slice to the begin of the next one, where that waits behind it
  Duration lateness{};              // slices end so much later than they take on the idle GPU
  Duration surely_late{};           // so much of that was seen for sure: to begin behind them too late costs a pause
  std::uint32_t most_in_flight = 2;
  Duration hangs_after{60'000'000'000};  // a bubble that is open for so long is none: the training hangs
};

// The slices that may come next: the next kernels of a unit, cut at several lengths, shortest first, none twice; or
// those of several jobs, one behind the other.
struct Candidates {
  static constexpr std::size_t most = Cuts::most * most_jobs;
  std::array<Duration, most> alone{};  // on the idle GPU
  std::uint32_t count = 0;             // 0: none is ready
};

// The slices on the fill stream at this moment. Nothing but `slices` means anything while that is 0.
struct InFlight {
  std::uint32_t slices = 0;
  TimePoint expected_end{};     // when the last of them should finish
  TimePoint first_ends{};       // when the first of them should
  TimePoint oldest_launched{};  // the one that runs, or is next to run
  Duration oldest_alone{};      // its length on the idle GPU
};

struct Decision {
  bool launch = false;  // launch this candidate, now
  bool waits = false;   // it is to be launched, but later: no other one goes before it
  std::uint32_t candidate = 0;
  std::optional<TimePoint> again;   // ask again at this time even if nothing happens; nothing: when a bubble opens
  std::optional<Unfilled> refusal;  // why the bubble gets no slice; nothing: it does, or waits for one in flight
  std::uint64_t bubble = 0;         // id of the bubble that the decision is about, 0: none is open
};

// With nothing in flight, the candidate with which most is won per time: its length less the price of its expected
// overrun, over its length and the pause behind it. Behind one that runs, the same, but only where the pause that it
// saves is worth more than the risk that the bubble ends before it begins: a launch in time saves a pause for sure, an
// earlier one only where the thread would be late. Ask once per slice; after a launch ask again at once. `bubble`: the
// open bubble or nothing; `seen`: it was seen to be open at this time, at the latest look. That it still is has to be
// hoped for. `guard`: nothing begins so shortly before the expected end of the bubble.
Decision plan(const PlannerOptions& options, TimePoint now, TimePoint seen, const std::optional<Bubble>& bubble,
              const InFlight& in_flight, const Candidates& candidates, Duration guard = {});

// Nothing begins at this time, as the bubble is expected to end soon.
inline bool is_guarded(const Bubble& bubble, TimePoint begin, Duration guard) {
  return guard > Duration{} && bubble.forecast && begin > bubble.opened + (bubble.forecast->median - guard);
}

// When a slice that was launched behind another one began: that one should have ended at `expected`, had not at the
// look before, and has at this one.
inline TimePoint began_behind(TimePoint expected, TimePoint look_before, TimePoint launched, TimePoint now) {
  return std::clamp(expected, std::min(std::max(look_before, launched), now), now);
}

// When to look next for the end of a slice. Of one that is late more and more seldom: kernels of the main job may stand
// ahead of it.
inline TimePoint look_for_end(TimePoint now, TimePoint expected) {
  return now < expected ? expected : now + (now - expected);
}

}  // namespace weft
