// How far a number of a run is known, and by how much it differs between two runs, with 95 % intervals.
//
// Values of one run that follow each other are alike: GPUs warm up, hosts are busy for a while, data comes in waves. So
// the run is cut into blocks of consecutive values, and how much the blocks differ says how far the number of the whole
// run is known. Where blocks that follow each other are alike as well, as when a run drifts, they count as fewer. How
// alike they are is estimated from the blocks and from the values themselves, and the larger of both counts: of few
// blocks it comes out too small, and values know nothing of slow waves.
// Student's t then gives the interval (docs/diff.md). Of a median it is one of ranks: which part of the values is below
// it, and which values lie at the ends of that. So a few that are very long do no harm.
//
// Used by `weft diff` and by tests, never inside the training process. Pure.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

namespace weft {

inline constexpr std::size_t fewest_values = 30;  // of fewer nothing is said

// A number of one run: its value, its standard error, and of how many independent blocks that is known, less one.
struct Known {
  double value = 0, error = 0, freedom = 0;
};

// A number of one run, with its interval.
struct KnownWithin {
  double value = 0, low = 0, high = 0;
};

// Of sorted values, between two of them where it has to be; 0.5: the median. There is one at least.
double quantile(std::span<const double> sorted, double share);

// How many blocks a run of so many values is cut into; 0: there are too few.
std::size_t blocks_of(std::size_t values);

// From `begin` up to the one behind the last.
struct BlockRange {
  std::size_t begin = 0, end = 0;
};
BlockRange block_range(std::size_t block, std::size_t blocks, std::size_t values);

// How alike values that follow each other are: 0, not at all; 1, the same. By their ranks. `terms`: 2 where a straight
// line has been taken off.
double likeness(std::span<const double> values, int terms = 1);

// `value` is of all of the run, `blocks` the same number of each block of so many values, which are alike by `alike`.
Known known_from(double value, std::span<const double> blocks, std::size_t values, double alike);

// Of values in their order. Nothing: there are too few, or it is hardly known at all.
std::optional<KnownWithin> known_median(std::span<const double> values);

// Likewise. Nothing also where two values hold too much of the sum.
std::optional<KnownWithin> known_mean(std::span<const double> values);

// How much of the sum the two largest values have beyond two usual ones.
double held_by_two(std::span<const double> values);
inline constexpr double most_held_by_two = 0.05;  // where two values hold more, a share is known no better than they

// sum(parts) / sum(wholes), of pairs in their order. Nothing: there are too few, nothing to be a share of, or two of
// them hold too much of it.
std::optional<Known> known_share(std::span<const double> parts, std::span<const double> wholes);

// With its 95 % interval.
struct Interval {
  double value = 0, low = 0, high = 0;
  bool has_zero() const { return low <= 0 && 0 <= high; }
  double farthest() const;  // from zero
};

// By how much values grow from the begin of a run to its end, as a part of what they are at the begin, along the
// straight line through the medians of its blocks. Nothing: there are too few, or they are too alike to tell that from
// chance.
std::optional<Interval> known_trend(std::span<const double> values);

// after / before - 1, of numbers that are larger than 0.
Interval relative_change(const KnownWithin& before, const KnownWithin& after);
// Of shares: it is not beyond those that can be.
// `claims`: of so many intervals all hold the truth at once in 95 % of cases (Bonferroni).
Interval difference(const Known& before, const Known& after, std::size_t claims = 1);

// Student's t: all but `tail` of the values are smaller. `freedom` may be a fraction.
double student_quantile(double freedom, double tail = 0.025);

}  // namespace weft
