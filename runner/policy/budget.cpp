// See budget.h.
#include "runner/policy/budget.h"
#include "detector/dcheck.h"

#include <algorithm>
#include <cmath>

namespace weft {
namespace {

// Iterations with fill and the run without that follows.
struct Block {
  std::uint64_t filled, control;
};
constexpr Block first_blocks[] = {{8, 4}, {28, 6}, {90, 8}};
constexpr Block later_block{152, 8};
constexpr std::uint64_t settling = 4;  // iterations after a break

// With fewer nothing is decided: one run may be disturbed, by what comes and goes in minutes.
constexpr std::uint32_t fewest_filled = 16, fewest_control = 4, fewest_runs = 2;
// A rhythm that always breaks before its first control run cannot be measured; at most `most_unmeasured` of its
// iterations are filled.
constexpr std::uint32_t most_unmeasured = 40;
// Each decision looks through all ratios; once in so many iterations is soon enough.
constexpr std::uint64_t decide_every = 4;

}  // namespace

Part part_of(std::uint64_t turn) {
  if (turn == 0) return {};
  std::uint64_t begin = 1, control_before = 0;
  Block block = later_block;
  for (const Block& first : first_blocks) {
    block = first;
    if (turn < begin + block.filled + block.control) break;
    begin += block.filled + block.control;
    control_before = block.control;
    block = later_block;
  }
  begin += (turn - begin) / (block.filled + block.control) * (block.filled + block.control);
  const std::uint64_t next_run = begin + block.filled;
  if (turn >= next_run) return {true, turn != next_run && turn + 1 != next_run + block.control, next_run};
  const bool nearer_to_next = control_before == 0 || next_run - turn < turn - begin + 1;
  return {false, turn > settling && turn != begin && turn + 1 != next_run,
          nearer_to_next ? next_run : begin - control_before};
}

void Ratios::begin_run(std::uint64_t number) {
  // A run with nothing to compare, which a break cut short, is no run.
  if (!runs_.empty() && (runs_.back().control.size() == 0 || runs_.back().filled() == 0)) runs_.pop_back();
  std::size_t kept = 0;
  auto first = runs_.end();
  while (first != runs_.begin() && kept < window) kept += (--first)->control.size();
  runs_.erase(runs_.begin(), first);
  runs_.emplace_back().number = number;
}

void Ratios::add(std::uint64_t run, bool control, Duration length) {
  if (runs_.empty() || runs_.back().number != run) begin_run(run);
  Run& latest = runs_.back();
  const auto value = static_cast<double>(length.count());
  if (control)
    latest.control.add_first(value);
  else if (latest.control.seen == 0)
    latest.before.add_latest(value);
  else
    latest.after.add_first(value);
}

void Ratios::forget_filled() {
  if (runs_.empty()) return;
  runs_.erase(runs_.begin(), runs_.end() - 1);
  runs_.back().before = {};
  runs_.back().after = {};
}

std::optional<Slowdown> Ratios::slowdown(double interval) const {
  std::vector<double> all;
  Slowdown result;
  double variance = 0;
  for (const Run& run : runs_) {
    const std::size_t controls = run.control.size(), fills = run.filled();
    if (controls == 0 || fills == 0) continue;
    for (std::size_t index = 0; index < controls; ++index) {
      const double control = run.control.values[index];
      for (std::size_t other = 0; other < run.before.size(); ++other) all.push_back(run.before.values[other] / control);
      for (std::size_t other = 0; other < run.after.size(); ++other) all.push_back(run.after.values[other] / control);
    }
    variance += static_cast<double>(controls * fills * (controls + fills + 1)) / 12;
    result.control += static_cast<std::uint32_t>(controls);
    result.filled += static_cast<std::uint32_t>(fills);
    ++result.runs;
  }
  // So many ratios are on each side of the interval, and one.
  const double outside = std::floor(static_cast<double>(all.size()) / 2 - interval * std::sqrt(variance));
  if (outside < 1) return std::nullopt;
  const auto nth = [&](std::size_t index) {
    const auto place = all.begin() + static_cast<std::ptrdiff_t>(index);
    std::nth_element(all.begin(), place, all.end());
    return *place;
  };
  const auto edge = static_cast<std::size_t>(outside) - 1;
  WEFT_DCHECK(edge < all.size() / 2);
  result.estimate = (nth((all.size() - 1) / 2) + nth(all.size() / 2)) / 2 - 1;
  result.low = nth(edge) - 1;
  result.high = nth(all.size() - 1 - edge) - 1;
  return result;
}

bool Budget::may_fill(const Bubble& bubble) const {
  if (budget_ == unlimited) return true;
  // A bubble of no reported iteration is not measured either.
  if (bubble.iteration == 0 || is_control(bubble.turn)) return false;
  const Account* const account = find(bubble.rhythm);
  if (account == nullptr || (!account->has_control && account->unmeasured >= most_unmeasured)) return false;
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

// The account of the iteration's rhythm. A new one begins at the level of the one before, as it is not known to be
// cheaper, but is not barred before it was measured.
Budget::Account& Budget::take_up(const Iteration& iteration) {
  const Account* account = find(iteration.rhythm);
  if (account == nullptr) {
    const auto oldest = std::min_element(accounts_.begin(), accounts_.end(),
                                         [](const Account& a, const Account& b) { return a.latest < b.latest; });
    const std::uint32_t level = std::min(accounts_[present_].level, lowest_level);
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
  // The first bubble of the next iteration may have been filled already when this one is said to be over.
  const bool filled = iteration.number == last_filled_ || iteration.number == last_filled_before_;
  if (filled && !account.has_control) ++account.unmeasured;
  const Part part = part_of(iteration.turn);
  if (!part.comparable || account.level == barred) return Change::none;
  ++account.compared;
  account.has_control = account.has_control || part.control;
  // A run is known by the number of its first iteration.
  const std::uint64_t run = iteration.number - iteration.turn + part.run;
  if (filled != part.control) account.ratios.add(run, part.control, length);
  return iteration.turn % decide_every == 0 ? decide(account) : Change::none;
}

// Looks are many, and those between two runs share these: so it takes an interval of 99.9 % beyond the budget, or an
// estimate beyond it from a whole window.
Budget::Change Budget::decide(Account& account) {
  const std::optional<Slowdown> slowdown = account.ratios.slowdown();
  if (!slowdown || slowdown->filled < fewest_filled || slowdown->control < fewest_control ||
      slowdown->runs < fewest_runs)
    return Change::none;
  const std::optional<Slowdown> sure = account.ratios.slowdown(Ratios::interval_99_9);
  if (sure && sure->low > budget_) return fill_less(account, *slowdown);
  const bool whole = slowdown->control >= Ratios::window;
  if (whole && slowdown->estimate > budget_) {
    if (account.level != lowest_level || account.too_much) return fill_less(account, *slowdown);
    // A rhythm is barred for the rest of the run: not on the word of one window that is not sure of it.
    account.too_much = true;
    account.before = slowdown;
    account.ratios.forget();
    return Change::none;
  }
  if (whole) account.too_much = false;
  // Up again when there is room for twice as much. Fill does not make iterations shorter: where it seems to, something
  // else is being measured.
  const bool cheap = (sure && sure->high <= budget_ / 2) || (whole && slowdown->estimate <= budget_ / 2);
  if (account.level == 0 || !cheap || slowdown->high < 0) return Change::none;
  change_level(account, *slowdown, account.level - 1);
  return Change::more;
}

// As many levels down as keep the budget when half the fill costs half as much; nothing at all below the lowest.
Budget::Change Budget::fill_less(Account& account, const Slowdown& reason) {
  std::uint32_t level = account.level + 1;
  for (double cost = reason.estimate / 2; cost > budget_ && level < lowest_level; cost /= 2) ++level;
  change_level(account, reason, level);
  const bool all_barred = std::all_of(accounts_.begin(), accounts_.end(),
                                      [](const Account& each) { return each.latest == 0 || each.level == barred; });
  return all_barred ? Change::stop : Change::less;
}

void Budget::change_level(Account& account, const Slowdown& reason, std::uint32_t level) {
  WEFT_DCHECK(level <= barred && level != account.level);
  account.level = level;
  account.before = reason;
  account.too_much = false;
  account.ratios.forget_filled();
}

Budget::State Budget::state_of(const Account& account) {
  const std::optional<Slowdown> now = account.ratios.slowdown();
  return {now ? now : account.before, share_of(account)};
}

Budget::State Budget::longest() const {
  return state_of(*std::max_element(accounts_.begin(), accounts_.end(),
                                    [](const Account& a, const Account& b) { return a.compared < b.compared; }));
}

}  // namespace weft
