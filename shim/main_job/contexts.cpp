// Contexts of the main job; see contexts.h.
#include "shim/main_job/contexts.h"

#include "shim/activate.h"
#include "shim/caller.h"
#include "shim/main_job/devices.h"
#include "shim/main_job/forget_streams.h"
#include "shim/main_job/stream_questions.h"
#include "shim/markers.h"

namespace weft {
namespace {

constinit std::atomic<std::int32_t> primary_references[most_devices]{};

bool is_known(int device) noexcept {
  return device >= 0 && device < most_devices;
}

}  // namespace

void primary_retained(int device) noexcept {
  if (level() == Level::pass || is_wefts_call() || !is_known(device)) return;
  note_device(device);  // whose default stream may be all that is used of it
  primary_references[device].fetch_add(1, std::memory_order_acq_rel);
}

void primary_released(int device) noexcept {
  if (is_off() || is_wefts_call() || !is_known(device)) return;
  if (primary_references[device].fetch_sub(1, std::memory_order_acq_rel) <= 1) device_closing(device);
}

void device_closing(int device) noexcept {
  if (is_off() || is_wefts_call() || !is_known(device)) return;
  const bool had_words = words_end(device);
  forget_streams_of(device);
  if (!had_words || level() != Level::observe) return;
  CoreCall inside;
  core()->context_closing(device);
}

void context_closing(CUcontext context) noexcept {
  if (is_off() || is_wefts_call()) return;
  for (int device = 0; device < most_devices; ++device) {
    if (may_have_words(device) && context_of(device) == context) device_closing(device);
  }
  forget_streams_of(context);
}

}  // namespace weft
