// The price of filling: iterations with fill compared with those without that lie between them. Pure.
//
// Used by the Budget, on the thread that steps the Session.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "detector/time.h"
#include "runner/policy/many_runs.h"

namespace weft {

// (iteration time with fill - without) / without, with its 95 % interval.
struct Slowdown {
  double estimate = 0, low = 0, high = 0;
  std::uint32_t control = 0;  // iterations without fill that were compared
  std::uint32_t filled = 0;   // iterations with fill
  std::uint32_t runs = 0;     // of iterations without fill
};

// Each run of iterations without fill is compared with the filled ones around it only, so neither a drift nor a step
// that outlasts a run gets into the number: before and after a run they are of opposite sign. Iterations of one rhythm
// may have different content (microbatches): only those with equally many groups are compared.
//
// The estimate is that of Hodges and Lehmann, stratified: the median of the ratios filled / control of all pairs within
// a run; the interval belongs to the sum of the runs' statistics of Mann and Whitney (van Elteren). One long iteration
// moves it little. Nothing while there are too few pairs for an interval. Lengths are positive.
class Ratios {
 public:
  // Quantiles of the normal distribution, for two-sided intervals.
  static constexpr double interval_95 = 1.959964, interval_99_9 = 3.290527, interval_99_999 = 4.417173;
  // Each run keeps 6 control iterations (8 less the two edges) and up to 16 filled ones on either side. Its variance,
  // 1 / 6 + 1 / 32, is at most 19 % above that with unlimited filled iterations.
  static constexpr std::size_t most_around = 16, most_in_run = 6;
  // The latest runs are kept that have so many iterations without fill together, five whole ones, and the one to come:
  // the estimate's standard error, sqrt(pi / 3 * (1 / 6 + 1 / 32) / 5), is then a fifth of the spread of one iteration.
  static constexpr std::uint32_t window = 30;

  // `run` has another number for each run.
  void add(std::uint64_t run, bool control, Duration length, std::uint32_t groups = 0);
  void forget() {
    runs_.clear();
    many_.forget();
  }
  // Nothing of what was filled; without fill, the iterations of the latest run.
  void forget_filled();
  // By the window.
  std::optional<Slowdown> slowdown(double interval = interval_95) const;
  // By up to 128 runs since what was filled was forgotten, the latest ones: as many as it takes for this standard
  // error. Nothing from too few.
  std::optional<Slowdown> over_many_runs(double error, double interval = interval_95) const;

 private:
  struct Length {
    double value = 0;
    std::uint32_t groups = 0;
  };
  template <std::size_t most>
  struct Lengths {
    std::array<Length, most> values{};
    std::size_t seen = 0;
    std::size_t size() const { return seen < most ? seen : most; }
    void add_first(Length value) {  // what comes when it is full is left out
      if (seen < most) values[seen++] = value;
    }
    void add_latest(Length value) { values[seen++ % most] = value; }  // the earliest goes
    template <class Values>
    void append_to(Values& all, std::uint32_t groups) const {
      for (std::size_t i = 0; i < size(); ++i)
        if (values[i].groups == groups) all.add(values[i].value);
    }
  };
  struct Run {
    std::uint64_t number = 0;
    Lengths<most_in_run> control;
    Lengths<most_around> before, after;
  };
  // Values in a place of fixed size: the numbers are asked for while the training runs, and nothing is allocated then.
  template <class Value, std::size_t most>
  struct Few {
    std::array<Value, most> values;
    std::size_t count = 0;
    void add(const Value& value) {
      if (count < most) values[count++] = value;
    }
    std::size_t size() const { return count; }
    bool empty() const { return count == 0; }
    auto begin() const { return values.begin(); }
    auto end() const { return values.begin() + static_cast<std::ptrdiff_t>(count); }
  };
  // Iterations of one run with equally many groups, at least one of each.
  struct Comparable {
    Few<double, most_in_run> control;
    Few<double, 2 * most_around> filled;
    // The ratios of all pairs.
    template <class Values>
    void append_to(Values& all) const {
      for (const double without : control)
        for (const double with : filled) all.add(with / without);
    }
  };
  static Few<Comparable, most_in_run> comparables(const Run& run);
  // The window, of which the last run may go beyond it, and the run to come.
  static constexpr std::size_t most_ratios = (window - 1 + 2 * most_in_run) * 2 * most_around;

  void begin_run(std::uint64_t number);
  void note(const Few<Comparable, most_in_run>& run);

  std::vector<Run> runs_;
  ManyRuns many_;
};

}  // namespace weft
