// See cuts.h.
#include "runner/policy/cuts.h"

#include <algorithm>

#include "detector/dcheck.h"

namespace weft {
namespace {

using std::chrono::nanoseconds;

struct Piece {
  SliceRange range;
  nanoseconds length;
};

std::vector<Piece> joined(const std::vector<Piece>& pieces, nanoseconds cap, std::span<const std::size_t> fences) {
  std::vector<Piece> slices;
  for (const Piece& piece : pieces) {
    const bool is_fenced = std::ranges::find(fences, piece.range.first) != fences.end();
    if (slices.empty() || is_fenced || slices.back().length + piece.length > cap) {
      slices.push_back(piece);
      continue;
    }
    slices.back().range.count += piece.range.count;
    slices.back().length += piece.length;
  }
  return slices;
}

}  // namespace

std::array<nanoseconds, 3> slice_lengths(nanoseconds longest) {
  const nanoseconds most = longest * 9 / 10;
  return {most / 12, most / 4, most};
}

Cuts::Cuts(std::span<const nanoseconds> nodes, std::span<const nanoseconds> caps, std::span<const std::size_t> fences) {
  WEFT_DCHECK(!caps.empty() && caps.size() <= most && std::is_sorted(caps.begin(), caps.end()));
  std::vector<std::vector<std::uint32_t>> from(nodes.size());
  std::vector<Piece> pieces;
  for (std::size_t node = 0; node < nodes.size(); ++node) pieces.push_back({{node, 1}, nodes[node]});
  for (const nanoseconds cap : caps) {
    pieces = joined(pieces, cap, fences);
    if (pieces.size() > most_slices && cap != caps.back()) continue;
    std::vector<std::uint32_t>& sequence = sequences_.emplace_back();
    for (const Piece& piece : pieces) {
      std::vector<std::uint32_t>& here = from[piece.range.first];
      if (here.empty() || slices_[here.back()] != piece.range) {
        here.push_back(static_cast<std::uint32_t>(slices_.size()));
        slices_.push_back(piece.range);
      }
      sequence.push_back(here.back());
    }
  }
  begins_ = {0};
  for (const std::vector<std::uint32_t>& here : from) {
    from_.insert(from_.end(), here.begin(), here.end());
    begins_.push_back(static_cast<std::uint32_t>(from_.size()));
  }
}

}  // namespace weft
