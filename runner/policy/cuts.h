// A unit's work cut into slices of several lengths: which consecutive nodes are launched together. Pure: lengths in,
// ranges out.
//
// Used while a fill job is prepared, and by the model of a rank in virtual time. The cuts are nested: a longer slice is
// made of whole shorter ones, so that few graphs are needed. It may begin where it begins and nowhere else; between,
// the shorter ones lead to where it begins again.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace weft {

struct SliceRange {
  std::size_t first = 0;  // node
  std::size_t count = 0;
  friend bool operator==(const SliceRange&, const SliceRange&) = default;
};

// The lengths of slices, where the longest are to take so long: short ones for the end of a bubble, long ones before
// it. A tenth is kept free for what the timing of single nodes does not see.
std::array<std::chrono::nanoseconds, 3> slice_lengths(std::chrono::nanoseconds longest);

class Cuts {
 public:
  static constexpr std::size_t most = 4;            // lengths
  static constexpr std::size_t most_slices = 4096;  // of a length; where there would be more it is left out

  // `caps`: of the lengths of slices, ascending, at most `most`. Greedy from the front: a slice takes shorter ones, the
  // shortest takes nodes, while their sum stays within the cap. A node longer than a cap is a slice of its own. None
  // reaches across a fence: the number of a node that is the first of its slices.
  Cuts() = default;
  Cuts(std::span<const std::chrono::nanoseconds> nodes, std::span<const std::chrono::nanoseconds> caps,
       std::span<const std::size_t> fences = {});

  // Each slice of any length, once. The shortest ones come first and in order.
  const std::vector<SliceRange>& slices() const { return slices_; }
  // The numbers of those that begin at this node, shortest first; at least one where the shortest ones begin.
  std::span<const std::uint32_t> from(std::size_t node) const {
    return std::span(from_).subspan(begins_[node], begins_[node + 1] - begins_[node]);
  }
  std::size_t nodes() const { return begins_.size() - 1; }
  // The nodes that a unit may run more than once before it goes on to what is behind them; fences stand around them.
  // None: count is 0.
  void set_pass(const SliceRange& pass) { pass_ = pass; }
  const SliceRange& pass() const { return pass_; }
  // For each length the numbers of the slices that make up the whole unit.
  const std::vector<std::vector<std::uint32_t>>& sequences() const { return sequences_; }

 private:
  std::vector<SliceRange> slices_;
  std::vector<std::vector<std::uint32_t>> sequences_;
  SliceRange pass_{};
  std::vector<std::uint32_t> from_, begins_{0};  // of node n: from_[begins_[n]] and up to begins_[n + 1]
};

}  // namespace weft
