// See edge_order.h. Sorting is counting throughout: the time is that of a few passes over the edges.
#include "feeder/files/edge_order.h"

#include <algorithm>
#include <bit>
#include <limits>
#include <utility>

namespace weft {
namespace {

template <class Do>
void for_each_below(std::uint64_t count, const StillReading& still_reading, Do act) {
  for (std::uint64_t i = 0; i < count; ++i) {
    if (i % (1 << 20) == 0) still_reading();
    act(i);
  }
}

// Ids that are not much larger than they are many have a bit each; how many are set before one is its number.
class DenseIds {
 public:
  static bool suit(std::int64_t largest, std::uint64_t edges) {
    return static_cast<std::uint64_t>(largest) / 64 <= edges + (1 << 16);
  }
  explicit DenseIds(std::int64_t largest) : words_(static_cast<std::uint64_t>(largest) / 64 + 1) {}

  void add(std::int64_t id) {
    words_[static_cast<std::uint64_t>(id) / 64] |= std::uint64_t{1} << static_cast<std::uint64_t>(id) % 64;
  }
  std::vector<std::int64_t> sorted(const StillReading& still_reading) {
    std::vector<std::int64_t> ids;
    before_.resize(words_.size());
    for_each_below(words_.size(), still_reading, [&](std::uint64_t word) {
      before_[word] = ids.size();
      for (std::uint64_t left = words_[word]; left != 0; left &= left - 1)
        ids.push_back(static_cast<std::int64_t>(word * 64) + std::countr_zero(left));
    });
    return ids;
  }
  std::uint64_t number_of(std::int64_t id) const {
    const std::uint64_t word = static_cast<std::uint64_t>(id) / 64, bit = static_cast<std::uint64_t>(id) % 64;
    return before_[word] + static_cast<std::uint64_t>(std::popcount(words_[word] & ((std::uint64_t{1} << bit) - 1)));
  }

 private:
  std::vector<std::uint64_t> words_, before_;
};

// Ascending, by sixteen bits at a time from the lowest on. A part that is the same in all is passed over.
void sort(std::vector<std::int64_t>& ids, const StillReading& still_reading) {
  constexpr std::uint64_t digits = 1 << 16;
  std::vector<std::int64_t> other(ids.size());
  for (int shift = 0; shift < 64; shift += 16) {
    const auto digit = [shift](std::int64_t id) { return static_cast<std::uint64_t>(id) >> shift & (digits - 1); };
    std::vector<std::uint64_t> next(digits + 1);
    for_each_below(ids.size(), still_reading, [&](std::uint64_t i) { ++next[digit(ids[i]) + 1]; });
    if (std::ranges::find(next, ids.size()) != next.end()) continue;
    for (std::uint64_t i = 1; i <= digits; ++i) next[i] += next[i - 1];
    for_each_below(ids.size(), still_reading, [&](std::uint64_t i) { other[next[digit(ids[i])]++] = ids[i]; });
    ids.swap(other);
  }
}

// Ids of any size are sorted. One is looked for among those that begin with the same bits.
class SparseIds {
 public:
  SparseIds(const UnorderedEdges& edges, const StillReading& still_reading) {
    ids_.reserve(edges.sources.size() * 2);
    ids_.assign(edges.sources.begin(), edges.sources.end());
    ids_.insert(ids_.end(), edges.targets.begin(), edges.targets.end());
    sort(ids_, still_reading);
    ids_.erase(std::unique(ids_.begin(), ids_.end()), ids_.end());
    const auto width = static_cast<unsigned>(std::bit_width(static_cast<std::uint64_t>(ids_.back())));
    const auto kept = static_cast<unsigned>(std::bit_width(ids_.size()));
    shift_ = width > kept ? width - kept : 0;
    begins_.assign((static_cast<std::uint64_t>(ids_.back()) >> shift_) + 2, 0);
    for_each_below(ids_.size(), still_reading, [&](std::uint64_t i) { ++begins_[begin_of(ids_[i]) + 1]; });
    for (std::uint64_t i = 1; i < begins_.size(); ++i) begins_[i] += begins_[i - 1];
  }
  const std::vector<std::int64_t>& sorted() const { return ids_; }
  std::uint64_t number_of(std::int64_t id) const {
    const auto at = [&](std::uint64_t place) { return ids_.begin() + static_cast<std::int64_t>(place); };
    const std::uint64_t begin = begin_of(id);
    const auto found = std::lower_bound(at(begins_[begin]), at(begins_[begin + 1]), id);
    return static_cast<std::uint64_t>(found - ids_.begin());
  }

 private:
  std::uint64_t begin_of(std::int64_t id) const { return static_cast<std::uint64_t>(id) >> shift_; }

  std::vector<std::int64_t> ids_;
  std::vector<std::uint64_t> begins_;  // of those with the same first bits, and the end
  unsigned shift_ = 0;
};

std::int32_t number(std::uint64_t value) {
  return static_cast<std::int32_t>(value);
}
std::size_t place(std::int32_t value) {
  return static_cast<std::size_t>(value);
}

struct NumberedEdges {
  std::vector<std::int32_t> sources, targets;
};

template <class Ids>
NumberedEdges numbered(const Ids& ids, UnorderedEdges& edges, const StillReading& still_reading) {
  const auto of = [&](std::vector<std::int64_t>& from) {
    std::vector<std::int32_t> made(from.size());
    for_each_below(from.size(), still_reading, [&](std::uint64_t i) { made[i] = number(ids.number_of(from[i])); });
    from = {};
    return made;
  };
  NumberedEdges made;
  made.sources = of(edges.sources);
  made.targets = of(edges.targets);
  return made;
}

// Of each key the place of its first item when they are sorted by key, and at the end how many there are.
std::vector<std::int32_t> first_places(const std::vector<std::int32_t>& keys, std::size_t key_count,
                                       const StillReading& still_reading) {
  std::vector<std::int32_t> places(key_count + 1);
  for_each_below(keys.size(), still_reading, [&](std::uint64_t i) { ++places[place(keys[i]) + 1]; });
  for (std::size_t key = 0; key < key_count; ++key) places[key + 1] += places[key];
  return places;
}

// All but the ids: sorted by source, then by target, which leaves equal targets in the order of their sources; and
// back.
void sort_edges(const NumberedEdges& edges, const std::vector<float>& values, EdgeList& list,
                const StillReading& still_reading) {
  const std::size_t count = edges.sources.size(), vertices = list.ids.size();
  list.out_offsets = first_places(edges.sources, vertices, still_reading);
  list.offsets = first_places(edges.targets, vertices, still_reading);
  list.degrees.resize(vertices);
  for (std::size_t v = 0; v < vertices; ++v) list.degrees[v] = list.out_offsets[v + 1] - list.out_offsets[v];

  std::vector<std::int32_t> by_source(count), next = list.out_offsets;
  for_each_below(count, still_reading,
                 [&](std::uint64_t i) { by_source[place(next[place(edges.sources[i])]++)] = number(i); });
  list.sources.resize(count);
  list.values.resize(values.size());
  next = list.offsets;
  for_each_below(count, still_reading, [&](std::uint64_t i) {
    const std::size_t from = place(by_source[i]), to = place(next[place(edges.targets[from])]++);
    list.sources[to] = edges.sources[from];
    if (!values.empty()) list.values[to] = values[from];
  });
  list.out_targets.resize(count);
  list.out_numbers = std::move(by_source);
  next = list.out_offsets;
  std::size_t target = 0;
  for_each_below(count, still_reading, [&](std::uint64_t i) {
    while (i >= place(list.offsets[target + 1])) ++target;
    const std::size_t to = place(next[place(list.sources[i])]++);
    list.out_targets[to] = number(target);
    list.out_numbers[to] = number(i);
  });
}

}  // namespace

EdgeList in_order(UnorderedEdges unordered, const StillReading& still_reading) {
  EdgeList list;
  NumberedEdges edges;
  const std::int64_t largest =
      std::max(*std::ranges::max_element(unordered.sources), *std::ranges::max_element(unordered.targets));
  if (DenseIds::suit(largest, unordered.sources.size())) {
    DenseIds ids(largest);
    for (const std::vector<std::int64_t>* const side : {&unordered.sources, &unordered.targets})
      for_each_below(side->size(), still_reading, [&](std::uint64_t i) { ids.add((*side)[i]); });
    list.ids = ids.sorted(still_reading);
    edges = numbered(ids, unordered, still_reading);
  } else {
    const SparseIds ids(unordered, still_reading);
    list.ids = ids.sorted();
    edges = numbered(ids, unordered, still_reading);
  }
  if (list.ids.size() <= std::numeric_limits<std::int32_t>::max())
    sort_edges(edges, unordered.values, list, still_reading);
  return list;
}

}  // namespace weft
