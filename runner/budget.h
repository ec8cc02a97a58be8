// The slowdown budget: which iterations go without fill to compare with, what fill costs the main job, and how much may
// be filled. Pure, like the planner: iterations in, decisions and numbers out.
//
// Used by the dispatcher thread; read by a thread of the main job after that has ended. It knows no clock, CUDA or
// file. Ranks do not talk to each other: their iterations last equally long, whoever is slow, so all of them go without
// fill in the same iterations, by their number since the rhythm was found. Only iterations of one rhythm are compared.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>

#include "detector/bubble.h"

namespace weft {

// (iteration time with fill - without) / without, with its 95 % interval.
struct Slowdown {
  double estimate = 0, low = 0, high = 0;
  std::uint32_t control = 0;  // iterations without fill that were compared
  std::uint32_t filled = 0;   // iterations with fill
};

// Hodges and Lehmann's estimate: the median of all ratios filled / control, with the interval that belongs to the test
// of Mann and Whitney. An iteration that a checkpoint or an evaluation made long moves it little. Nothing while there
// are too few iterations for an interval. Lengths are positive.
class Ratios {
 public:
  static constexpr std::size_t most_control = 32, most_filled = 64;
  // Quantiles of the normal distribution, for two-sided intervals.
  static constexpr double interval_95 = 1.959964, interval_99_9 = 3.290527;

  void add_control(Duration length) { control_.add(length); }
  void add_filled(Duration length) { filled_.add(length); }
  void forget_filled() { filled_ = {}; }
  std::uint32_t control() const { return static_cast<std::uint32_t>(control_.size()); }
  std::uint32_t filled() const { return static_cast<std::uint32_t>(filled_.size()); }
  std::uint64_t controls_seen() const { return control_.seen(); }
  std::optional<Slowdown> slowdown(double interval = interval_95) const;

 private:
  // The latest lengths, in a circle.
  template <std::size_t most>
  class Latest {
   public:
    void add(Duration length) { lengths_[seen_++ % most] = static_cast<double>(length.count()); }
    std::size_t size() const { return seen_ < most ? static_cast<std::size_t>(seen_) : most; }
    std::uint64_t seen() const { return seen_; }
    double operator[](std::size_t index) const { return lengths_[index]; }

   private:
    std::array<double, most> lengths_{};
    std::uint64_t seen_ = 0;
  };

  Latest<most_control> control_;
  Latest<most_filled> filled_;
};

// Whether the iteration of that turn goes without fill: 3 at the beginning, when there are hardly any forecasts
// anyway; 6 after 36 with fill; 8 after 90 with fill; then 8 after each 152, one in twenty.
bool is_control(std::uint64_t turn);

class Budget {
 public:
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
  // An iteration is over. `stop`: not even the lowest level keeps the budget; the caller ends filling.
  Change ended(const Iteration& iteration);

  double budget() const { return budget_; }
  // How a rhythm stands.
  struct State {
    std::optional<Slowdown> slowdown;  // at its level, or, while too little is known of that, what led to it
    double share = 1;                  // of its bubbles that may be filled
  };
  State present() const { return state_of(accounts_[present_]); }  // the rhythm of the latest iteration
  State longest() const;                                           // the one with the most iterations compared

 private:
  // What is known of one rhythm.
  struct Account {
    std::uint64_t rhythm = 0;
    std::uint64_t latest = 0;  // iteration, its number; 0: this account is free
    std::uint64_t compared = 0;
    Ratios ratios;
    std::optional<Slowdown> before;  // the change of the level
    std::uint64_t controls_at_change = 0;
    std::uint32_t level = 0;
  };

  static State state_of(const Account& account);
  const Account* find(std::uint64_t rhythm) const;
  Account& take_up(const Iteration& iteration);
  Change decide(Account& account) const;
  static Change fill_less(Account& account, const Slowdown& reason);
  static void change_level(Account& account, const Slowdown& reason, std::uint32_t level);

  double budget_;
  std::array<Account, most_rhythms> accounts_{};
  std::size_t present_ = 0;
  std::uint64_t last_filled_ = 0;  // the latest iteration in which a slice was launched, and the one before
  std::uint64_t last_filled_before_ = 0;
};

}  // namespace weft
