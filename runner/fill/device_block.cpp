// Mapping a block of device memory and giving it back; see the header.
#include "runner/fill/device_block.h"

#include <pthread.h>

#include <atomic>

#include "runner/clock.h"
#include "runner/own_thread.h"

namespace weft {

// Shared with the thread, which may outlive the block.
struct DeviceBlock::Unmapping {
  explicit Unmapping(const DeviceBlock& block)
      : driver(block.driver_), context(block.context_), address(block.address_), bytes(block.bytes_) {}

  void run() {
    pthread_setname_np(pthread_self(), "weft-memory");
    CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;
    driver.cuThreadExchangeStreamCaptureMode(&mode);
    driver.cuCtxSetCurrent(context);
    done.store(driver.cuMemUnmap(address, bytes) == CUDA_SUCCESS, std::memory_order_release);
  }

  const Driver driver;
  const CUcontext context;
  const CUdeviceptr address;
  const std::uint64_t bytes;
  std::atomic<bool> done{false};  // stays so where the driver refused
};

namespace {

CUmemAllocationProp properties_on(CUdevice device) {
  CUmemAllocationProp properties{};
  properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  properties.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  properties.location.id = device;
  return properties;
}

}  // namespace

DeviceBlock::DeviceBlock(const Driver& driver, std::uint64_t bytes) : driver_(driver), bytes_(bytes) {
  try {
    map();
  } catch (...) {
    release();
    throw;
  }
}

void DeviceBlock::map() {
  CUdevice device{};
  check(driver_, driver_.cuCtxGetCurrent(&context_), "cuCtxGetCurrent");
  check(driver_, driver_.cuCtxGetDevice(&device), "cuCtxGetDevice");
  const CUmemAllocationProp properties = properties_on(device);
  std::size_t unit = 0;
  check(driver_, driver_.cuMemGetAllocationGranularity(&unit, &properties, CU_MEM_ALLOC_GRANULARITY_MINIMUM),
        "cuMemGetAllocationGranularity");
  bytes_ = (bytes_ + unit - 1) / unit * unit;
  check(driver_, driver_.cuMemAddressReserve(&address_, bytes_, 0, 0, 0), "cuMemAddressReserve");
  CUmemGenericAllocationHandle memory{};
  check(driver_, driver_.cuMemCreate(&memory, bytes_, &properties, 0), "cuMemCreate");
  const CUresult result = driver_.cuMemMap(address_, bytes_, 0, memory, 0);
  mapped_ = result == CUDA_SUCCESS;
  // The mapping alone keeps the memory from now on: to end it is all there is to do later.
  driver_.cuMemRelease(memory);
  check(driver_, result, "cuMemMap");
  const CUmemAccessDesc access{properties.location, CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
  check(driver_, driver_.cuMemSetAccess(address_, bytes_, &access, 1), "cuMemSetAccess");
}

std::uint64_t DeviceBlock::held() const {
  const bool unmapped = unmapping_ != nullptr && unmapping_->done.load(std::memory_order_acquire);
  return address_ == 0 || unmapped ? 0 : bytes_;
}

bool DeviceBlock::give_back(Duration limit) noexcept {
  if (mapped_ && !start_unmapping()) return false;
  return wait_at_most(limit, [this] { return held() == 0; });
}

bool DeviceBlock::start_unmapping() noexcept {
  try {
    unmapping_ = std::make_shared<Unmapping>(*this);
  } catch (...) {
    return false;  // no host memory for it
  }
  mapped_ = !start_own_thread([unmapping = unmapping_] { unmapping->run(); });
  if (mapped_) unmapping_ = nullptr;
  return !mapped_;
}

void DeviceBlock::release() noexcept {
  if (address_ == 0) return;
  const bool unmapped = unmapping_ == nullptr ? !mapped_ || driver_.cuMemUnmap(address_, bytes_) == CUDA_SUCCESS
                                              : unmapping_->done.load(std::memory_order_acquire);
  if (unmapped) driver_.cuMemAddressFree(address_, bytes_);
  mapped_ = false;
  address_ = 0;
}

}  // namespace weft
