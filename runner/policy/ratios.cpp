// See ratios.h.
#include "runner/policy/ratios.h"

#include <algorithm>
#include <cmath>

#include "detector/dcheck.h"

namespace weft {
namespace {

// Some are moved.
double median(double* first, double* last) {
  const auto count = last - first;
  const auto nth = [&](std::ptrdiff_t index) {
    std::nth_element(first, first + index, last);
    return first[index];
  };
  return (nth((count - 1) / 2) + nth(count / 2)) / 2;
}

// Student's t from the normal quantile, by the first terms of Cornish and Fisher's expansion (Abramowitz and Stegun,
// 26.7.5).
double students_t(double normal, double freedom) {
  const double z = normal, z2 = z * z;
  const double first = z * (z2 + 1) / 4, second = z * ((5 * z2 + 16) * z2 + 3) / 96;
  const double third = z * (((3 * z2 + 19) * z2 + 17) * z2 - 15) / 384;
  return z + (first + (second + third / freedom) / freedom) / freedom;
}

}  // namespace

Ratios::Few<Ratios::Comparable, Ratios::most_in_run> Ratios::comparables(const Run& run) {
  Few<Comparable, most_in_run> all;
  Few<std::uint32_t, most_in_run> known;
  for (std::size_t i = 0; i < run.control.size(); ++i) {
    const std::uint32_t groups = run.control.values[i].groups;
    if (std::find(known.begin(), known.end(), groups) != known.end()) continue;
    known.add(groups);
    Comparable of_groups;
    run.control.append_to(of_groups.control, groups);
    run.before.append_to(of_groups.filled, groups);
    run.after.append_to(of_groups.filled, groups);
    if (!of_groups.filled.empty()) all.add(of_groups);
  }
  return all;
}

void Ratios::begin_run(std::uint64_t number) {
  // A run with nothing to compare, which a break cut short, is no run.
  if (!runs_.empty()) {
    const auto complete = comparables(runs_.back());
    if (complete.empty())
      runs_.pop_back();
    else
      note(complete);
  }
  std::size_t kept = 0;
  auto first = runs_.end();
  while (first != runs_.begin() && kept < window)
    for (const Comparable& each : comparables(*--first)) kept += each.control.size();
  runs_.erase(runs_.begin(), first);
  runs_.reserve(window + 1);
  runs_.emplace_back().number = number;
}

void Ratios::add(std::uint64_t run, bool control, Duration length, std::uint32_t groups) {
  if (runs_.empty() || runs_.back().number != run) begin_run(run);
  Run& latest = runs_.back();
  const Length value{static_cast<double>(length.count()), groups};
  if (control)
    latest.control.add_first(value);
  else if (latest.control.seen == 0)
    latest.before.add_latest(value);
  else
    latest.after.add_first(value);
}

void Ratios::note(const Few<Comparable, most_in_run>& run) {
  Few<double, most_in_run * 2 * most_around> ratios;
  std::uint32_t controls = 0, fills = 0;
  for (const Comparable& each : run) {
    each.append_to(ratios);
    controls += static_cast<std::uint32_t>(each.control.size());
    fills += static_cast<std::uint32_t>(each.filled.size());
  }
  many_.add(median(ratios.values.data(), ratios.values.data() + ratios.size()) - 1, controls, fills);
}

std::optional<Slowdown> Ratios::over_many_runs(double error, double interval) const {
  const std::optional<MeanOfRuns> mean = many_.mean(error);
  if (!mean) return std::nullopt;
  const double beyond = students_t(interval, mean->freedom) * mean->error;
  return Slowdown{mean->estimate, mean->estimate - beyond, mean->estimate + beyond, mean->control, mean->filled,
                  mean->runs};
}

void Ratios::forget_filled() {
  many_.forget();
  if (runs_.empty()) return;
  runs_.erase(runs_.begin(), runs_.end() - 1);
  runs_.back().before = {};
  runs_.back().after = {};
}

std::optional<Slowdown> Ratios::slowdown(double interval) const {
  Few<double, most_ratios> all;
  Slowdown result;
  double variance = 0;
  for (const Run& run : runs_) {
    const auto compared = comparables(run);
    for (const Comparable& each : compared) {
      each.append_to(all);
      const std::size_t controls = each.control.size(), fills = each.filled.size();
      variance += static_cast<double>(controls * fills * (controls + fills + 1)) / 12;
      result.control += static_cast<std::uint32_t>(controls);
      result.filled += static_cast<std::uint32_t>(fills);
    }
    if (!compared.empty()) ++result.runs;
  }
  // So many ratios are on each side of the interval, and one.
  const double outside = std::floor(static_cast<double>(all.size()) / 2 - interval * std::sqrt(variance));
  if (outside < 1) return std::nullopt;
  double *const first = all.values.data(), *const last = first + all.size();
  const auto nth = [&](std::size_t index) {
    std::nth_element(first, first + index, last);
    return first[index];
  };
  const auto edge = static_cast<std::size_t>(outside) - 1;
  WEFT_DCHECK(edge < all.size() / 2);
  result.estimate = median(first, last) - 1;
  result.low = nth(edge) - 1;
  result.high = nth(all.size() - 1 - edge) - 1;
  return result;
}

}  // namespace weft
