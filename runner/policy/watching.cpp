// See watching.h.
#include "runner/policy/watching.h"

#include <algorithm>

#include "runner/policy/control_schedule.h"

namespace weft {
namespace {

// With fewer nothing is decided: one run may be disturbed, by what comes and goes in minutes.
constexpr std::uint32_t fewest_watched = 8, fewest_dark = 12, fewest_runs = 3;
// As in the Budget: a checkpoint may still be written.
constexpr std::uint64_t settling = 4;
constexpr std::uint64_t golden = 0x9e3779b97f4a7c15U;

bool is_enough(const std::optional<Slowdown>& cost) {
  return cost && cost->filled >= fewest_watched && cost->control >= fewest_dark && cost->runs >= fewest_runs;
}

}  // namespace

bool Watching::ended(const Iteration& iteration) {
  const Part part = part_of(iteration.turn);
  const Duration length = iteration.ended - iteration.started;
  const bool is_dark_turn = part.purpose == IterationPurpose::dark;
  if (!part.comparable || iteration.since_found <= settling || length <= Duration{} || iteration.dark != is_dark_turn)
    return false;
  // A run is known by its turn, by when iterations were found, and by what is in them.
  const std::uint64_t found = iteration.number - iteration.since_found;
  ratios_.add((found * golden + part.run) ^ iteration.rhythm, is_dark_turn, length, iteration.groups);
  if (is_dark_turn) length_ = length;
  // Once in each run: after the last one that counts.
  if (part.purpose != IterationPurpose::control || is_control(iteration.turn + 2)) return false;
  const std::optional<Slowdown> now = ratios_.slowdown();
  least_ = is_enough(now) ? std::max(0.0, now->low - grid()) : 0;
  if (looks_ == Looks::ends || !is_too_much()) return false;
  before_ = now;
  looks_ = looks_ == Looks::all ? Looks::fewer : Looks::ends;
  ratios_.forget();
  least_ = 0;
  return true;
}

// The end of an iteration is seen at a look, so medians of short ones lie on a grid.
double Watching::grid() const {
  return length_ > Duration{} ? std::chrono::duration<double>(poll_) / length_ : 0;
}

// A run may be long, and this is asked again and again: so it has to be sure, and to give up, sure from two windows
// that have nothing in common.
bool Watching::is_too_much() {
  const std::optional<Slowdown> sure = ratios_.slowdown(Ratios::interval_99_9);
  if (!is_enough(sure) || sure->low - grid() <= budget_) return false;
  if (looks_ == Looks::all || was_too_much_) return true;
  was_too_much_ = true;
  ratios_.forget();
  return false;
}

std::optional<Slowdown> Watching::cost() const {
  const std::optional<Slowdown> now = ratios_.slowdown();
  return now ? now : before_;
}

}  // namespace weft
