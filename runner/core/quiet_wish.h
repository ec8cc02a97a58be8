// That somebody in the core waits for a quiet moment of the training, which the hooks then tell of.
//
// Threads of the main job inside the core's services; those of two devices may come at the same time. Wishes are
// counted: the hooks tell of quiet moments while there is one.
#pragma once

#include <mutex>
#include <utility>

#include "runner/core/core_context.h"

namespace weft {

class QuietWish {
 public:
  explicit QuietWish(CoreContext& core) : core_(core) {}
  ~QuietWish() { set(false); }
  QuietWish(const QuietWish&) = delete;
  QuietWish& operator=(const QuietWish&) = delete;

  void set(bool wanted) {
    if (std::exchange(is_set_, wanted) == wanted) return;
    const std::lock_guard lock(core_.quiet_mutex);  // so that the hooks hear last of the latest count
    if (wanted && ++core_.quiet_wishes == 1) core_.shim.want_quiet_moments(true);
    if (!wanted && --core_.quiet_wishes == 0) core_.shim.want_quiet_moments(false);
  }
  bool is_set() const { return is_set_; }

 private:
  CoreContext& core_;
  bool is_set_ = false;
};

}  // namespace weft
