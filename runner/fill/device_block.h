// A block of device memory that can be given back at any moment, also next to work of the main job that does not end,
// and fetched again at the same addresses.
//
// Physical memory is mapped at reserved addresses: giving it back is one call, cuMemUnmap, of which nothing says that
// it waits for the device as cuMemFree does, and nothing that it never does; so it is with the calls that map. A thread
// of its own makes them while the caller waits for a bounded time. The functions below are called by one thread at a
// time, inside the core's services; no kernel uses the block when it is given back, nor before it is there again.
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

  CUdeviceptr address() const;
  std::uint64_t held() const;  // bytes of device memory, also while a thread maps or unmaps them; 0: they are back
  bool is_mapped() const;      // and no thread is at it: the memory may be used

  // True: the memory is back, within `limit`. False: it comes back as soon as the driver does it; to be asked again.
  bool give_back(Duration limit) noexcept;
  // True: memory is there again, at the same addresses, with any content. False: not within `limit`, or the device has
  // none; to be asked again, which tries anew where the device had none.
  bool fetch(Duration limit) noexcept;
  // At a quiet time: the memory and its addresses. Waits for whatever the driver waits for; where a thread is at
  // it, that thread frees both at its end.
  void release() noexcept;

 private:
  struct Pages;
  bool start(void (Pages::*work)() noexcept) noexcept;

  std::shared_ptr<Pages> pages_;  // with the thread that is at it, which may outlive the block; nullptr: released
};

// The device of the current context hands out memory in multiples of it. Throws SetUpError.
std::uint64_t granularity_of(const Driver& driver);

}  // namespace weft
