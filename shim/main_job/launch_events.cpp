// Events that a launch records; see launch_events.h.
#include "shim/main_job/launch_events.h"

#include "shim/main_job/waits.h"

namespace weft {

void launch_recorded(const CUlaunchConfig& config, bool per_thread) noexcept {
  if (level() != Level::observe) return;
  for (unsigned int i = 0; config.attrs != nullptr && i < config.numAttrs; ++i) {
    const CUevent event = event_of(config.attrs[i]);
    if (event != nullptr) event_recorded(event, config.hStream, per_thread);
  }
}

}  // namespace weft
