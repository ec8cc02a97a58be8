// The reservation of one device. Threads: see the header. Allocating and freeing may wait for the device in the driver.
#include "runner/fill/reservation.h"

#include <algorithm>
#include <cstring>
#include <new>
#include <string>

#include "detector/dcheck.h"
#include "runner/fill/fill_wait.h"
#include "runner/options/quantity.h"

namespace weft {
namespace {

// Of a copy, between two looks at how much host memory there is.
constexpr std::uint64_t copied_at_once = std::uint64_t{64} << 20;

}  // namespace

std::optional<std::uint64_t> BumpAllocator::allocate(std::uint64_t bytes) {
  if (bytes == 0 || bytes > capacity_) return std::nullopt;
  const std::uint64_t rounded = (bytes + alignment - 1) / alignment * alignment;
  const std::uint64_t offset = used_;
  if (bytes > capacity_ - offset) return std::nullopt;
  used_ = rounded > capacity_ - offset ? capacity_ : offset + rounded;
  WEFT_DCHECK(used_ <= capacity_ && offset % alignment == 0);
  return offset;
}

Reservation::Reservation(const Driver& driver, std::uint64_t cap, Available available)
    : driver_(driver), available_(available), bump_(cap) {
  try {
    block_.emplace(driver, cap);
  } catch (const SetUpError& error) {
    throw SetUpError("the reservation of " + mebibytes(cap) + " (WEFT_MEMORY) cannot be made: " + error.what());
  }
}

Reservation::~Reservation() {
  release();
}

CUdeviceptr Reservation::allocate(std::uint64_t bytes) {
  const auto offset = reserved() == 0 ? std::nullopt : bump_.allocate(bytes);
  if (!offset && refused_ == 0) refused_ = bytes;
  // Cleared piece by piece: a job rarely uses the whole cap. Waited for, because the job may use it on any stream.
  if (!offset) return 0;
  const CUdeviceptr address = block_->address() + *offset;
  const bool cleared = driver_.cuMemsetD8Async(address, 0, bytes, stream_) == CUDA_SUCCESS &&
                       dry_within(driver_, stream_, longest_fill_work) == CUDA_SUCCESS;
  return cleared ? address : 0;
}

void* Reservation::allocate_host(std::size_t bytes) {
  void* address = nullptr;
  const unsigned flags = CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP;
  if (bytes == 0 || driver_.cuMemHostAlloc(&address, bytes, flags) != CUDA_SUCCESS) return nullptr;
  std::memset(address, 0, bytes);
  host_.push_back({address, bytes, {}});
  return address;
}

void Reservation::write(CUdeviceptr address, std::span<const std::byte> bytes) {
  finish(driver_.cuMemcpyHtoDAsync_v2(address, bytes.data(), bytes.size(), stream_), "cuMemcpyHtoDAsync");
}

std::uint64_t Reservation::bytes_to_save() const {
  std::uint64_t bytes = bump_.used();
  for (const HostBlock& block : host_) bytes += block.bytes;
  return bytes;
}

// saved_ has the part that is copied so far.
void Reservation::check_host_memory() const {
  const auto available = available_();
  if (!available || copy_is_small(bytes_to_save(), saved_.size(), *available)) return;
  throw SetUpError("a copy of the fill job's " + mebibytes(bytes_to_save()) +
                   ", needed while its unit is timed, would take more than a quarter of the " +
                   mebibytes(*available + saved_.size()) + " of host memory that are available");
}

void Reservation::finish(CUresult enqueued, const char* what) {
  check(driver_, enqueued, what);
  wait_for(driver_, stream_, longest_fill_work);
}

std::uint64_t Reservation::pinned() const {
  std::uint64_t bytes = 0;
  for (const HostBlock& block : host_) bytes += block.bytes;
  return bytes;
}

void Reservation::save() {
  try {
    saved_.clear();
    saved_.reserve(bump_.used());  // addresses only: no page is touched yet
    check_host_memory();
    while (saved_.size() < bump_.used()) {
      const std::uint64_t first = saved_.size(), bytes = std::min(copied_at_once, bump_.used() - first);
      saved_.resize(first + bytes);
      finish(driver_.cuMemcpyDtoHAsync_v2(saved_.data() + first, block_->address() + first, bytes, stream_),
             "cuMemcpyDtoHAsync");
      check_host_memory();
    }
    for (HostBlock& block : host_) {
      const auto* bytes = static_cast<const std::byte*>(block.address);
      block.saved.assign(bytes, bytes + block.bytes);
    }
  } catch (const std::bad_alloc&) {
    throw SetUpError("no host memory for a copy of the fill job's " + mebibytes(bytes_to_save()));
  }
}

void Reservation::restore() {
  if (!saved_.empty())
    finish(driver_.cuMemcpyHtoDAsync_v2(block_->address(), saved_.data(), saved_.size(), stream_), "cuMemcpyHtoDAsync");
  saved_ = {};
  for (HostBlock& block : host_) {
    if (!block.saved.empty()) std::memcpy(block.address, block.saved.data(), block.saved.size());
    block.saved = {};
  }
}

bool Reservation::give_device_back(Duration limit) noexcept {
  return block_->give_back(limit);
}

void Reservation::release() noexcept {
  if (block_) block_->release();
  for (const HostBlock& block : host_) driver_.cuMemFreeHost(block.address);
  host_.clear();
}

}  // namespace weft
