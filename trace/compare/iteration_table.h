// The iterations of a rank, a stage or a run, one after the other: how long each was, and how idle, by cause.
//
// Used by compared_run.cpp, in the weft command and in tests only. Memory grows with the iterations, of which so many
// are kept, and not with the bubbles. Of more only every second, fourth, eighth ... is: the same ones of all ranks, so
// what is compared is a sample of the whole run. Pure.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "detector/bubble.h"
#include "trace/compare/statistics.h"

namespace weft {

// Ranks count the iterations alike, anew with each header of their trace.
using IterationKey = std::pair<std::uint32_t, std::uint64_t>;  // which header, and the number

// Of one iteration, summed over ranks. Nanoseconds.
struct IterationSums {
  double length = 0;
  double watched = 0;  // the part of it in which bubbles were looked for; idle and uncertain time are shares of that
  double uncertain = 0;
  double idle = 0;  // as its line says, and of it by the causes of its bubbles
  std::array<double, cause_names.size()> by_cause{};
  std::uint32_t ranks = 0;

  void add(const IterationSums& other);
};

// A number, and how far it is known; nothing: of too few iterations.
template <class HowFar>
struct Measured {
  double value = 0;
  std::optional<HowFar> known;
};
using MeasuredLength = Measured<KnownWithin>;
using MeasuredShare = Measured<Known>;

struct IterationNumbers {
  std::size_t iterations = 0;  // that the numbers are of
  std::size_t all = 0;         // that there are; more: only each `every` counts
  std::uint64_t every = 1;
  // The mean over ranks of each iteration; the median of those. Nothing: there are none.
  std::optional<MeasuredLength> length;
  std::optional<MeasuredLength> mean;  // likewise, the time of all of them by their number
  // Shares of the time. Nothing: bubbles were not measured.
  std::optional<MeasuredShare> idle, uncertain, of_no_cause;  // of no cause: that bubbles do not account for
  std::array<std::optional<MeasuredShare>, cause_names.size()> by_cause;
  double held_by_two = 0;         // see statistics.h
  std::optional<Interval> drift;  // how much longer one is at the end than at the begin, where that is certain
};

// From here on nothing is known for certain: of all numbers, or of those by cause alone.
void forget_how_far(IterationNumbers& numbers);
void forget_how_far_by_cause(IterationNumbers& numbers);

class IterationTable {
 public:
  static constexpr std::size_t most_iterations = 20'000;

  // Of one rank: each once.
  void add(IterationKey key, const IterationSums& sums);
  // Those of another rank or stage.
  void add(const IterationTable& other);
  // False: what is added of it does not count.
  bool is_kept(std::uint64_t number) const { return ((number - 1) & (every_ - 1)) == 0; }
  // Nothing: it is not known (yet).
  IterationSums* find(IterationKey key);
  const std::map<IterationKey, IterationSums>& iterations() const { return iterations_; }
  // Of the iterations that at least half as many ranks have as the others.
  IterationNumbers numbers() const;

 private:
  void keep_every(std::uint64_t every);
  void thin_out();

  std::map<IterationKey, IterationSums> iterations_;
  std::size_t all_ = 0;      // that were added; of several ranks the most of one
  std::uint64_t every_ = 1;  // a power of 2; the first one is always kept
};

}  // namespace weft
