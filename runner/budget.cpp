// See budget.h.
#include "runner/budget.h"

#include <algorithm>
#include <cmath>

namespace weft {
namespace {

// A run of iterations without fill and the one with fill that follows.
struct Block {
  std::uint64_t control, filled;
};
constexpr Block first_blocks[] = {{3, 36}, {6, 90}};
constexpr Block later_block{8, 152};

// With fewer iterations nothing is decided: those without fill must be of two blocks at least, because what disturbs a
// run from outside comes and goes in minutes.
constexpr std::uint32_t fewest_filled = 16, fewest_control = 4;
// Each decision looks through all ratios; once in so many iterations is soon enough.
constexpr std::uint64_t decide_every = 4;

// Other ranks may be one iteration ahead or behind: only what has neighbours of its own kind is compared.
bool comparable(std::uint64_t iteration) {
  const bool control = is_control(iteration);
  return is_control(iteration + 1) == control && (iteration == 1 || is_control(iteration - 1) == control);
}

}  // namespace

bool is_control(std::uint64_t iteration) {
  if (iteration == 0) return false;
  std::uint64_t place = iteration - 1;
  for (const Block& block : first_blocks) {
    if (place < block.control + block.filled) return place < block.control;
    place -= block.control + block.filled;
  }
  return place % (later_block.control + later_block.filled) < later_block.control;
}

std::optional<Slowdown> Ratios::slowdown(double interval) const {
  const std::size_t controls = control_.size(), fills = filled_.size(), count = controls * fills;
  const auto pairs = static_cast<double>(count);
  const double spread = std::sqrt(pairs * static_cast<double>(controls + fills + 1) / 12);
  const double outside = std::floor(pairs / 2 - interval * spread);  // ratios on each side of the interval, and one
  if (count == 0 || outside < 1) return std::nullopt;
  std::array<double, most_control * most_filled> all;
  for (std::size_t index = 0; index < count; ++index)
    all[index] = filled_[index / controls] / control_[index % controls];
  const auto nth = [&](std::size_t index) {
    const auto place = all.begin() + static_cast<std::ptrdiff_t>(index);
    std::nth_element(all.begin(), place, all.begin() + static_cast<std::ptrdiff_t>(count));
    return *place;
  };
  const auto edge = static_cast<std::size_t>(outside) - 1;
  const double median = (nth((count - 1) / 2) + nth(count / 2)) / 2;
  return Slowdown{median - 1, nth(edge) - 1, nth(count - 1 - edge) - 1, control(), filled()};
}

bool Budget::may_fill(const Bubble& bubble) const {
  if (budget_ == unlimited) return true;
  if (is_control(bubble.iteration)) return false;
  // Multiples of the golden ratio spread evenly, whatever the number of bubbles in an iteration.
  const std::uint64_t spread = bubble.id * 0x9e3779b97f4a7c15U >> (64 - lowest_level);
  return spread < (std::uint64_t{1} << lowest_level) >> level_;
}

void Budget::launched(std::uint64_t iteration) {
  if (iteration == last_filled_) return;
  last_filled_before_ = last_filled_;
  last_filled_ = iteration;
}

Budget::Change Budget::ended(const Iteration& iteration) {
  const Duration length = iteration.ended - iteration.started;
  if (budget_ == unlimited || length <= Duration{} || !comparable(iteration.number)) return Change::none;
  // The first bubble of the next iteration may have been filled already when this one is said to be over.
  const bool filled = iteration.number == last_filled_ || iteration.number == last_filled_before_;
  if (is_control(iteration.number)) {
    if (!filled) ratios_.add_control(length);
  } else if (filled) {
    ratios_.add_filled(length);
  }
  return iteration.number % decide_every == 0 ? decide() : Change::none;
}

// Looks are many, and those between two runs of control iterations share these: so it takes an interval of 99.9 % above
// the budget, or an estimate above it from all the iterations that are kept.
Budget::Change Budget::decide() {
  if (ratios_.filled() < fewest_filled || ratios_.control() < fewest_control) return Change::none;
  const std::optional<Slowdown> slowdown = ratios_.slowdown();
  if (!slowdown) return Change::none;
  const std::optional<Slowdown> sure = ratios_.slowdown(Ratios::interval_99_9);
  if (sure && sure->low > budget_) return fill_less(*slowdown);
  if (slowdown->filled != Ratios::most_filled || slowdown->control != Ratios::most_control) return Change::none;
  if (slowdown->estimate > budget_) return level_ == lowest_level ? Change::none : fill_less(*slowdown);
  // Up again when there is room for twice as much.
  if (level_ == 0 || slowdown->estimate > budget_ / 2) return Change::none;
  change_level(*slowdown, level_ - 1);
  return Change::more;
}

// To stop is for ever: not on the word of the control iterations that led to the lowest level.
Budget::Change Budget::fill_less(const Slowdown& reason) {
  if (level_ != lowest_level) {
    change_level(reason, level_ + 1);
    return Change::less;
  }
  return ratios_.controls_seen() - controls_at_change_ < fewest_control ? Change::none : Change::stop;
}

void Budget::change_level(const Slowdown& reason, std::uint32_t level) {
  level_ = level;
  before_ = reason;
  controls_at_change_ = ratios_.controls_seen();
  ratios_.forget_filled();
}

std::optional<Slowdown> Budget::slowdown() const {
  const std::optional<Slowdown> now = ratios_.slowdown();
  return now ? now : before_;
}

}  // namespace weft
