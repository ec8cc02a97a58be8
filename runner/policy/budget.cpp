// See budget.h.
#include "runner/policy/budget.h"

#include <algorithm>

#include "detector/dcheck.h"

namespace weft {
namespace {

// With fewer nothing is decided: one run may be disturbed, by what comes and goes in minutes.
constexpr std::uint32_t fewest_filled = 16, fewest_control = 4, fewest_runs = 2;
// A rhythm that always breaks before its first control run cannot be measured, nor can iterations whose ends nobody
// sees; at most `most_unmeasured` are filled.
constexpr std::uint32_t most_unmeasured = 40;
// Iterations after a break: a checkpoint may still be written.
constexpr std::uint64_t settling = 4;
// Each decision looks through all ratios; once in so many iterations that are compared is soon enough.
constexpr std::uint64_t decide_every = 4;
// Its multiples spread evenly, whatever the number of bubbles in an iteration.
constexpr std::uint64_t golden = 0x9e3779b97f4a7c15U;

}  // namespace

bool Budget::may_fill(const Bubble& bubble) const {
  if (budget_ == unlimited) return true;
  // A bubble of no reported iteration is not measured either.
  if (bubble.iteration == 0 || is_control(bubble.turn)) return false;
  const KnownRhythm* const known = find(bubble.rhythm);
  if (known == nullptr) return false;
  const std::uint32_t unmeasured = filled_since_report_ + (known->has_control ? 0 : known->unmeasured);
  if (unmeasured >= most_unmeasured && bubble.iteration != last_filled_) return false;
  const std::uint64_t spread = bubble.id * golden >> (64 - lowest_level);
  return spread < (std::uint64_t{1} << lowest_level) >> known->level;
}

void Budget::launched(std::uint64_t iteration) {
  if (iteration == last_filled_) return;
  last_filled_before_ = last_filled_;
  last_filled_ = iteration;
  ++filled_since_report_;
}

const Budget::KnownRhythm* Budget::find(std::uint64_t rhythm) const {
  for (const KnownRhythm& known : rhythms_)
    if (known.latest != 0 && known.rhythm == rhythm) return &known;
  return nullptr;
}

// The entry of the iteration's rhythm. A new one begins at the level of the one before, as it is not known to be
// cheaper, but is not barred before it was measured.
Budget::KnownRhythm& Budget::take_up(const Iteration& iteration) {
  const KnownRhythm* known = find(iteration.rhythm);
  if (known == nullptr) {
    const auto oldest =
        std::min_element(rhythms_.begin(), rhythms_.end(),
                         [](const KnownRhythm& a, const KnownRhythm& b) { return a.latest < b.latest; });
    const std::uint32_t level = std::min(rhythms_[present_].level, lowest_level);
    *oldest = {};
    oldest->rhythm = iteration.rhythm;
    oldest->level = level;
    known = oldest;
  }
  present_ = static_cast<std::size_t>(known - rhythms_.data());
  rhythms_[present_].latest = iteration.number;
  return rhythms_[present_];
}

Budget::Change Budget::ended(const Iteration& iteration) {
  const Duration length = iteration.ended - iteration.started;
  if (budget_ == unlimited || length <= Duration{}) return Change::none;
  KnownRhythm& known = take_up(iteration);
  // The first bubble of the next iteration may have been filled already when this one is said to be over.
  const bool filled = iteration.number == last_filled_ || iteration.number == last_filled_before_;
  const std::uint32_t not_over = filled_since_report_ != 0 && last_filled_ > iteration.number ? 1 : 0;
  if (!known.has_control) known.unmeasured += filled_since_report_ - not_over;
  filled_since_report_ = not_over;
  const Part part = part_of(iteration.turn);
  if (!part.comparable || iteration.since_found <= settling || known.level == barred) return Change::none;
  ++known.compared;
  known.has_control = known.has_control || part.control;
  // A run is known by the turn of its first iteration, and by when the rhythm was found: then turns may begin anew.
  const std::uint64_t run = (iteration.number - iteration.since_found) * golden + part.run;
  if (filled != part.control) known.ratios.add(run, part.control, length, iteration.groups);
  return known.compared % decide_every == 0 ? decide(known) : Change::none;
}

// Looks are many, and those between two runs share these: so it takes an interval of 99.9 % beyond the budget, or an
// estimate beyond it from a whole window.
Budget::Change Budget::decide(KnownRhythm& known) {
  const std::optional<Slowdown> slowdown = known.ratios.slowdown();
  if (!slowdown || slowdown->filled < fewest_filled || slowdown->control < fewest_control ||
      slowdown->runs < fewest_runs)
    return Change::none;
  const std::optional<Slowdown> sure = known.ratios.slowdown(Ratios::interval_99_9);
  if (sure && sure->low > budget_) return fill_less(known, *slowdown);
  const bool whole = slowdown->control >= Ratios::window;
  if (whole && slowdown->estimate > budget_) {
    if (known.level != lowest_level || known.too_much) return fill_less(known, *slowdown);
    // A rhythm is barred for the rest of the run: not on the word of one window that is not sure of it.
    known.too_much = true;
    known.before = slowdown;
    known.ratios.forget();
    return Change::none;
  }
  if (whole) known.too_much = false;
  // Up again when there is room for twice as much. Fill does not make iterations shorter: where it seems to, something
  // else is being measured.
  const bool cheap = (sure && sure->high <= budget_ / 2) || (whole && slowdown->estimate <= budget_ / 2);
  if (known.level == 0 || !cheap || slowdown->high < 0) return Change::none;
  change_level(known, *slowdown, known.level - 1);
  return Change::more;
}

// As many levels down as keep the budget when half the fill costs half as much; nothing at all below the lowest.
Budget::Change Budget::fill_less(KnownRhythm& known, const Slowdown& reason) {
  std::uint32_t level = known.level + 1;
  for (double cost = reason.estimate / 2; cost > budget_ && level < lowest_level; cost /= 2) ++level;
  change_level(known, reason, level);
  const bool all_barred = std::all_of(rhythms_.begin(), rhythms_.end(),
                                      [](const KnownRhythm& each) { return each.latest == 0 || each.level == barred; });
  return all_barred ? Change::stop : Change::less;
}

void Budget::change_level(KnownRhythm& known, const Slowdown& reason, std::uint32_t level) {
  WEFT_DCHECK(level <= barred && level != known.level);
  known.level = level;
  known.before = reason;
  known.too_much = false;
  known.ratios.forget_filled();
}

Budget::State Budget::state_of(const KnownRhythm& known) {
  const std::optional<Slowdown> now = known.ratios.slowdown();
  return {now ? now : known.before, share_of(known)};
}

Budget::State Budget::longest() const {
  return state_of(*std::max_element(rhythms_.begin(), rhythms_.end(), [](const KnownRhythm& a, const KnownRhythm& b) {
    return a.compared < b.compared;
  }));
}

}  // namespace weft
