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
bool comparable(std::uint64_t turn) {
  const bool control = is_control(turn);
  return is_control(turn + 1) == control && (turn == 1 || is_control(turn - 1) == control);
}

}  // namespace

bool is_control(std::uint64_t turn) {
  if (turn == 0) return false;
  std::uint64_t place = turn - 1;
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
  // What belongs to no iteration that will be reported is not measured either.
  if (bubble.iteration == 0 || is_control(bubble.turn)) return false;
  const Account* const account = find(bubble.rhythm);
  // Before there is anything to compare with, what filling costs could not be found out.
  if (account == nullptr || account->ratios.control() == 0) return false;
  // Multiples of the golden ratio spread evenly, whatever the number of bubbles in an iteration.
  const std::uint64_t spread = bubble.id * 0x9e3779b97f4a7c15U >> (64 - lowest_level);
  return spread < (std::uint64_t{1} << lowest_level) >> account->level;
}

void Budget::launched(std::uint64_t iteration) {
  if (iteration == last_filled_) return;
  last_filled_before_ = last_filled_;
  last_filled_ = iteration;
}

const Budget::Account* Budget::find(std::uint64_t rhythm) const {
  for (const Account& account : accounts_)
    if (account.latest != 0 && account.rhythm == rhythm) return &account;
  return nullptr;
}

// The account of the iteration's rhythm. A new one begins at the level of the one before: it is not known to be
// cheaper.
Budget::Account& Budget::take_up(const Iteration& iteration) {
  const Account* account = find(iteration.rhythm);
  if (account == nullptr) {
    const auto oldest = std::min_element(accounts_.begin(), accounts_.end(),
                                         [](const Account& a, const Account& b) { return a.latest < b.latest; });
    const std::uint32_t level = accounts_[present_].level;
    *oldest = {};
    oldest->rhythm = iteration.rhythm;
    oldest->level = level;
    account = oldest;
  }
  present_ = static_cast<std::size_t>(account - accounts_.data());
  accounts_[present_].latest = iteration.number;
  return accounts_[present_];
}

Budget::Change Budget::ended(const Iteration& iteration) {
  const Duration length = iteration.ended - iteration.started;
  if (budget_ == unlimited || length <= Duration{}) return Change::none;
  Account& account = take_up(iteration);
  if (!comparable(iteration.turn)) return Change::none;
  ++account.compared;
  // The first bubble of the next iteration may have been filled already when this one is said to be over.
  const bool filled = iteration.number == last_filled_ || iteration.number == last_filled_before_;
  if (is_control(iteration.turn)) {
    if (!filled) account.ratios.add_control(length);
  } else if (filled) {
    account.ratios.add_filled(length);
  }
  return iteration.turn % decide_every == 0 ? decide(account) : Change::none;
}

// Looks are many, and those between two runs of control iterations share these: so it takes an interval of 99.9 % above
// the budget, or an estimate above it from all the iterations that are kept.
Budget::Change Budget::decide(Account& account) const {
  const Ratios& ratios = account.ratios;
  if (ratios.filled() < fewest_filled || ratios.control() < fewest_control) return Change::none;
  const std::optional<Slowdown> slowdown = ratios.slowdown();
  if (!slowdown) return Change::none;
  const std::optional<Slowdown> sure = ratios.slowdown(Ratios::interval_99_9);
  if (sure && sure->low > budget_) return fill_less(account, *slowdown);
  if (slowdown->filled != Ratios::most_filled || slowdown->control != Ratios::most_control) return Change::none;
  if (slowdown->estimate > budget_) return account.level == lowest_level ? Change::none : fill_less(account, *slowdown);
  // Up again when there is room for twice as much.
  if (account.level == 0 || slowdown->estimate > budget_ / 2) return Change::none;
  change_level(account, *slowdown, account.level - 1);
  return Change::more;
}

// To stop is for ever: not on the word of the control iterations that led to the lowest level.
Budget::Change Budget::fill_less(Account& account, const Slowdown& reason) {
  if (account.level != lowest_level) {
    change_level(account, reason, account.level + 1);
    return Change::less;
  }
  return account.ratios.controls_seen() - account.controls_at_change < fewest_control ? Change::none : Change::stop;
}

void Budget::change_level(Account& account, const Slowdown& reason, std::uint32_t level) {
  account.level = level;
  account.before = reason;
  account.controls_at_change = account.ratios.controls_seen();
  account.ratios.forget_filled();
}

Budget::State Budget::state_of(const Account& account) {
  const std::optional<Slowdown> now = account.ratios.slowdown();
  return {now ? now : account.before, 1.0 / (1U << account.level)};
}

Budget::State Budget::longest() const {
  return state_of(*std::max_element(accounts_.begin(), accounts_.end(),
                                    [](const Account& a, const Account& b) { return a.compared < b.compared; }));
}

}  // namespace weft
