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

// Welch and Satterthwaite: of the difference of two numbers.
Interval around(double value, const Known& before, const Known& after) {
  const double first = before.error * before.error, second = after.error * after.error, both = first + second;
  if (both <= 0) return {value, value, value};
  const double freedom = both * both / (first * first / before.freedom + second * second / after.freedom);
  const double reach = student_quantile(freedom) * std::sqrt(both);
  return {value, value - reach, value + reach};
}

}  // namespace

double middle(std::vector<double> values) {
  const std::size_t half = values.size() / 2;
  std::ranges::nth_element(values, values.begin() + static_cast<std::ptrdiff_t>(half));
  if (values.size() % 2 == 1) return values[half];
  return (values[half] + *std::max_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(half))) / 2;
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
  const double alike = std::min((1 + rho) / (1 - rho), count / 2), independent = count / alike;
  const double variance = squares / (count - alike);
  return {value, std::sqrt(variance / independent), std::max(independent - 1, 1.0)};
}

std::optional<Known> known_median(std::span<const double> values) {
  const std::size_t blocks = blocks_of(values.size());
  if (blocks == 0) return std::nullopt;
  std::vector<double> medians;
  for (std::size_t block = 0; block < blocks; ++block) {
    const auto [begin, end] = block_range(block, blocks, values.size());
    medians.push_back(middle(
        {values.begin() + static_cast<std::ptrdiff_t>(begin), values.begin() + static_cast<std::ptrdiff_t>(end)}));
  }
  return known_from(middle({values.begin(), values.end()}), medians);
}

std::optional<Known> known_share(std::span<const double> parts, std::span<const double> wholes) {
  const std::size_t blocks = blocks_of(wholes.size());
  if (blocks == 0) return std::nullopt;
  const auto sum = [](std::span<const double> values) { return std::accumulate(values.begin(), values.end(), 0.0); };
  std::vector<double> shares;
  for (std::size_t block = 0; block < blocks; ++block) {
    const auto [begin, end] = block_range(block, blocks, wholes.size());
    const double whole = sum(wholes.subspan(begin, end - begin));
    if (whole <= 0) return std::nullopt;
    shares.push_back(sum(parts.subspan(begin, end - begin)) / whole);
  }
  return known_from(sum(parts) / sum(wholes), shares);
}

double Interval::farthest() const {
  return std::max(std::abs(low), std::abs(high));
}

Interval difference(const Known& before, const Known& after) {
  return around(after.value - before.value, before, after);
}

// On the scale of logarithms, on which a ratio is a difference.
Interval relative_change(const Known& before, const Known& after) {
  const auto logarithm = [](const Known& known) {
    return Known{std::log(known.value), known.error / known.value, known.freedom};
  };
  const Interval found = difference(logarithm(before), logarithm(after));
  return {std::expm1(found.value), std::expm1(found.low), std::expm1(found.high)};
}

double student_quantile(double freedom) {
  double low = 0, high = 1e6;
  for (int i = 0; i < 200 && high - low > 1e-9 * high; ++i) {
    const double t = (low + high) / 2;
    const double above = incomplete_beta(freedom / 2, 0.5, freedom / (freedom + t * t)) / 2;
    (above > 0.025 ? low : high) = t;
  }
  return (low + high) / 2;
}

}  // namespace weft
