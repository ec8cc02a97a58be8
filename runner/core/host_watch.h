// Whether the host does anything that the shim can see: calls that hooks note, or launches. Between two looks at least.
//
// Used by the dispatcher thread only; reads counters of the shim. Where it has none, or not all launches are counted,
// the host is never still.
#pragma once

#include <cstdint>
#include <optional>

#include "detector/event.h"
#include "shim/seam/core_interface.h"

namespace weft {

class HostWatch {
 public:
  HostWatch(const ShimServices& shim, int device) : shim_(shim), device_(device) {}

  // At each look; `noted`: there were events since the last one. The host has become still, or acts again; nothing: it
  // goes on as it did.
  std::optional<EventKind> look(bool noted) {
    std::uint32_t launches = 0;
    const bool known = shim_.launches_on != nullptr && shim_.launches_on(device_, &launches);
    const bool still = known && !noted && has_looked_ && launches == launches_;
    launches_ = launches;
    has_looked_ = known;
    if (still == still_) return std::nullopt;
    still_ = still;
    return still ? EventKind::host_still : EventKind::host_acts;
  }

 private:
  const ShimServices& shim_;
  const int device_;
  std::uint32_t launches_ = 0;
  bool has_looked_ = false;
  bool still_ = false;
};

}  // namespace weft
