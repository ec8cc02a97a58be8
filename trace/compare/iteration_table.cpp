// See the header.
#include "trace/compare/iteration_table.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <span>

namespace weft {
namespace {

// The same without an interval where there are too few for one.
std::optional<MeasuredShare> share_of(const std::vector<double>& parts, const std::vector<double>& wholes) {
  const double whole = std::accumulate(wholes.begin(), wholes.end(), 0.0);
  if (whole <= 0) return std::nullopt;
  return MeasuredShare{std::accumulate(parts.begin(), parts.end(), 0.0) / whole, known_share(parts, wholes)};
}

std::optional<Interval> drift_of(std::span<const double> lengths) {
  constexpr double worth_saying = 0.01;
  const std::optional<Interval> drift = known_trend(lengths);
  if (!drift || drift->has_zero() || std::abs(drift->value) < worth_saying) return std::nullopt;
  return drift;
}

}  // namespace

void forget_how_far_by_cause(IterationNumbers& numbers) {
  if (numbers.of_no_cause) numbers.of_no_cause->known.reset();
  for (auto& share : numbers.by_cause)
    if (share) share->known.reset();
}

void forget_how_far(IterationNumbers& numbers) {
  if (numbers.length) numbers.length->known.reset();
  if (numbers.mean) numbers.mean->known.reset();
  if (numbers.idle) numbers.idle->known.reset();
  if (numbers.uncertain) numbers.uncertain->known.reset();
  numbers.drift.reset();
  forget_how_far_by_cause(numbers);
}

void IterationSums::add(const IterationSums& other) {
  length += other.length;
  watched += other.watched;
  uncertain += other.uncertain;
  idle += other.idle;
  for (std::size_t cause = 0; cause < by_cause.size(); ++cause) by_cause[cause] += other.by_cause[cause];
  ranks += other.ranks;
}

void IterationTable::add(IterationKey key, const IterationSums& sums) {
  ++all_;
  if (!is_kept(key.second)) return;
  iterations_[key].add(sums);
  thin_out();
}

void IterationTable::add(const IterationTable& other) {
  keep_every(other.every_);
  all_ = std::max(all_, other.all_);
  for (const auto& [key, sums] : other.iterations_)
    if (is_kept(key.second)) iterations_[key].add(sums);
  thin_out();
}

void IterationTable::keep_every(std::uint64_t every) {
  if (every <= every_) return;
  every_ = every;
  std::erase_if(iterations_, [this](const auto& entry) { return !is_kept(entry.first.second); });
}

void IterationTable::thin_out() {
  constexpr std::uint64_t most = std::uint64_t{1} << 62;
  while (iterations_.size() > most_iterations && every_ < most) keep_every(2 * every_);
}

IterationSums* IterationTable::find(IterationKey key) {
  const auto found = iterations_.find(key);
  return found == iterations_.end() ? nullptr : &found->second;
}

IterationNumbers IterationTable::numbers() const {
  std::uint32_t most_ranks = 0;
  for (const auto& [key, sums] : iterations_) most_ranks = std::max(most_ranks, sums.ranks);
  std::vector<double> lengths, watched, uncertain, idle, of_no_cause;
  std::array<std::vector<double>, cause_names.size()> by_cause;
  for (const auto& [key, sums] : iterations_) {
    if (2 * sums.ranks < most_ranks) continue;
    lengths.push_back(sums.length / sums.ranks);
    if (sums.watched <= 0) continue;  // a dark one
    watched.push_back(sums.watched);
    uncertain.push_back(sums.uncertain);
    idle.push_back(sums.idle);
    of_no_cause.push_back(sums.idle - std::accumulate(sums.by_cause.begin(), sums.by_cause.end(), 0.0));
    for (std::size_t cause = 0; cause < by_cause.size(); ++cause) by_cause[cause].push_back(sums.by_cause[cause]);
  }
  IterationNumbers numbers;
  numbers.iterations = lengths.size();
  numbers.all = every_ == 1 ? lengths.size() : all_;
  numbers.every = every_;
  if (lengths.empty()) return numbers;
  std::vector<double> sorted = lengths;
  std::ranges::sort(sorted);
  numbers.length = MeasuredLength{quantile(sorted, 0.5), known_median(lengths)};
  numbers.mean = MeasuredLength{
      std::accumulate(lengths.begin(), lengths.end(), 0.0) / static_cast<double>(lengths.size()), known_mean(lengths)};
  numbers.idle = share_of(idle, watched);
  numbers.uncertain = share_of(uncertain, watched);
  numbers.of_no_cause = share_of(of_no_cause, watched);
  numbers.held_by_two = held_by_two(watched);
  for (std::size_t cause = 0; cause < by_cause.size(); ++cause)
    numbers.by_cause[cause] = share_of(by_cause[cause], watched);
  numbers.drift = drift_of(lengths);
  return numbers;
}

}  // namespace weft
