// Contexts of the main job: when one ends, its streams are forgotten and the core lets go of the device.
//
// Hooks, on the main job's threads, before the real call. May wait inside the core, for a bounded time. Calls of the
// core itself change nothing here.
#pragma once

#include "shim/main_job/devices.h"
#include "shim/routing/vendor.h"

namespace weft {

// The main job holds one more reference to the primary context of the device, or lets go of one: it dies with the last
// of them. (Others only look at it and let go.)
void primary_retained(int device) noexcept;
void primary_released(int device) noexcept;

// The device's own context goes, by whatever name.
void device_closing(int device) noexcept;

// A context goes, the device's own or another one.
void context_closing(CUcontext context) noexcept;

// Around the real calls that make a context beside the primary ones, and destroy it, in hooks.
template <class Call>
CUresult make_context(Call call) noexcept {
  const CUresult result = call();
  if (result == CUDA_SUCCESS) note_context_made();
  return result;
}
template <class Call>
CUresult destroy_context(CUcontext context, Call call) noexcept {
  context_closing(context);
  const CUresult result = call(context);
  if (result == CUDA_SUCCESS) note_context_destroyed();
  return result;
}

}  // namespace weft
