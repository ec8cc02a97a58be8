// See the header.
#include "trace/compare/statistics.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace weft {
namespace {

constexpr std::size_t fewest_blocks = 10, most_blocks = 20, usual_block = 3;
constexpr double most_alike = 0.99, fewest_freedom = 2;
// Values that are as alike as so few independent ones look like a trend by chance too often.
constexpr double most_of_trend = 1.0 / 8;

double mean(std::span<const double> values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

// Of values that follow each other, less their mean or a straight line: 0, they have nothing in common. Of few it comes
// out too small on average, by (terms + 3 rho) / n or so (Kendall; `terms`: 1, less their mean; 2, less a line).
double correlation(std::span<const double> values, int terms) {
  double products = 0, squares = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    squares += values[i] * values[i];
    if (i > 0) products += values[i] * values[i - 1];
  }
  if (squares <= 0) return 0;
  const auto count = static_cast<double>(values.size());
  return std::clamp((products / squares * count + terms) / (count - 4), 0.0, most_alike);
}

std::vector<double> less(std::span<const double> values, double average) {
  std::vector<double> left(values.begin(), values.end());
  for (double& value : left) value -= average;
  return left;
}

// Of the mean of so many values, each like the one before by `alike`, as a part of the variance of one (an AR(1)).
double variance_of_mean(double count, double alike) {
  const double sum = (1 + alike) / (1 - alike);
  return (sum - 2 * alike * (1 - std::pow(alike, count)) / (count * (1 - alike) * (1 - alike))) / count;
}

// Of the means of blocks of so many values, which are alike by `alike`.
double likeness_of_blocks(double alike, double size) {
  const double sum = (1 - std::pow(alike, size)) / (1 - alike) / size;
  return alike * sum * sum / variance_of_mean(size, alike);
}

// The incomplete beta function, regularised, by its continued fraction (modified Lentz).
double incomplete_beta(double a, double b, double x) {
  if (x <= 0 || x >= 1) return x <= 0 ? 0 : 1;
  if (x > (a + 1) / (a + b + 2)) return 1 - incomplete_beta(b, a, 1 - x);
  constexpr double tiny = 1e-300;
  const auto kept = [](double value) { return std::abs(value) < tiny ? tiny : value; };
  double c = 1, d = 1 / kept(1 - (a + b) * x / (a + 1)), fraction = d;
  for (int m = 1; m < 300; ++m) {
    const double even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
    d = 1 / kept(1 + even * d);
    c = kept(1 + even / c);
    fraction *= d * c;
    const double odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
    d = 1 / kept(1 + odd * d);
    c = kept(1 + odd / c);
    fraction *= d * c;
    if (std::abs(d * c - 1) < 1e-12) break;
  }
  return std::exp(std::lgamma(a + b) - std::lgamma(a) - std::lgamma(b) + a * std::log(x) + b * std::log1p(-x)) *
         fraction / a;
}

double share_below(double value, double middle) {
  return value < middle ? 1 : value > middle ? 0 : 0.5;
}

}  // namespace

double quantile(std::span<const double> sorted, double share) {
  const auto last = static_cast<double>(sorted.size() - 1);
  const double place = std::clamp(share * static_cast<double>(sorted.size()) - 0.5, 0.0, last);
  const auto below = static_cast<std::size_t>(place);
  const double above = sorted[std::min(below + 1, sorted.size() - 1)];
  return sorted[below] + (place - std::floor(place)) * (above - sorted[below]);
}

std::size_t blocks_of(std::size_t values) {
  return values < fewest_values ? 0 : std::clamp(values / usual_block, fewest_blocks, most_blocks);
}

BlockRange block_range(std::size_t block, std::size_t blocks, std::size_t values) {
  return {block * values / blocks, (block + 1) * values / blocks};
}

double likeness(std::span<const double> values, int terms) {
  std::vector<double> sorted(values.begin(), values.end()), ranks;
  std::ranges::sort(sorted);
  for (const double value : values) {
    const auto [first, end] = std::ranges::equal_range(sorted, value);
    ranks.push_back(static_cast<double>((first - sorted.begin()) + (end - sorted.begin())) / 2);
  }
  return correlation(less(ranks, mean(ranks)), terms);
}

// The mean of all has the variance `part` of that of one block. The blocks lie around it, so how they vary says less
// than all of it.
Known known_from(double value, std::span<const double> blocks, std::size_t values, double alike) {
  const std::vector<double> apart = less(blocks, mean(blocks));
  const auto count = static_cast<double>(blocks.size());
  const double rho = std::min(correlation(apart, 1), 0.9);
  const double of_blocks = std::min(variance_of_mean(count, rho), 0.25);
  const double of_values = variance_of_mean(static_cast<double>(values), alike) /
                           variance_of_mean(static_cast<double>(values) / count, alike);
  const double part = std::max(of_blocks, of_values);
  double squares = 0;
  for (const double block : apart) squares += block * block;
  const double variance = squares / (count * (1 - part)) * part;
  return {value, std::sqrt(variance), std::clamp(1 / part - 1, fewest_freedom, count - 1)};
}

// The share of the values below the median is a half, and known as far as the blocks agree on it. That share, less and
// more by as much as it may be wrong, is where the ends of the interval lie among the values (Woodruff).
std::optional<KnownWithin> known_median(std::span<const double> values) {
  const std::size_t blocks = blocks_of(values.size());
  if (blocks == 0) return std::nullopt;
  std::vector<double> sorted(values.begin(), values.end()), shares;
  std::ranges::sort(sorted);
  const double median = quantile(sorted, 0.5);
  for (std::size_t block = 0; block < blocks; ++block) {
    const auto [begin, end] = block_range(block, blocks, values.size());
    double below = 0;
    for (const double value : values.subspan(begin, end - begin)) below += share_below(value, median);
    shares.push_back(below / static_cast<double>(end - begin));
  }
  const Known half = known_from(0.5, shares, values.size(), likeness(values));
  const double reach = student_quantile(half.freedom) * half.error;
  // Where it may lie beyond all values it is by as much farther away as they are apart.
  const double beyond = std::clamp(reach / 0.5, 1.0, 3.0), inside = std::min(reach, 0.5);
  const double low = median - beyond * (median - quantile(sorted, 0.5 - inside));
  const double high = median + beyond * (quantile(sorted, 0.5 + inside) - median);
  if (median > 0 && low <= 0) return std::nullopt;
  return KnownWithin{median, low, high};
}

std::optional<KnownWithin> known_mean(std::span<const double> values) {
  if (held_by_two(values) > most_held_by_two) return std::nullopt;
  const auto mean = known_share(values, std::vector<double>(values.size(), 1.0));
  if (!mean) return std::nullopt;
  const double reach = student_quantile(mean->freedom) * mean->error;
  if (reach >= mean->value) return std::nullopt;
  return KnownWithin{mean->value, mean->value - reach, mean->value + reach};
}

double held_by_two(std::span<const double> values) {
  if (values.size() < 2) return 0;
  std::vector<double> sorted(values.begin(), values.end());
  std::ranges::sort(sorted);
  const double sum = std::accumulate(sorted.begin(), sorted.end(), 0.0);
  const double beyond = sorted.end()[-1] + sorted.end()[-2] - 2 * quantile(sorted, 0.5);
  return sum <= 0 ? 0 : beyond / sum;
}

// The error of a ratio of sums is that of part - ratio * whole, which is linear in both (the delta method).
std::optional<Known> known_share(std::span<const double> parts, std::span<const double> wholes) {
  const std::size_t blocks = blocks_of(wholes.size());
  if (blocks == 0 || held_by_two(wholes) > most_held_by_two) return std::nullopt;
  const auto sum = [](std::span<const double> values) { return std::accumulate(values.begin(), values.end(), 0.0); };
  const double all = sum(wholes);
  if (all <= 0) return std::nullopt;
  const double share = sum(parts) / all;
  std::vector<double> residuals;
  for (std::size_t block = 0; block < blocks; ++block) {
    const auto [begin, end] = block_range(block, blocks, wholes.size());
    const double left = sum(parts.subspan(begin, end - begin)) - share * sum(wholes.subspan(begin, end - begin));
    residuals.push_back(left / all * static_cast<double>(blocks));
  }
  std::vector<double> apart;
  for (std::size_t i = 0; i < wholes.size(); ++i) apart.push_back(parts[i] - share * wholes[i]);
  return known_from(share, residuals, wholes.size(), likeness(apart));
}

namespace {

// Of the straight line through the medians of blocks, over the run from -0.5 to 0.5.
struct Line {
  std::vector<double> places, apart;  // of the blocks, from the line
  double middle = 0, slope = 0, squares = 0;

  explicit Line(std::span<const double> blocks) {
    const auto count = static_cast<double>(blocks.size());
    middle = mean(blocks);
    for (std::size_t block = 0; block < blocks.size(); ++block) {
      places.push_back((static_cast<double>(block) + 0.5) / count - 0.5);
      squares += places[block] * places[block];
      slope += places[block] * blocks[block];
    }
    slope /= squares;
    for (std::size_t block = 0; block < blocks.size(); ++block)
      apart.push_back(blocks[block] - middle - slope * places[block]);
  }

  // Of least squares, where each block is like the one before by `alike` (Satterthwaite).
  Known known(double alike) const {
    const std::size_t count = places.size();
    const auto like = [alike](std::size_t one, std::size_t other) {
      return std::pow(alike, static_cast<double>(one > other ? one - other : other - one));
    };
    // The correlations of the blocks, less the line.
    std::vector<std::vector<double>> left(count, std::vector<double>(count));
    double of_slope = 0;
    for (std::size_t column = 0; column < count; ++column) {
      double sum = 0, along = 0;
      for (std::size_t row = 0; row < count; ++row) sum += like(row, column), along += places[row] * like(row, column);
      for (std::size_t row = 0; row < count; ++row)
        left[row][column] = like(row, column) - sum / static_cast<double>(count) - places[row] * along / squares;
      of_slope += along * places[column] / squares / squares;
    }
    double trace = 0, of_square = 0, sum = 0;
    for (std::size_t row = 0; row < count; ++row) {
      trace += left[row][row];
      sum += apart[row] * apart[row];
      for (std::size_t column = 0; column < count; ++column) of_square += left[row][column] * left[column][row];
    }
    return {slope, std::sqrt(sum / trace * of_slope), std::max(trace * trace / of_square, fewest_freedom)};
  }
};

}  // namespace

std::optional<Interval> known_trend(std::span<const double> values) {
  const std::size_t blocks = blocks_of(values.size());
  if (blocks == 0) return std::nullopt;
  std::vector<double> medians, apart(values.begin(), values.end());
  for (std::size_t block = 0; block < blocks; ++block) {
    const auto [begin, end] = block_range(block, blocks, values.size());
    std::vector<double> sorted(values.begin() + static_cast<std::ptrdiff_t>(begin),
                               values.begin() + static_cast<std::ptrdiff_t>(end));
    std::ranges::sort(sorted);
    medians.push_back(quantile(sorted, 0.5));
  }
  const Line line(medians);
  const auto count = static_cast<double>(values.size());
  for (std::size_t i = 0; i < values.size(); ++i)
    apart[i] -= line.slope * ((static_cast<double>(i) + 0.5) / count - 0.5);
  const double alike = likeness(apart, 2), of_values = likeness_of_blocks(alike, count / static_cast<double>(blocks));
  if (variance_of_mean(count, alike) > most_of_trend) return std::nullopt;
  const Known slope = line.known(std::max(std::min(correlation(line.apart, 2), 0.9), of_values));
  const double reach = student_quantile(slope.freedom) * slope.error, begin = line.middle - slope.value / 2;
  if (begin <= 0) return std::nullopt;
  return Interval{slope.value / begin, (slope.value - reach) / begin, (slope.value + reach) / begin};
}

double Interval::farthest() const {
  return std::max(std::abs(low), std::abs(high));
}

// Freedom by Welch and Satterthwaite.
Interval difference(const Known& before, const Known& after, std::size_t claims) {
  const double first = before.error * before.error, second = after.error * after.error, both = first + second;
  const double value = after.value - before.value;
  if (both <= 0) return {value, value, value};
  const double freedom = both * both / (first * first / before.freedom + second * second / after.freedom);
  const double reach = student_quantile(freedom, 0.025 / static_cast<double>(claims)) * std::sqrt(both);
  return {value, std::max(value - reach, -before.value), std::min(value + reach, 1 - before.value)};
}

// From the two intervals (Zou and Donner), on the scale of logarithms, on which a ratio is a difference.
Interval relative_change(const KnownWithin& before, const KnownWithin& after) {
  const auto ratio = [](double upper, double lower) { return std::log(upper / lower); };
  const double value = ratio(after.value, before.value);
  // Not std::hypot, which would need glibc 2.35.
  const auto joined = [](double one, double other) { return std::sqrt(one * one + other * other); };
  const double below = joined(ratio(after.value, after.low), ratio(before.high, before.value));
  const double above = joined(ratio(after.high, after.value), ratio(before.value, before.low));
  return {std::expm1(value), std::expm1(value - below), std::expm1(value + above)};
}

double student_quantile(double freedom, double tail) {
  double low = 0, high = 1e6;
  for (int i = 0; i < 200 && high - low > 1e-9 * high; ++i) {
    const double t = (low + high) / 2;
    const double above = incomplete_beta(freedom / 2, 0.5, freedom / (freedom + t * t)) / 2;
    (above > tail ? low : high) = t;
  }
  return (low + high) / 2;
}

}  // namespace weft
