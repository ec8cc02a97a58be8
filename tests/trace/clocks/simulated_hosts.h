// Two hosts whose clocks are known, and the messages between them as their traces would have them: sends that wait for
// their receivers, receivers that are busy, looks that are apart, latencies of any kind.
//
// Used by pair_fit_test.cpp and run_clocks_test.cpp. Seeded: the same case has the same messages everywhere.
#pragma once

#include <cmath>
#include <cstdint>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "trace/clocks/clock_bounds.h"

namespace weft::test {

// The standard library's distributions differ between libraries.
class Dice {
 public:
  explicit Dice(std::uint64_t seed) : engine_(seed) {}
  double share() { return static_cast<double>(engine_() >> 11) / 9007199254740992.0; }
  double between(double low, double high) { return low + (high - low) * share(); }
  double around(double mean) { return -mean * std::log(1 - share()); }  // exponential
  bool chance(double share_of_yes) { return share() < share_of_yes; }
  std::size_t one_of(std::size_t count) { return static_cast<std::size_t>(share() * static_cast<double>(count)); }

 private:
  std::mt19937_64 engine_;
};

// Seconds of true time to seconds on the clock.
struct SimulatedClock {
  double start = 1000, rate = 0;    // share by which it is too fast
  double wave = 0, period = 600;    // the rate changes by this share, up and down
  double step_at = 1e18, step = 0;  // it jumps ahead, or stands still for so long: it never goes back
  double slew_from = 1e18, slew_to = 1e18, slew_rate = 0;  // NTP at work

  bool stands_still(double time) const { return time >= step_at && time < step_at - step; }
  double at(double time) const {
    const double turns = 2 * std::acos(-1.0) / period;
    const double slewed = time < slew_from ? 0 : (time < slew_to ? time : slew_to) - slew_from;
    return start + time * (1 + rate) + wave / turns * (1 - std::cos(turns * time)) + slew_rate * slewed +
           (time < step_at ? 0
            : step > 0     ? step
                           : std::max(step, step_at - time));
  }
};

// Latencies in seconds.
struct SimulatedLink {
  double least = 20e-6, more = 20e-6;  // the least, and on average so much more
  double spikes = 0, spike = 1e-3;     // the share of messages that take so much longer on average
};

struct SimulatedCase {
  std::string name;
  SimulatedClock base, other;
  SimulatedLink to_other, to_base;
  double length = 60, iteration = 0.5;
  int microbatches = 4;
  double look = 100e-6;  // time between two looks of a rank, at most
  double busy = 0.3;     // share of the receives that are posted late
  bool has_to_other = true, has_to_base = true;
  int collectives = 0;                    // in an iteration
  double gap_from = 1e18, gap_to = 1e18;  // nothing happens
};

// True time as a rank sees it on its clock: between two looks.
inline TimedSide seen(const SimulatedClock& clock, std::uint32_t number, double begin, double end, double look,
                      Dice& dice) {
  GroupRecord group;
  const auto record = [&](double time, TimePoint& seen_at, Duration& within) {
    const double width = dice.between(look / 10, look), before = width * dice.share();
    const double earlier = clock.at(time - before), later = clock.at(time - before + width);
    seen_at = TimePoint(Duration(std::llround((earlier + later) / 2 * 1e9)));
    within = Duration(std::llround((later - earlier) / 2 * 1e9) + 1);
  };
  group.begun_known = group.ended_known = true;
  record(begin, group.begun, group.begun_within);
  record(end, group.ended, group.ended_within);
  return timed_side(group, number, Duration{});
}

inline double latency(const SimulatedLink& link, Dice& dice) {
  return link.least + dice.around(link.more) + (dice.chance(link.spikes) ? dice.around(link.spike) : 0);
}

inline void add_messages(const SimulatedCase& simulated, std::uint32_t base, std::uint32_t other, ClockBounds& bounds,
                         Dice& dice) {
  const auto send = [&](double time, const SimulatedClock& from, std::uint32_t sender, const SimulatedClock& to,
                        std::uint32_t receiver, const SimulatedLink& link) {
    const double arrival = time + dice.around(simulated.busy > 0 ? 50e-6 : 0) + latency(link, dice);
    const double end = dice.chance(simulated.busy) ? arrival + dice.around(simulated.iteration / 20) : arrival;
    bounds.add_message(seen(from, sender, time, end, simulated.look, dice),
                       seen(to, receiver, time - 1e-3, end, simulated.look, dice));
  };
  for (double time = 1; time < simulated.length; time += simulated.iteration * dice.between(0.9, 1.1)) {
    if (time >= simulated.gap_from && time < simulated.gap_to) continue;
    if (simulated.other.stands_still(time)) continue;
    for (int microbatch = 0; microbatch < simulated.microbatches; ++microbatch) {
      const double step = simulated.iteration / simulated.microbatches, begin = time + step * microbatch * 0.8;
      if (simulated.has_to_other) send(begin, simulated.base, base, simulated.other, other, simulated.to_other);
      if (simulated.has_to_base)
        send(begin + step / 3, simulated.other, other, simulated.base, base, simulated.to_base);
    }
    for (int collective = 0; collective < simulated.collectives; ++collective) {
      const double one = time + dice.around(200e-6), two = time + dice.around(200e-6), all = std::max(one, two);
      const TimedSide sides[] = {
          seen(simulated.base, base, one, all + latency(simulated.to_base, dice), simulated.look, dice),
          seen(simulated.other, other, two, all + latency(simulated.to_other, dice), simulated.look, dice)};
      bounds.add_collective(Operation::all_reduce, sides);
    }
  }
}

}  // namespace weft::test
