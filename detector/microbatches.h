// How many microbatches have passed: as many as there were transfers on the edge of the pipeline that has had most.
//
// Used by Bounds, one thread, told of each group with sends or receives. A few edges are remembered, so the work per
// group is constant. It is a measure, not an exact number: only differences count.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "detector/event.h"

namespace weft {

class Microbatches {
 public:
  void count(const Event& group);
  std::uint64_t passed() const { return passed_; }

 private:
  // Transfers to or from a rank.
  struct Edge {
    std::uint64_t key = 0;
    std::uint64_t count = 0;
    std::uint64_t used = 0;  // the latest group on it
  };

  void transfer(std::uint64_t key);
  std::size_t place_of(std::uint64_t key) const;

  std::array<Edge, 16> edges_{};
  std::size_t leader_ = 0;
  std::uint64_t groups_ = 0;
  std::uint64_t passed_ = 0;
};

}  // namespace weft
