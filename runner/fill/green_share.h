// The multiprocessors that fill work may use, as a green context: a kernel in it stays off the others, however many
// blocks it has. On an H200, with 8 of 132 kept free, a grid of 16 blocks per multiprocessor ran on 124, as a node of a
// graph too, and NCCL's kernel started 2.7 us later beside it (docs/results).
//
// Made by the first job of a device that needs it, on a thread of Weft's inside the core's services or in the fill
// probe, with the context of the device current; read while units are made ready.
#pragma once

#include <cuda.h>

#include <cstdint>

#include "runner/core/driver.h"
#include "runner/fill/green_context.h"

namespace weft {

class GreenShare {
 public:
  explicit GreenShare(const Driver& driver) : driver_(driver), green_(driver) {}

  // Of all multiprocessors but `reserved`, and those that cannot be parted from them: there are groups, of 8 on compute
  // capability 9.0. Throws SetUpError, and leaves nothing behind, where it cannot be had. Once made it stays.
  void make(int device, std::uint32_t reserved);
  CUcontext context() const { return context_; }  // nullptr: it was not made
  std::uint32_t multiprocessors() const { return multiprocessors_; }
  // Nothing of it is in flight, and no graph that was made for it will run any more.
  void destroy() noexcept;

 private:
  const Driver& driver_;
  GreenContext green_;
  CUcontext context_ = nullptr;
  std::uint32_t multiprocessors_ = 0;
};

}  // namespace weft
