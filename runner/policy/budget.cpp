// See budget.h.
#include "runner/policy/budget.h"

#include <algorithm>
#include <utility>

#include "detector/dcheck.h"

namespace weft {
namespace {

// With fewer nothing is decided: one run may be disturbed, by what comes and goes in minutes.
constexpr std::uint32_t fewest_filled = 8, fewest_control = 4, fewest_runs = 2;
// From three whole runs on an estimate far above the budget counts without its interval.
constexpr std::uint32_t fewest_by_estimate = 3 * Ratios::most_in_run;
constexpr double far_above = 1.5;
// A rhythm that always breaks before its first control run cannot be measured, nor can iterations whose ends nobody
// sees; at most `most_unmeasured` are filled. One that follows a measured rhythm may go on until its first run.
constexpr std::uint32_t most_unmeasured = 40;
// Iterations after a break: a checkpoint may still be written.
constexpr std::uint64_t settling = 4;
// Each decision looks through all ratios; at the end of a run, and once in so many iterations that are compared, is
// soon enough.
constexpr std::uint64_t decide_every = 4;
// Their multiples spread evenly: the parts behind the point of the golden ratio, of the root of 2 and of that of 13.
constexpr std::uint64_t golden = 0x9e3779b97f4a7c15U, silver = 0x6a09e667f3bcc909U, bronze = 0x9b05688c2b3e6c1fU;
// Filling aims at so much of the budget: an estimate is not exact.
constexpr double target = 0.8;
// Quantiles of the normal distribution.
constexpr double standard_error = 1, one_sided_95 = 1.644854, one_sided_98_8 = 2.257129, one_sided_99_5 = 2.575829;
// The first two runs have fewer: there are many trainings in which they are quick by chance.
constexpr std::uint32_t few_control = 8;
// A step back that was too much is tried again after so many iterations that are compared; twice as many each time.
constexpr std::uint64_t least_patience = 400, most_patience = 100'000;
// No bubble that slices have room in is filled: nothing would ever be measured again. Where there is one in each
// iteration, and a sixty-fourth may be filled, up to 155 follow each other of which none is.
constexpr std::uint32_t most_kept_back = 200;

bool is_enough(const std::optional<Slowdown>& slowdown) {
  return slowdown && slowdown->filled >= fewest_filled && slowdown->control >= fewest_control &&
         slowdown->runs >= fewest_runs;
}

}  // namespace

// Nothing where no bubble of its kind may be filled now.
const Budget::KnownRhythm* Budget::fillable_rhythm(const Bubble& bubble) const {
  // A bubble of no reported iteration is not measured either.
  if (bubble.iteration == 0 || leaves_out(bubble)) return nullptr;
  const KnownRhythm* const known = find(bubble.rhythm);
  if (known == nullptr) return nullptr;
  const std::uint32_t unmeasured = filled_since_report_ + (known->has_control ? 0 : known->unmeasured);
  const std::uint32_t most = known->follows_measured ? most_unmeasured + most_between_runs() : most_unmeasured;
  const bool is_unknown = unmeasured >= most || filled_since_report_ >= most_unmeasured;
  if (is_unknown && bubble.iteration != last_filled_) return nullptr;
  return known->level == barred || is_held(*known) ? nullptr : known;
}

bool Budget::may_fill(const Bubble& bubble) const {
  if (budget_ == unlimited) return true;
  const KnownRhythm* const known = fillable_rhythm(bubble);
  return known != nullptr && is_chosen(*known, bubble);
}

// Each slot as evenly from iteration to iteration as can be, of each iteration as many, and not the same on each rank.
bool Budget::is_chosen(const KnownRhythm& known, const Bubble& bubble) {
  // How long one without a forecast will be is not known.
  const bool is_by_length = known.longest && bubble.forecast;
  const double share = is_by_length ? known.longest->share_at(bubble.forecast->median) : levels[known.level].share;
  const auto ordinal = static_cast<std::uint64_t>(bubble.slot.ordinal);
  const auto peers = static_cast<std::uint64_t>(bubble.slot.receive_peer + bubble.slot.send_peer);
  const std::uint64_t place = bubble.turn * golden + ordinal * silver + peers * bronze;
  return static_cast<double>(place) < share * static_cast<double>(std::numeric_limits<std::uint64_t>::max());
}

Duration Budget::guard(const Bubble& bubble) const {
  const KnownRhythm* const known = find(bubble.rhythm);
  if (known == nullptr || !known->longest) return {};
  return std::chrono::duration_cast<Duration>(known->longest->least * levels[known->level].guard);
}

bool Budget::is_limited(const Bubble& bubble) const {
  // One whose group was posted early is never filled.
  if (!is_limit(budget_) || !bubble.forecast || bubble.pattern == Pattern::posted_early) return false;
  const KnownRhythm* const known = find(bubble.rhythm);
  return known != nullptr && known->level > 0;
}

void Budget::had_room(const Bubble& bubble, bool filled) {
  WEFT_DCHECK(is_limited(bubble));
  find(bubble.rhythm)->bubbles.bubble_closed(bubble.forecast->median);
  kept_back_ = kept_back_ || (!filled && fillable_rhythm(bubble) != nullptr);
}

void Budget::choose_longest(KnownRhythm& known) {
  const double share = levels[known.level].share;
  known.longest = share == 0 || share == 1 ? std::nullopt : known.bubbles.share(share);
}

// The first price, before anything is known, keeps most pipelines within the budget: of 1F1B with a jitter of 5 % it
// costs 0.06 % at 80 and 0.2 % at 8 (bench_policy schedules, budgets of 0.1 and 1 %).
double Budget::first_price() const {
  constexpr double cost_at_price = 0.08;
  return allowed() <= 0 ? std::numeric_limits<double>::infinity() : std::max(least_price, cost_at_price / allowed());
}

double Budget::price(std::uint64_t rhythm) const {
  const KnownRhythm* const known = find(rhythm);
  return caution_ * first_price() * (known == nullptr ? 1 : levels[known->level].dearer);
}

// Measuring the slowdown takes hundreds of iterations. Overruns are known at once, but not how many of them the
// training waits for, here and through other ranks: where a rank's own ones come to half the budget they may
// cost all of it.
void Budget::watch_overruns(Duration iteration) {
  constexpr double most = 0.5, weight = 0.1, dearer = 1.1, cheaper = 0.9, most_caution = 1e6;
  const double share = static_cast<double>(overrun_.count()) / static_cast<double>(iteration.count());
  overrun_ = {};
  overruns_ += weight * (share - overruns_);
  if (allowed() <= 0) return;  // nothing is launched
  caution_ = std::clamp(caution_ * (overruns_ > most * allowed() ? dearer : cheaper), 1.0, most_caution);
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
    const bool follows_measured = rhythms_[present_].has_control;
    *oldest = {};
    oldest->rhythm = iteration.rhythm;
    oldest->level = level;
    oldest->follows_measured = follows_measured;
    known = oldest;
  }
  present_ = static_cast<std::size_t>(known - rhythms_.data());
  rhythms_[present_].latest = iteration.number;
  return rhythms_[present_];
}

Budget::Change Budget::ended(const Iteration& iteration) {
  const Duration length = iteration.ended - iteration.started;
  if (budget_ == unlimited || length <= Duration{}) return Change::none;
  watch_overruns(length);
  const bool kept_back = std::exchange(kept_back_, false);
  KnownRhythm& known = take_up(iteration);
  known.bubbles.iteration_ended();
  choose_longest(known);
  // The first bubble of the next iteration may have been filled already when this one is said to be over.
  const bool filled = was_filled(iteration.number);
  const std::uint32_t not_over = filled_since_report_ != 0 && last_filled_ > iteration.number ? 1 : 0;
  if (!known.has_control) known.unmeasured += filled_since_report_ - not_over;
  filled_since_report_ = not_over;
  const Part part = part_of(iteration.turn);
  if (!part.comparable || part.purpose == IterationPurpose::dark || iteration.since_found <= settling ||
      known.level == barred)
    return Change::none;
  const bool left_out = part.purpose == IterationPurpose::control;
  ++known.compared;
  known.has_control = known.has_control || left_out;
  // A run is known by the turn of its first iteration, and by when the rhythm was found: then turns may begin anew.
  const std::uint64_t run = (iteration.number - iteration.since_found) * golden + part.run;
  if (filled != left_out) known.ratios.add(run, left_out, length, iteration.groups);
  if (!left_out && is_kept_empty(known, filled, kept_back)) {
    change_level(known, state_of(known).slowdown, known.level - 1);
    known.went_back = true;
    return Change::more;
  }
  if (known.held_for > 0 && !is_held(known)) {
    known.held_for = 0;
    return Change::more;
  }
  const bool is_last_of_run = left_out && !part_of(iteration.turn + 1).comparable;
  return is_last_of_run || known.compared % decide_every == 0 ? decide(known) : Change::none;
}

// So many iterations that might have been filled had no slice, though there was room for one, and none since had one.
bool Budget::is_kept_empty(KnownRhythm& known, bool filled, bool kept_back) {
  if (filled)
    known.kept_back = 0;
  else if (kept_back && known.level > 0 && allowed() > 0)
    ++known.kept_back;
  return known.kept_back >= most_kept_back && may_go_back(known);
}

// Where the window does not tell the price to a fifth of the budget, and many runs are known. Else the window is
// better, as it sees a change sooner.
std::optional<Slowdown> Budget::over_many_runs(const KnownRhythm& known, const std::optional<Slowdown>& window) const {
  const bool is_exact =
      is_enough(window) && window->control >= Ratios::window && (window->high - window->low) / 4 <= exact_enough();
  return is_exact ? std::nullopt : known.ratios.over_many_runs(exact_enough());
}

// A step down is cheap, and can be taken back: it is enough that it is likely. By many runs, where so many are known:
// then the cost lies above the target by more than its standard error, or the window says that it has become too much.
// By the window after many iterations, and before the third run it has to be as good as sure.
std::optional<Slowdown> Budget::likely_too_much(const KnownRhythm& known, const std::optional<Slowdown>& window,
                                                const std::optional<Slowdown>& many) const {
  if (known.level == lowest_level) return std::nullopt;
  std::optional<Slowdown> likely = known.ratios.slowdown(one_sided_95);
  if (many) {
    if (known.ratios.over_many_runs(exact_enough(), standard_error)->low > target * allowed()) return many;
    const bool has_risen = is_enough(likely) && likely->low > std::max(allowed(), many->high);
    return has_risen ? window : std::nullopt;
  }
  if (likely && likely->control < few_control) {
    likely = known.ratios.slowdown(one_sided_99_5);
    // Two runs can be no surer than this: then every iteration with fill took longer than all without, by the budget.
    if (!likely) likely = known.ratios.slowdown(one_sided_98_8);
  }
  if (!is_enough(likely)) return std::nullopt;
  // A level that was chosen by measuring is likely to keep the budget: there the estimate less its standard error
  // counts.
  const double cost = known.before ? (window->estimate + window->low) / 2 : window->estimate;
  const bool seems = (window->control >= Ratios::window && cost > target * allowed()) ||
                     (window->control >= fewest_by_estimate && cost > far_above * allowed());
  return seems || likely->low > allowed() ? window : std::nullopt;
}

// Looks are many, and those between two runs share these: so it is sure only where an interval of 99.9 % is beyond the
// budget. By the window, as what fill costs may have changed. Without that nothing is given up altogether, and as that
// is for good, at the lowest level it takes 99.999 %, there by all runs that are known as well.
std::optional<Slowdown> Budget::surely_more_than(double limit, const KnownRhythm& known) const {
  const bool is_lowest = known.level == lowest_level;
  const double interval = is_lowest ? Ratios::interval_99_999 : Ratios::interval_99_9;
  const std::optional<Slowdown> sure = known.ratios.slowdown(interval);
  if (is_enough(sure) && sure->low > limit) return known.ratios.slowdown();
  const std::optional<Slowdown> many = is_lowest ? known.ratios.over_many_runs(0, interval) : std::nullopt;
  return many && many->low > limit ? known.ratios.over_many_runs(0) : std::nullopt;
}

Budget::Change Budget::decide(KnownRhythm& known) {
  // That watching costs so much may have been a mistake: for it nothing is barred for the rest of the run.
  const double most = known.level == lowest_level ? budget_ : allowed();
  if (const std::optional<Slowdown> sure = surely_more_than(most, known)) return fill_less(known, *sure);
  if (most > allowed())
    if (const std::optional<Slowdown> sure = surely_more_than(allowed(), known)) return hold(known, *sure);
  const std::optional<Slowdown> window = known.ratios.slowdown(), many = over_many_runs(known, window);
  if (const std::optional<Slowdown> likely = likely_too_much(known, window, many)) return fill_less(known, *likely);
  const std::optional<Slowdown> slowdown = many ? many : window;
  if (!is_enough(slowdown)) return Change::none;
  // Up again when there is room for that. Fill does not make iterations shorter: where it seems to, something else is
  // being measured.
  const bool whole = slowdown->control >= Ratios::window;
  const double enough = enough_to_go_back(known.level) * allowed();
  const std::optional<Slowdown> sure = known.ratios.slowdown(Ratios::interval_99_9);
  const bool cheap = (sure && sure->high <= enough) || (whole && slowdown->estimate <= enough);
  // A step back was no mistake where the estimate keeps the budget with its standard error.
  const bool keeps = whole && (slowdown->estimate + slowdown->high) / 2 <= allowed();
  if ((keeps || cheap) && std::exchange(known.went_back, false)) known.patience = 0;
  if (!cheap || slowdown->high < 0 || !may_go_back(known)) return Change::none;
  change_level(known, *slowdown, known.level - 1);
  known.went_back = true;
  return Change::more;
}

// Of what is allowed: with no more the level before keeps to it, if it costs as much more as it typically does. A
// quarter of the price was seen to cost up to five times as much, and a level with fewer bubbles costs next to nothing
// in some pipelines.
double Budget::enough_to_go_back(std::uint32_t level) {
  constexpr double least = 1.0 / 8, most = 1.0 / 3;
  if (level <= 1) return 1.0 / 5;
  return std::clamp(target * levels[level].typical / levels[level - 1].typical, least, most);
}

// As many levels down as keep the budget if fill costs there what it typically does, and cost no more than twice the
// budget if it costs as much as in any other pipeline. From a level with a guard on, of which the effect is measured by
// then: as many as keep the budget if half as many bubbles cost half as much. Nothing at all below the lowest.
// From a level that was only tried, back to the one before.
Budget::Change Budget::fill_less(KnownRhythm& known, const Slowdown& reason) {
  // The longer guard: typically it saves more (0.03 of 0.07), in the dearest pipeline nothing.
  constexpr double most_over = 2, with_longer_guard = 0.6;
  const Level& now = levels[known.level];
  std::uint32_t level = known.level + 1;
  const auto keeps = [&](const Level& lower) {
    const double enough = target * allowed();
    if (now.guard > 0)
      return reason.estimate * lower.share / now.share * (lower.guard > now.guard ? with_longer_guard : 1) <= enough;
    return reason.estimate * lower.typical / now.typical <= enough &&
           reason.estimate * lower.most / now.most <= most_over * allowed();
  };
  if (known.went_back) {
    known.tried = known.level;
    known.patience = std::clamp(2 * known.patience, least_patience, most_patience);
    known.try_again = known.compared + known.patience;
  } else {
    while (level < lowest_level && !keeps(levels[level])) ++level;
  }
  change_level(known, reason, level);
  const bool all_barred = std::all_of(rhythms_.begin(), rhythms_.end(),
                                      [](const KnownRhythm& each) { return each.latest == 0 || each.level == barred; });
  return all_barred ? Change::stop : Change::less;
}

Budget::Change Budget::hold(KnownRhythm& known, const Slowdown& reason) const {
  known.held_for = std::min(reason.low, budget_);
  known.before = reason;
  known.ratios.forget_filled();
  return Change::held;
}

void Budget::change_level(KnownRhythm& known, const std::optional<Slowdown>& reason, std::uint32_t level) {
  WEFT_DCHECK(level <= barred && level != known.level);
  known.level = level;
  known.went_back = false;
  known.kept_back = 0;
  choose_longest(known);
  known.held_for = 0;
  known.before = reason;
  known.ratios.forget_filled();
}

Budget::State Budget::state_of(const KnownRhythm& known) const {
  const std::optional<Slowdown> window = known.ratios.slowdown(), many = over_many_runs(known, window);
  const std::optional<Slowdown> now = many ? many : window;
  return {now ? now : known.before, share_of(known)};
}

Budget::State Budget::longest() const {
  return state_of(*std::max_element(rhythms_.begin(), rhythms_.end(), [](const KnownRhythm& a, const KnownRhythm& b) {
    return a.compared < b.compared;
  }));
}

}  // namespace weft
