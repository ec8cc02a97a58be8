// The reservation of one device. Threads: see the header. Nothing here may run while a receive spins: allocating and
// freeing wait for the device.
#include "runner/reservation.h"

#include <cstring>
#include <new>
#include <string>

namespace weft {

std::optional<std::uint64_t> BumpAllocator::allocate(std::uint64_t bytes) {
  if (bytes == 0 || bytes > capacity_) return std::nullopt;
  const std::uint64_t rounded = (bytes + alignment - 1) / alignment * alignment;
  const std::uint64_t offset = used_;
  if (bytes > capacity_ - offset) return std::nullopt;
  used_ = rounded > capacity_ - offset ? capacity_ : offset + rounded;
  return offset;
}

Reservation::Reservation(const Driver& driver, std::uint64_t cap) : driver_(driver), bump_(cap) {
  const CUresult result = driver_.cuMemAlloc_v2(&base_, cap);
  if (result != CUDA_SUCCESS) {
    base_ = 0;
    throw SetUpError("the reservation of " + std::to_string(cap >> 20) +
                     " MiB (WEFT_MEMORY) cannot be had: " + driver_.name_of(result));
  }
}

Reservation::~Reservation() {
  release();
}

CUdeviceptr Reservation::allocate(std::uint64_t bytes) {
  const auto offset = base_ == 0 ? std::nullopt : bump_.allocate(bytes);
  if (!offset && refused_ == 0) refused_ = bytes;
  // Cleared piece by piece: a job rarely uses the whole cap. Waited for, because the job may use it on any stream.
  const bool cleared = offset && driver_.cuMemsetD8_v2(base_ + *offset, 0, bytes) == CUDA_SUCCESS &&
                       driver_.cuCtxSynchronize() == CUDA_SUCCESS;
  return cleared ? base_ + *offset : 0;
}

void* Reservation::allocate_host(std::size_t bytes) {
  void* address = nullptr;
  const unsigned flags = CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP;
  if (bytes == 0 || driver_.cuMemHostAlloc(&address, bytes, flags) != CUDA_SUCCESS) return nullptr;
  std::memset(address, 0, bytes);
  host_.push_back({address, bytes, {}});
  return address;
}

void Reservation::save() {
  try {
    saved_.resize(bump_.used());
    for (HostBlock& block : host_) {
      const auto* bytes = static_cast<const std::byte*>(block.address);
      block.saved.assign(bytes, bytes + block.bytes);
    }
  } catch (const std::bad_alloc&) {
    throw SetUpError("no host memory for a copy of the fill job's " + std::to_string(bump_.used() >> 20) + " MiB");
  }
  if (!saved_.empty()) check(driver_, driver_.cuMemcpyDtoH_v2(saved_.data(), base_, saved_.size()), "cuMemcpyDtoH");
}

void Reservation::restore() {
  if (!saved_.empty()) check(driver_, driver_.cuMemcpyHtoD_v2(base_, saved_.data(), saved_.size()), "cuMemcpyHtoD");
  saved_ = {};
  for (HostBlock& block : host_) {
    if (!block.saved.empty()) std::memcpy(block.address, block.saved.data(), block.saved.size());
    block.saved = {};
  }
}

void Reservation::release_device() noexcept {
  if (base_ != 0) driver_.cuMemFree_v2(base_);
  base_ = 0;
}

void Reservation::release() noexcept {
  release_device();
  for (const HostBlock& block : host_) driver_.cuMemFreeHost(block.address);
  host_.clear();
}

}  // namespace weft
