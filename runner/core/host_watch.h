// Whether the host does anything that the shim can see: calls that hooks note, or launches. Between two looks at least.
//
// Used by the dispatcher thread only; reads counters of the shim. Where it has none (`launches_on` is not there) the
// host is never still.
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
    if (shim_.launches_on == nullptr) return std::nullopt;
    const std::uint32_t launches = shim_.launches_on(device_);
    const bool still = !noted && has_looked_ && launches == launches_;
    launches_ = launches;
    has_looked_ = true;
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
