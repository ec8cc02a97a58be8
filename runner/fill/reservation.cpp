// The reservation of one device. Threads: see the header. Allocating and freeing may wait for the device in the driver.
#include "runner/fill/reservation.h"

#include <algorithm>
#include <cstring>
#include <new>
#include <string>
#include <utility>

#include "detector/dcheck.h"
#include "runner/fill/fill_wait.h"
#include "runner/log.h"
#include "runner/options/quantity.h"

namespace weft {
namespace {

// Of a copy, between two looks at how much host memory there is.
constexpr std::uint64_t copied_at_once = std::uint64_t{64} << 20;
constexpr unsigned pinned_flags = CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP;

std::uint64_t round_up(std::uint64_t bytes, std::uint64_t unit) {
  return (bytes + unit - 1) / unit * unit;
}

}  // namespace

std::optional<std::uint64_t> BumpAllocator::allocate(std::uint64_t bytes) {
  const std::uint64_t end = capacity_ - kept_;
  if (bytes == 0 || bytes > end) return std::nullopt;
  const std::uint64_t rounded = round_up(bytes, alignment);
  const std::uint64_t offset = used_;
  if (bytes > end - offset) return std::nullopt;
  used_ = rounded > end - offset ? end : offset + rounded;
  WEFT_DCHECK(used_ <= capacity_ && offset % alignment == 0);
  return offset;
}

Reservation::Reservation(const Driver& driver, ReservationSizes sizes, Available available)
    : driver_(driver), available_(available), cap_(sizes.cap) {
  try {
    granularity_ = granularity_of(driver);
    const std::uint64_t movable = whole(sizes.movable);
    if (movable != 0 && movable <= cap_) make_movable(movable);
    make(ordinary_, cap_ - movable_.bump.capacity());
  } catch (const SetUpError& error) {
    release();
    throw SetUpError("the reservation of " + mebibytes(cap_) + " (WEFT_MEMORY) cannot be made: " + error.what());
  }
}

Reservation::~Reservation() {
  release();
}

void Reservation::make(Part& part, std::uint64_t bytes) {
  if (bytes == 0) return;
  part.block.emplace(driver_, bytes);
  part.bump = BumpAllocator(bytes);
}

// The copy first: without it the block could not leave.
void Reservation::make_movable(std::uint64_t bytes) {
  try {
    copy_.emplace(driver_, bytes, available_);
  } catch (const SetUpError& error) {
    return log(LogLevel::info, std::string("the memory that the fill job marked (between_bubbles_on_host) stays on the "
                                           "device: ") +
                                   error.what());
  }
  make(movable_, bytes);
}

std::uint64_t Reservation::whole(std::uint64_t bytes) const {
  return round_up(bytes, granularity_);
}

std::optional<CUdeviceptr> Reservation::take(Part& part, std::uint64_t bytes) const {
  const auto offset = !part.block || part.block->held() == 0 ? std::nullopt : part.bump.allocate(bytes);
  return offset ? std::optional(part.block->address() + *offset) : std::nullopt;
}

// Piece by piece: a job rarely uses the whole cap. Waited for, because the job may use it on any stream.
CUdeviceptr Reservation::cleared(CUdeviceptr address, std::uint64_t bytes) const {
  const bool done = driver_.cuMemsetD8Async(address, 0, bytes, stream_) == CUDA_SUCCESS &&
                    dry_within(driver_, stream_, longest_fill_work) == CUDA_SUCCESS;
  return done ? address : 0;
}

CUdeviceptr Reservation::allocate(std::uint64_t bytes) {
  const auto address = take(ordinary_, bytes);
  if (address) return cleared(*address, bytes);
  if (refused_ == 0) refused_ = bytes;
  return 0;
}

CUdeviceptr Reservation::allocate_movable(std::uint64_t bytes) {
  if (movable_.block) {
    const auto address = take(movable_, bytes);
    return address ? cleared(*address, bytes) : allocate(bytes);
  }
  if (bytes == 0 || bytes > cap_) return allocate(bytes);
  const std::uint64_t marked = marked_ + round_up(bytes, BumpAllocator::alignment);
  if (ordinary_.bump.used() - marked_ + whole(marked) <= cap_) {
    marked_ = marked;
    ordinary_.bump.keep(whole(marked) - marked);
  }
  return allocate(bytes);
}

void* Reservation::allocate_host(std::size_t bytes) {
  void* address = nullptr;
  if (bytes == 0 || driver_.cuMemHostAlloc(&address, bytes, pinned_flags) != CUDA_SUCCESS) return nullptr;
  std::memset(address, 0, bytes);
  host_.push_back({address, bytes, {}});
  return address;
}

void Reservation::write(CUdeviceptr address, std::span<const std::byte> bytes) {
  finish(driver_.cuMemcpyHtoDAsync_v2(address, bytes.data(), bytes.size(), stream_), "cuMemcpyHtoDAsync");
}

std::uint64_t Reservation::bytes_to_save() const {
  std::uint64_t bytes = ordinary_.bump.used() + movable_.bump.used();
  for (const HostBlock& block : host_) bytes += block.bytes;
  return bytes;
}

// saved_ has the part that is copied so far, beside the pinned copy.
void Reservation::check_host_memory() const {
  const auto available = available_();
  const std::uint64_t taken = saved_.size() + movable_.bump.capacity();
  if (!available || copy_is_small(bytes_to_save(), taken, *available)) return;
  throw SetUpError("a copy of the fill job's " + mebibytes(bytes_to_save()) +
                   ", needed while its unit is timed, would take more than a quarter of the " +
                   mebibytes(*available + taken) + " of host memory that are available");
}

void Reservation::finish(CUresult enqueued, const char* what) const {
  check(driver_, enqueued, what);
  wait_for(driver_, stream_, longest_fill_work);
}

std::uint64_t Reservation::used() const {
  return ordinary_.bump.used() + ordinary_.bump.kept() + movable_.bump.capacity();
}

std::uint64_t Reservation::movable_asked() const {
  return movable_.block ? movable_.bump.used() : marked_;
}

std::uint64_t Reservation::reserved() const {
  std::uint64_t bytes = 0;
  for (const Part* const part : {&ordinary_, &movable_})
    if (part->block) bytes += part->block->held();
  return bytes;
}

std::uint64_t Reservation::pinned() const {
  std::uint64_t bytes = copy_ ? copy_->bytes() : 0;
  for (const HostBlock& block : host_) bytes += block.bytes;
  return bytes;
}

void Reservation::save() {
  try {
    const std::uint64_t used = ordinary_.bump.used();
    saved_.clear();
    saved_.reserve(used);  // addresses only: no page is touched yet
    check_host_memory();
    while (saved_.size() < used) {
      const std::uint64_t first = saved_.size(), bytes = std::min(copied_at_once, used - first);
      saved_.resize(first + bytes);
      finish(driver_.cuMemcpyDtoHAsync_v2(saved_.data() + first, ordinary_.block->address() + first, bytes, stream_),
             "cuMemcpyDtoHAsync");
      check_host_memory();
    }
    if (const Movable moved = movable(); moved.bytes != 0)
      finish(driver_.cuMemcpyDtoHAsync_v2(moved.host, moved.device, moved.bytes, stream_), "cuMemcpyDtoHAsync");
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
    finish(driver_.cuMemcpyHtoDAsync_v2(ordinary_.block->address(), saved_.data(), saved_.size(), stream_),
           "cuMemcpyHtoDAsync");
  saved_ = {};
  if (const Movable moved = movable(); moved.bytes != 0)
    finish(driver_.cuMemcpyHtoDAsync_v2(moved.device, moved.host, moved.bytes, stream_), "cuMemcpyHtoDAsync");
  for (HostBlock& block : host_) {
    if (!block.saved.empty()) std::memcpy(block.address, block.saved.data(), block.saved.size());
    block.saved = {};
  }
}

Reservation::Movable Reservation::movable() const {
  if (!copy_ || movable_.bump.used() == 0) return {};
  return {movable_.block->address(), copy_->address(), movable_.bump.used()};
}

std::uint64_t Reservation::held_movable() const {
  return movable_.block ? movable_.block->held() : 0;
}

bool Reservation::has_movable() const {
  return movable_.block && movable_.block->is_mapped();
}

bool Reservation::let_movable_go(Duration limit) noexcept {
  return movable_.block && movable_.block->give_back(limit);
}

bool Reservation::fetch_movable(Duration limit) noexcept {
  return movable_.block && !is_given_back_ && movable_.block->fetch(limit);
}

bool Reservation::give_device_back(Duration limit) noexcept {
  is_given_back_ = true;
  for (Part* const part : {&ordinary_, &movable_})
    if (part->block) part->block->give_back(Duration{0});  // begun at once, and waited for together
  return wait_at_most(limit, [this] { return reserved() == 0; });
}

void Reservation::release() noexcept {
  for (Part* const part : {&ordinary_, &movable_})
    if (part->block) part->block->release();
  for (const HostBlock& block : host_) driver_.cuMemFreeHost(block.address);
  host_.clear();
  copy_.reset();
}

}  // namespace weft
