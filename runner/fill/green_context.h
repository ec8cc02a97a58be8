// A green context of the device's primary context, with the resources that it is made of.
//
// Made and destroyed on a thread of Weft's inside the core's services, or in the fill probe, with the context of the
// device current. It holds the primary context until it is destroyed.
#pragma once

#include <cuda.h>

#include "runner/core/driver.h"

namespace weft {

class GreenContext {
 public:
  explicit GreenContext(const Driver& driver) : driver_(driver) {}
  ~GreenContext() { destroy(); }  // nothing of it is in flight
  GreenContext(const GreenContext&) = delete;
  GreenContext& operator=(const GreenContext&) = delete;

  // A resource of the device, to make one from. Throws SetUpError, here and below, where the driver has no such thing
  // or the main job does not use the primary context.
  CUdevResource resource(int device, CUdevResourceType type);
  void make(int device, CUdevResource resource);
  CUgreenCtx get() const { return context_; }
  // Once, or again.
  void destroy() noexcept;

 private:
  CUdevice usable(int device) const;

  const Driver& driver_;
  CUgreenCtx context_ = nullptr;
};

}  // namespace weft
