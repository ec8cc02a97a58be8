// See slots.h.
#include "detector/slots.h"

#include <algorithm>
#include <array>

namespace weft {
namespace {

constexpr std::size_t fewest_samples = 2;
constexpr std::size_t most_samples = 64;

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

void Slots::add(std::uint32_t number, std::int32_t ordinal, Duration length) {
  Table* table = find(number);
  if (table == nullptr || ordinal < 0 || static_cast<std::size_t>(ordinal) >= table->place.size()) return;
  std::uint32_t& place = table->place[static_cast<std::size_t>(ordinal)];
  if (place == 0) {
    table->lengths.emplace_back();
    place = static_cast<std::uint32_t>(table->lengths.size());
  }
  Lengths& lengths = table->lengths[place - 1];
  if (lengths.seen++ < warm_up_) return;
  if (lengths.latest.size() < std::min(history_, most_samples))
    lengths.latest.push_back(length);
  else
    lengths.latest[(lengths.seen - warm_up_ - 1) % lengths.latest.size()] = length;
}

std::optional<Forecast> Slots::forecast(std::uint32_t number, std::int32_t ordinal) const {
  const Table* table = find(number);
  if (table == nullptr || ordinal < 0 || static_cast<std::size_t>(ordinal) >= table->place.size()) return std::nullopt;
  const std::uint32_t place = table->place[static_cast<std::size_t>(ordinal)];
  if (place == 0) return std::nullopt;
  const std::vector<Duration>& latest = table->lengths[place - 1].latest;
  const std::size_t n = latest.size();
  if (n < fewest_samples) return std::nullopt;
  std::array<Duration, most_samples> sorted;
  std::copy(latest.begin(), latest.end(), sorted.begin());
  std::sort(sorted.begin(), sorted.begin() + static_cast<std::ptrdiff_t>(n));
  // With few samples the quantiles are the extremes; the median is the lower one of two.
  return Forecast{sorted[n / 10], sorted[(n - 1) / 2], sorted[n - 1 - n / 10], static_cast<std::uint32_t>(n)};
}

}  // namespace weft
