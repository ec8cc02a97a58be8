// See the header.
#include "trace/compare/statistics.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace weft {
namespace {

constexpr std::size_t fewest_blocks = 10, most_blocks = 20, usual_block = 3;

double mean(std::span<const double> values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

// Of blocks that follow each other: 0, they have nothing in common. Of few blocks it comes out too small on average,
// by (1 + 4 rho) / n (Kendall).
double correlation(std::span<const double> blocks, double average) {
  double products = 0, squares = 0;
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    squares += (blocks[i] - average) * (blocks[i] - average);
    if (i > 0) products += (blocks[i] - average) * (blocks[i - 1] - average);
  }
  if (squares <= 0) return 0;
  const auto count = static_cast<double>(blocks.size());
  return std::clamp((products / squares * count + 1) / (count - 4), 0.0, 0.9);
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

// Of n blocks of which neighbours are correlated by rho, (1 - rho) / (1 + rho) n would tell as much.
Known known_from(double value, std::span<const double> blocks) {
  const double average = mean(blocks), rho = correlation(blocks, average);
  const auto count = static_cast<double>(blocks.size());
  double squares = 0;
  for (const double block : blocks) squares += (block - average) * (block - average);
  const double alike = std::min((1 + rho) / (1 - rho), count / 4), independent = count / alike;
  const double variance = squares / (count - alike);
  return {value, std::sqrt(variance / independent), independent - 1};
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
  const Known half = known_from(0.5, shares);
  const double reach = student_quantile(half.freedom) * half.error;
  return KnownWithin{median, quantile(sorted, 0.5 - reach), quantile(sorted, 0.5 + reach)};
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
  return known_from(share, residuals);
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
