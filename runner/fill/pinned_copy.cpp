// See the header.
#include "runner/fill/pinned_copy.h"

#include <algorithm>
#include <cstring>

#include "runner/core/pinned.h"
#include "runner/fill/host_memory.h"
#include "runner/options/quantity.h"

namespace weft {
namespace {

constexpr std::uint64_t touched_at_once = std::uint64_t{64} << 20;

}  // namespace

PinnedCopy::PinnedCopy(const Driver& driver, std::uint64_t bytes, Available available)
    : driver_(driver), bytes_(bytes), address_(static_cast<std::byte*>(map_pages(bytes))) {
  try {
    touch(available);
    register_pages(driver, address_, bytes);
  } catch (...) {
    give_pages_back(driver, address_, bytes);
    throw;
  }
}

void PinnedCopy::touch(Available available) const {
  for (std::uint64_t first = 0; first < bytes_; first += touched_at_once) {
    const auto left = available();
    if (left && !copy_is_small(bytes_, first, *left))
      throw SetUpError(mebibytes(bytes_) + " pinned for it would be more than a quarter of the " +
                       mebibytes(*left + first) + " of host memory that are available");
    std::memset(address_ + first, 0, std::min(touched_at_once, bytes_ - first));
  }
}

PinnedCopy::~PinnedCopy() {
  give_pages_back(driver_, address_, bytes_);
}

}  // namespace weft
