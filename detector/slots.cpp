// See slots.h.
#include "detector/slots.h"

#include <algorithm>
#include <array>
#include <span>

namespace weft {
namespace {

constexpr std::size_t fewest_samples = 2;
constexpr std::ptrdiff_t samples_of_change = 3;
constexpr std::size_t most_samples = 64;
constexpr int most_steps = 16;  // to a slot that stands in for another one

// The next length of n + 1 alike is below the k-th of the others in k of n + 1 cases; between two of them it is taken
// to go up evenly. With few samples the quantiles are the extremes.
Duration quantile_of(std::span<const Duration> sorted, double share) {
  const double last = static_cast<double>(sorted.size() - 1);
  const double place = std::clamp(share * static_cast<double>(sorted.size() + 1) - 1, 0.0, last);
  const auto below = static_cast<std::size_t>(place);
  if (below + 1 == sorted.size()) return sorted[below];
  const double part = place - static_cast<double>(below);
  return sorted[below] +
         Duration{static_cast<std::int64_t>(part * static_cast<double>((sorted[below + 1] - sorted[below]).count()))};
}

}  // namespace

Slots::Table* Slots::find(std::uint32_t number) {
  if (number == 0) return nullptr;
  for (Table& table : tables_)
    if (table.number == number) return &table;
  return nullptr;
}

std::uint32_t Slots::table_for(std::uint64_t key, std::uint32_t period) {
  ++uses_;
  Table* oldest = &tables_[0];
  for (Table& table : tables_) {
    if (table.number != 0 && table.key == key && table.place.size() == period) {
      table.used = uses_;
      return table.number;
    }
    if (table.used < oldest->used) oldest = &table;
  }
  *oldest = Table{};
  oldest->number = ++last_number_;
  oldest->key = key;
  oldest->used = uses_;
  oldest->place.assign(period, 0);
  return oldest->number;
}

void Slots::add(std::uint32_t number, std::int32_t ordinal, Duration length, std::uint32_t piece) {
  Table* table = find(number);
  if (table == nullptr || ordinal < 0 || static_cast<std::size_t>(ordinal) >= table->place.size()) return;
  std::uint32_t& place = table->place[static_cast<std::size_t>(ordinal)];
  if (place == 0) {
    table->lengths.emplace_back();
    place = static_cast<std::uint32_t>(table->lengths.size());
  }
  Pieces& pieces = table->lengths[place - 1];
  Lengths& lengths = pieces[std::min<std::size_t>(piece, pieces.size() - 1)];
  std::vector<Duration>& latest = lengths.latest;
  if (lengths.seen == 0) latest.reserve(std::min(history_, most_samples));
  if (lengths.seen++ < warm_up_) return;
  if (latest.size() == std::min(history_, most_samples)) latest.erase(latest.begin());
  latest.push_back(length);
  forget_before_change(latest);
}

// All of the latest few are longer than any before, or shorter: what was before counts no more. Among lengths that are
// alike that happens to one in a hundred of those that are full, or less often.
void Slots::forget_before_change(std::vector<Duration>& lengths) {
  if (lengths.size() < 2 * static_cast<std::size_t>(samples_of_change)) return;
  const auto change = lengths.end() - samples_of_change;
  const auto [least, most] = std::minmax_element(lengths.begin(), change);
  const auto [least_now, most_now] = std::minmax_element(change, lengths.end());
  if (*least_now > *most || *most_now < *least) lengths.erase(lengths.begin(), change);
}

void Slots::stand_in(std::uint32_t number, std::int32_t ordinal, std::int32_t earlier) {
  Table* table = find(number);
  if (table == nullptr || ordinal < 0 || earlier < 0) return;
  const auto place = static_cast<std::size_t>(ordinal);
  if (place >= table->place.size()) return;
  if (place >= table->earlier.size()) table->earlier.resize(place + 1, -1);
  table->earlier[place] = earlier;
}

const Slots::Lengths* Slots::lengths_of(const Table& table, std::int32_t ordinal, std::size_t piece) {
  if (ordinal < 0 || static_cast<std::size_t>(ordinal) >= table.place.size()) return nullptr;
  const std::uint32_t place = table.place[static_cast<std::size_t>(ordinal)];
  if (place == 0) return nullptr;
  const Lengths& lengths = table.lengths[place - 1][piece];
  return lengths.latest.size() < fewest_samples ? nullptr : &lengths;
}

// Of this slot, or of the nearest one that stands in for it.
const Slots::Lengths* Slots::best_known(const Table& table, std::int32_t ordinal, std::size_t piece) {
  const Lengths* lengths = lengths_of(table, ordinal, piece);
  for (int step = 0; lengths == nullptr && step < most_steps; ++step) {
    if (ordinal < 0 || static_cast<std::size_t>(ordinal) >= table.earlier.size()) return nullptr;
    ordinal = table.earlier[static_cast<std::size_t>(ordinal)];
    lengths = lengths_of(table, ordinal, piece);
  }
  return lengths;
}

std::optional<Forecast> Slots::forecast(std::uint32_t number, std::int32_t ordinal, std::uint32_t piece) const {
  const Table* table = find(number);
  if (table == nullptr) return std::nullopt;
  std::size_t known = std::min<std::size_t>(piece, std::tuple_size_v<Pieces> - 1);
  const Lengths* lengths = best_known(*table, ordinal, known);
  while (lengths == nullptr && known > 0) lengths = best_known(*table, ordinal, --known);
  if (lengths == nullptr) return std::nullopt;
  const std::vector<Duration>& latest = lengths->latest;
  const std::size_t n = latest.size();
  std::array<Duration, most_samples> sorted;
  std::copy(latest.begin(), latest.end(), sorted.begin());
  std::sort(sorted.begin(), sorted.begin() + static_cast<std::ptrdiff_t>(n));
  const auto quantile = [&](double share) { return quantile_of({sorted.data(), n}, share); };
  return table->calibration.apply(Forecast{quantile(0.1), quantile(0.5), quantile(0.9), static_cast<std::uint32_t>(n)});
}

void Slots::compare(std::uint32_t number, const Forecast& forecast, Duration length) {
  if (Table* const table = find(number)) table->calibration.learn(forecast, length);
}

}  // namespace weft
