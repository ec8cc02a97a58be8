// A block of device memory that can be given back at any moment, also next to work of the main job that does not end.
//
// Physical memory is mapped at reserved addresses: giving it back is one call, cuMemUnmap, of which nothing says that
// it waits for the device as cuMemFree does, and nothing that it never does. So a thread of its own makes that call
// while the caller waits for a bounded time. Made and given back on threads of the main job inside the core's services;
// no kernel uses the block any more when it is given back.
#pragma once

#include <cuda.h>

#include <cstdint>
#include <memory>

#include "runner/clock.h"
#include "runner/core/driver.h"

namespace weft {

class DeviceBlock {
 public:
  // On the device of the current context, at least `bytes`: rounded up to what the device hands out. Throws SetUpError.
  DeviceBlock(const Driver& driver, std::uint64_t bytes);
  ~DeviceBlock() { release(); }
  DeviceBlock(const DeviceBlock&) = delete;
  DeviceBlock& operator=(const DeviceBlock&) = delete;

  CUdeviceptr address() const { return address_; }
  std::uint64_t held() const;  // bytes of device memory; 0 when they are back

  // True: the memory is back, within `limit`. False: it comes back as soon as the driver does it; to be asked again.
  bool give_back(Duration limit) noexcept;
  // At a quiet time: the memory and its addresses. Waits for whatever the driver waits for.
  void release() noexcept;

 private:
  struct Unmapping;

  void map();
  bool start_unmapping() noexcept;

  const Driver& driver_;
  CUcontext context_ = nullptr;
  CUdeviceptr address_ = 0;
  std::uint64_t bytes_ = 0;
  bool mapped_ = false;                   // and no thread unmaps it
  std::shared_ptr<Unmapping> unmapping_;  // once begun
};

}  // namespace weft
