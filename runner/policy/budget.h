// The slowdown budget: which iterations go without fill to compare with, what fill costs the main job, and how much may
// be filled. Pure, like the planner: iterations in, decisions and numbers out.
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
#include <vector>

#include "detector/bubble.h"

namespace weft {

// (iteration time with fill - without) / without, with its 95 % interval.
struct Slowdown {
  double estimate = 0, low = 0, high = 0;
  std::uint32_t control = 0;  // iterations without fill that were compared
  std::uint32_t filled = 0;   // iterations with fill
  std::uint32_t runs = 0;     // of iterations without fill
};

// The purpose of an iteration: docs/slowdown-budget.md has the schedule.
struct Part {
  bool control = false;     // goes without fill
  bool comparable = false;  // its neighbours are of its own kind: other ranks may be one iteration ahead or behind
  std::uint64_t run = 0;    // the turn at which the nearest run of iterations without fill begins
};
Part part_of(std::uint64_t turn);
inline bool is_control(std::uint64_t turn) {
  return part_of(turn).control;
}

// Each run of iterations without fill is compared with the filled ones around it only, so neither a drift nor a step
// that outlasts a run gets into the number: before and after a run they are of opposite sign.
//
// The estimate is that of Hodges and Lehmann, stratified: the median of the ratios filled / control of all pairs within
// a run; the interval belongs to the sum of the runs' statistics of Mann and Whitney (van Elteren). One long iteration
// moves it little. Nothing while there are too few pairs for an interval. Lengths are positive.
class Ratios {
 public:
  // Quantiles of the normal distribution, for two-sided intervals.
  static constexpr double interval_95 = 1.959964, interval_99_9 = 3.290527;
  // Each run keeps 6 control iterations (8 less the two edges) and up to 16 filled ones on either side. Its variance,
  // 1 / 6 + 1 / 32, is at most 19 % above that with unlimited filled iterations.
  static constexpr std::size_t most_around = 16, most_in_run = 6;
  // The latest runs are kept that have so many iterations without fill together, five whole ones, and the one to come:
  // the estimate's standard error, sqrt(pi / 3 * (1 / 6 + 1 / 32) / 5), is then a fifth of the spread of one iteration.
  static constexpr std::uint32_t window = 30;

  // `run` has another number for each run.
  void add(std::uint64_t run, bool control, Duration length);
  void forget() { runs_.clear(); }
  // Nothing of what was filled; without fill, the iterations of the latest run.
  void forget_filled();
  std::optional<Slowdown> slowdown(double interval = interval_95) const;

 private:
  template <std::size_t most>
  struct Lengths {
    std::array<double, most> values{};
    std::size_t seen = 0;
    std::size_t size() const { return seen < most ? seen : most; }
    void add_first(double value) {  // what comes when it is full is left out
      if (seen < most) values[seen++] = value;
    }
    void add_latest(double value) { values[seen++ % most] = value; }  // the earliest goes
  };
  struct Run {
    std::uint64_t number = 0;
    Lengths<most_in_run> control;
    Lengths<most_around> before, after;
    std::size_t filled() const { return before.size() + after.size(); }
  };

  void begin_run(std::uint64_t number);

  std::vector<Run> runs_;
};

class Budget {
 public:
  // `less` may be nothing at all, for one rhythm. `stop`: nothing of any rhythm; the caller ends filling.
  enum class Change : std::uint8_t { none, less, more, stop };

  static constexpr double unlimited = std::numeric_limits<double>::infinity();
  static constexpr std::uint32_t lowest_level = 3;  // at level n one of 2^n bubbles is filled
  static constexpr std::size_t most_rhythms = 8;    // that are remembered; the one that was not seen for longest goes

  // `budget`: the slowdown that is allowed, 0.01 for 1 %. Unlimited: every iteration may be filled, nothing is
  // measured.
  explicit Budget(double budget) : budget_(budget) {}

  // Whether this open bubble may be filled; the same answer as long as it is open, unless the level changes.
  bool may_fill(const Bubble& bubble) const;
  // A slice was launched in a bubble of this iteration.
  void launched(std::uint64_t iteration);
  // An iteration is over.
  Change ended(const Iteration& iteration);

  double budget() const { return budget_; }
  // How a rhythm stands.
  struct State {
    std::optional<Slowdown> slowdown;  // at its level, or, while too little is known of that, what led to it
    double share = 1;                  // of its bubbles that may be filled
  };
  State present() const { return state_of(accounts_[present_]); }  // the rhythm of the latest iteration
  double present_share() const { return share_of(accounts_[present_]); }
  State longest() const;  // the one with the most iterations compared

 private:
  // Above the lowest: nothing of this rhythm is filled any more.
  static constexpr std::uint32_t barred = lowest_level + 1;

  // The state of one rhythm. Only iterations of one rhythm are compared.
  struct Account {
    std::uint64_t rhythm = 0;
    std::uint64_t latest = 0;  // iteration, its number; 0: this account is free
    std::uint64_t compared = 0;
    Ratios ratios;
    bool has_control = false;
    std::uint32_t unmeasured = 0;    // iterations with fill before the first without
    std::optional<Slowdown> before;  // the change of the level
    std::uint32_t level = 0;
    bool too_much = false;  // a whole window at the lowest level said so
  };

  static State state_of(const Account& account);
  static double share_of(const Account& account) { return account.level == barred ? 0 : 1.0 / (1U << account.level); }
  const Account* find(std::uint64_t rhythm) const;
  Account& take_up(const Iteration& iteration);
  Change decide(Account& account);
  Change fill_less(Account& account, const Slowdown& reason);
  static void change_level(Account& account, const Slowdown& reason, std::uint32_t level);

  double budget_;
  std::array<Account, most_rhythms> accounts_{};
  std::size_t present_ = 0;
  std::uint64_t last_filled_ = 0;  // the latest iteration in which a slice was launched, and the one before
  std::uint64_t last_filled_before_ = 0;
};

}  // namespace weft
