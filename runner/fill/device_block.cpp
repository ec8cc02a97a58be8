// Mapping a block of device memory, giving it back and fetching it again; see the header.
#include "runner/fill/device_block.h"

#include <pthread.h>

#include <algorithm>
#include <atomic>

#include "runner/own_thread.h"

namespace weft {
namespace {

// `mapping` and `unmapping`: a thread is at it. `stuck`: the driver refused to unmap it.
enum class State : std::uint8_t { unmapped, mapping, mapped, unmapping, stuck };

CUmemAllocationProp properties_here(const Driver& driver) {
  CUdevice device{};
  check(driver, driver.cuCtxGetDevice(&device), "cuCtxGetDevice");
  CUmemAllocationProp properties{};
  properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  properties.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  properties.location.id = device;
  return properties;
}

std::uint64_t granularity_of(const Driver& driver, const CUmemAllocationProp& properties) {
  std::size_t unit = 0;
  check(driver, driver.cuMemGetAllocationGranularity(&unit, &properties, CU_MEM_ALLOC_GRANULARITY_MINIMUM),
        "cuMemGetAllocationGranularity");
  return unit;
}

}  // namespace

// The addresses, and the physical memory behind them. The last one that has it frees the addresses.
struct DeviceBlock::Pages {
  Pages(const Driver& functions, std::uint64_t wanted) : driver(functions), properties(properties_here(functions)) {
    check(driver, driver.cuCtxGetCurrent(&context), "cuCtxGetCurrent");
    const std::uint64_t unit = granularity_of(driver, properties);
    bytes = (wanted + unit - 1) / unit * unit;
    check(driver, driver.cuMemAddressReserve(&address, bytes, 0, 0, 0), "cuMemAddressReserve");
  }
  ~Pages() {
    if (state == State::unmapped) driver.cuMemAddressFree(address, bytes);
  }
  Pages(const Pages&) = delete;
  Pages& operator=(const Pages&) = delete;

  // The first call that failed; where one did, nothing is mapped.
  struct Result {
    CUresult result = CUDA_SUCCESS;
    const char* call = "";
  };
  Result map() noexcept {
    CUmemGenericAllocationHandle memory{};
    Result last{driver.cuMemCreate(&memory, bytes, &properties, 0), "cuMemCreate"};
    if (last.result == CUDA_SUCCESS) {
      last = {driver.cuMemMap(address, bytes, 0, memory, 0), "cuMemMap"};
      // The mapping alone keeps the memory from now on: to end it is all there is to do later.
      driver.cuMemRelease(memory);
    }
    if (last.result != CUDA_SUCCESS) {
      state.store(State::unmapped, std::memory_order_release);
      return last;
    }
    const CUmemAccessDesc access{properties.location, CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
    last = {driver.cuMemSetAccess(address, bytes, &access, 1), "cuMemSetAccess"};
    if (last.result != CUDA_SUCCESS) unmap();
    return last;
  }

  void unmap() noexcept {
    const bool done = driver.cuMemUnmap(address, bytes) == CUDA_SUCCESS;
    state.store(done ? State::unmapped : State::stuck, std::memory_order_release);
  }

  // The two threads.
  void map_here() noexcept {
    prepare_thread();
    State begun = State::mapping;
    if (map().result != CUDA_SUCCESS) return;
    // Given back meanwhile: undone.
    if (!state.compare_exchange_strong(begun, State::mapped, std::memory_order_acq_rel)) unmap();
  }
  void unmap_here() noexcept {
    prepare_thread();
    unmap();
  }

  void prepare_thread() const noexcept {
    pthread_setname_np(pthread_self(), "weft-memory");
    CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;
    driver.cuThreadExchangeStreamCaptureMode(&mode);
    driver.cuCtxSetCurrent(context);
  }

  const Driver driver;
  const CUmemAllocationProp properties;
  CUcontext context = nullptr;
  CUdeviceptr address = 0;
  std::uint64_t bytes = 0;
  std::atomic<State> state{State::unmapped};
};

DeviceBlock::DeviceBlock(const Driver& driver, std::uint64_t bytes) : pages_(std::make_shared<Pages>(driver, bytes)) {
  const Pages::Result last = pages_->map();
  check(driver, last.result, last.call);
  pages_->state = State::mapped;
}

CUdeviceptr DeviceBlock::address() const {
  return pages_ ? pages_->address : 0;
}

std::uint64_t DeviceBlock::held() const {
  return !pages_ || pages_->state.load(std::memory_order_acquire) == State::unmapped ? 0 : pages_->bytes;
}

bool DeviceBlock::is_mapped() const {
  return pages_ && pages_->state.load(std::memory_order_acquire) == State::mapped;
}

bool DeviceBlock::give_back(Duration limit) noexcept {
  if (!pages_) return true;
  State found = State::mapping;
  pages_->state.compare_exchange_strong(found, State::unmapping);  // where a thread maps it, that thread undoes it
  if (found == State::mapped) {
    pages_->state = State::unmapping;
    if (!start(&Pages::unmap_here)) return pages_->state = State::mapped, false;
  }
  return wait_at_most(limit, [this] { return held() == 0; });
}

bool DeviceBlock::fetch(Duration limit) noexcept {
  if (!pages_) return false;
  const TimePoint deadline = now() + limit;
  const std::atomic<State>& state = pages_->state;
  if (!wait_at_most(limit, [&] { return state.load(std::memory_order_acquire) != State::unmapping; })) return false;
  if (state == State::unmapped) {
    pages_->state = State::mapping;
    if (!start(&Pages::map_here)) return pages_->state = State::unmapped, false;
  }
  wait_at_most(std::max(deadline - now(), Duration{0}), [&] { return state != State::mapping; });
  return is_mapped();
}

bool DeviceBlock::start(void (Pages::*work)() noexcept) noexcept {
  return start_own_thread([pages = pages_, work] { ((*pages).*work)(); });
}

void DeviceBlock::release() noexcept {
  if (!pages_) return;
  State found = State::mapping;
  pages_->state.compare_exchange_strong(found, State::unmapping);
  if (found == State::mapped) pages_->unmap();
  pages_.reset();
}

std::uint64_t granularity_of(const Driver& driver) {
  return granularity_of(driver, properties_here(driver));
}

}  // namespace weft
