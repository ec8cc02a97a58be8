// How far one clock is ahead of another one, from the bounds that messages between them give.
//
// Used by run_clocks.cpp and tests. Pure. The time is cut into blocks with some bounds of each kind. Between
// neighbouring bounds the other clock gains at a rate that the bounds of a longer time allow, give or take `wander`; so
// each bound says something of all times around it, less of those far away. At each time the interval holds what the
// bounds of its own block allow, and what those of the blocks beside it do: a step of a clock inside a block makes that
// block's bounds worthless without contradicting them, and then the truth is what one of its neighbours says.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "trace/clocks/clock_offset.h"
#include "trace/clocks/pair_bounds.h"

namespace weft {

// By which the rate of one clock against another one changes within minutes: temperature, and NTP at work.
constexpr double wander = 5e-7;

// Time at whose begin the clocks did not keep the rate of the time before.
struct RateBreak {
  TimePoint time{};  // on the base clock
  Duration moved{};  // by how much more the other clock is ahead than it would have been
};

struct PairFit {
  ClockOffset offset;                    // of the other clock, on the base's time
  TimePoint first{}, last{};             // between these there are bounds
  double rate = 0, rate_within = 0;      // by which the other clock gains, over all of that time
  double least_rate = 0, most_rate = 0;  // of the parts of it that each have a rate of their own
  std::vector<RateBreak> breaks;         // in their order; none: the clocks kept one rate
  std::uint64_t contradictions = 0;      // blocks whose bounds contradict each other at any rate
  std::uint64_t messages = 0, collectives = 0;
};

// Nothing: there are bounds of one kind only, or none. After PairBounds::finish().
std::optional<PairFit> fit_pair(const PairBounds& bounds);

}  // namespace weft
