// The slowdown budget: how much may be filled, by the measured price (ratios.h) of the iterations that are filled
// against those without fill (control_schedule.h). Pure, like the planner: iterations in, decisions and numbers out.
//
// Used by the dispatcher thread; read by a thread of the main job after that has ended. It knows no clock, CUDA or
// file. Ranks do not talk to each other: their iterations last equally long, whoever is slow, so all of them go without
// fill in the same iterations, by their number since the rhythm was found.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <utility>

#include "detector/bubble.h"
#include "runner/policy/control_schedule.h"
#include "runner/policy/longest_bubbles.h"
#include "runner/policy/ratios.h"

namespace weft {

class Budget {
 public:
  // `less` may be nothing at all, for one rhythm. `held`: nothing of it either, as long as watching costs so much.
  // `stop`: nothing of any rhythm; the caller ends filling.
  enum class Change : std::uint8_t { none, less, more, held, stop };

  static constexpr double unlimited = std::numeric_limits<double>::infinity();
  // There is something to measure: not where nothing is allowed, nor where all is.
  static constexpr bool is_limit(double budget) { return budget > 0 && budget != unlimited; }
  static constexpr double least_price = 3;
  static constexpr std::size_t most_rhythms = 8;  // that are remembered; the one that was not seen for longest goes

  // `budget`: the slowdown that is allowed, 0.01 for 1 %. Unlimited: every iteration may be filled, nothing is
  // measured.
  explicit Budget(double budget) : budget_(budget) {}

  // Whether this open bubble may be filled; the same answer as long as it is open, unless an iteration ends in it.
  bool may_fill(const Bubble& bubble) const;
  // Nothing begins so shortly before the expected end of this bubble.
  Duration guard(const Bubble& bubble) const;
  // Its iteration goes without fill, for comparison.
  bool leaves_out(const Bubble& bubble) const { return budget_ != unlimited && is_control(bubble.turn); }
  // Of a second of delay, in seconds of fill work, in bubbles of this rhythm. Infinite where the budget is zero.
  double price(std::uint64_t rhythm) const;
  // Fill work outlasted a bubble by so much: seen at once, whether the training had to wait for it or not.
  void overran(Duration time) { overrun_ += time; }
  // Before anything was measured.
  double first_price() const;
  // Not all bubbles of its rhythm may be filled, or the price is higher than the first: which have room has to be
  // known.
  bool is_limited(const Bubble& bubble) const;
  // A bubble that is limited is over, and had room for a slice at the first price. `filled`: it got one.
  void had_room(const Bubble& bubble, bool filled);
  // Watching costs so much already: filling may cost what is left.
  void leave_for_watching(double cost) { for_watching_ = cost; }
  // A slice was launched in a bubble of this iteration.
  void launched(std::uint64_t iteration);
  // Of the latest iterations.
  bool was_filled(std::uint64_t iteration) const {
    return iteration == last_filled_ || iteration == last_filled_before_;
  }
  // An iteration is over.
  Change ended(const Iteration& iteration);

  double budget() const { return budget_; }
  // By watching: nothing is left for filling.
  bool is_used_up() const { return budget_ > 0 && allowed() <= 0; }
  // How a rhythm stands.
  struct State {
    std::optional<Slowdown> slowdown;  // at its level, or, while too little is known of that, what led to it
    double share = 1;                  // of its bubbles that may be filled, the longest ones
  };
  State present() const { return state_of(rhythms_[present_]); }  // the rhythm of the latest iteration
  double present_share() const { return share_of(rhythms_[present_]); }
  State longest() const;  // the one with the most iterations compared

 private:
  // How much is filled: each level costs less than the one before. A price that is four times as high halves what
  // overruns cost. The rest of the price is paid once for each bubble, mostly, and less where a guard is left: where
  // lengths differ the longest bubbles bring more than half of the bubble time. With one or two bubbles in an iteration
  // fewer of them cost the iterations that are filled as much: there only a longer guard helps, so the lowest level has
  // one. A still higher price saves something only while the guard is that of short bubbles, at the third level.
  struct Level {
    double dearer;  // times the first price
    double share;   // of the bubbles that are filled
    double guard;   // of the shortest of them
    // Of what it costs at the first level, in pipelines in virtual time (docs/slowdown-budget.md). The second one
    // halves what overruns cost, and there are next to none in these.
    double typical;  // the median of six
    double most;     // of any of them
  };
  static constexpr double third = 1.0 / 3;
  static constexpr std::array<Level, 10> levels{{{1, 1, 0, 1, 1},
                                                 {4, 1, 0, 0.5, 1},
                                                 {16, 1.0 / 2, third, 0.42, 0.65},
                                                 {4, 1.0 / 4, third, 0.2, 0.45},
                                                 {4, 1.0 / 8, third, 0.07, 0.2},
                                                 {4, 1.0 / 8, 2 * third, 0.03, 0.2},
                                                 {4, 1.0 / 16, third, 0.005, 0.11},
                                                 {4, 1.0 / 32, third, 0.002, 0.04},
                                                 {4, 1.0 / 64, 2 * third, 0.001, 1.0 / 64},
                                                 {4, 0, 0, 0, 0}}};
  // At the last one nothing of this rhythm is filled any more.
  static constexpr std::uint32_t barred = levels.size() - 1, lowest_level = barred - 1;

  // The state of one rhythm. Only iterations of one rhythm are compared.
  struct KnownRhythm {
    std::uint64_t rhythm = 0;
    std::uint64_t latest = 0;  // iteration, its number; 0: this entry is free
    std::uint64_t compared = 0;
    Ratios ratios;
    LongestBubbles bubbles;
    std::optional<Longest> longest;  // that may be filled at this level; nothing: all, or none is known yet
    bool has_control = false;
    bool follows_measured = false;   // the rhythm before it had control iterations, and the same level
    std::uint32_t unmeasured = 0;    // iterations with fill before the first without
    std::optional<Slowdown> before;  // the change of the level
    std::uint32_t level = 0;
    bool went_back = false;       // to this level, from a lower one: it was cheap there, or nothing was launched at all
    std::uint32_t kept_back = 0;  // iterations without a slice that had room for one, since the latest one with a slice
    std::uint32_t tried = 0;      // the level to which a step back was too much
    std::uint64_t patience = 0;   // from then to the next try, in iterations that are compared
    std::uint64_t try_again = 0;  // after so many of them
    double held_for = 0;  // at the lowest level it costs at least so much, which is within the budget; 0: not known
  };

  double allowed() const { return budget_ > for_watching_ ? budget_ - for_watching_ : 0; }
  State state_of(const KnownRhythm& known) const;
  // There is a level to go back to; one that was too much when it was tried has to wait.
  bool may_go_back(const KnownRhythm& known) const {
    return known.level > 0 && allowed() > 0 && !is_held(known) &&
           (known.level - 1 > known.tried || known.compared >= known.try_again);
  }
  bool is_held(const KnownRhythm& known) const { return known.held_for > 0 && known.held_for > allowed(); }
  double share_of(const KnownRhythm& known) const { return is_held(known) ? 0 : levels[known.level].share; }
  // But for the share of its bubbles.
  const KnownRhythm* fillable_rhythm(const Bubble& bubble) const;
  static bool is_chosen(const KnownRhythm& known, const Bubble& bubble);
  const KnownRhythm* find(std::uint64_t rhythm) const;
  KnownRhythm* find(std::uint64_t rhythm) { return const_cast<KnownRhythm*>(std::as_const(*this).find(rhythm)); }
  KnownRhythm& take_up(const Iteration& iteration);
  Change decide(KnownRhythm& known);
  bool is_kept_empty(KnownRhythm& known, bool filled, bool kept_back);
  double exact_enough() const { return allowed() / 5; }  // the standard error of a price
  std::optional<Slowdown> over_many_runs(const KnownRhythm& known, const std::optional<Slowdown>& window) const;
  std::optional<Slowdown> likely_too_much(const KnownRhythm& known, const std::optional<Slowdown>& window,
                                          const std::optional<Slowdown>& many) const;
  std::optional<Slowdown> surely_more_than(double limit, const KnownRhythm& known) const;
  static double enough_to_go_back(std::uint32_t level);
  Change fill_less(KnownRhythm& known, const Slowdown& reason);
  Change hold(KnownRhythm& known, const Slowdown& reason) const;
  static void choose_longest(KnownRhythm& known);
  static void change_level(KnownRhythm& known, const std::optional<Slowdown>& reason, std::uint32_t level);

  void watch_overruns(Duration iteration);

  double budget_;
  double for_watching_ = 0;  // of it
  Duration overrun_{};       // since the latest iteration was over
  double overruns_ = 0;      // share of the time of iterations, those of some ten
  double caution_ = 1;       // times the price
  std::array<KnownRhythm, most_rhythms> rhythms_{};
  std::size_t present_ = 0;
  bool kept_back_ = false;         // a bubble with room was left empty in this iteration
  std::uint64_t last_filled_ = 0;  // the latest iteration in which a slice was launched, and the one before
  std::uint64_t last_filled_before_ = 0;
  std::uint32_t filled_since_report_ = 0;  // iterations; of some the end is not seen, and they are not reported
};

}  // namespace weft
