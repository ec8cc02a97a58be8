// Memory of the fill job: one block of device memory with a hard cap, made at a quiet time, and pinned host memory.
//
// Created, saved, restored and released on a thread of Weft's that the main job waits for, never in a bubble. The
// device's memory may be given back at any time at which nothing of the job runs. The cap cannot be passed because
// nothing is ever allocated after the constructor: allocate() only hands out parts.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "runner/core/driver.h"
#include "runner/fill/device_block.h"
#include "runner/fill/host_memory.h"

namespace weft {

// Offsets into a block of fixed size, 256-byte aligned, never given back one by one.
class BumpAllocator {
 public:
  static constexpr std::uint64_t alignment = 256;

  explicit BumpAllocator(std::uint64_t capacity) : capacity_(capacity) {}
  // Nothing when it does not fit, or when `bytes` is 0.
  std::optional<std::uint64_t> allocate(std::uint64_t bytes);
  std::uint64_t capacity() const { return capacity_; }
  std::uint64_t used() const { return used_; }

 private:
  std::uint64_t capacity_;
  std::uint64_t used_ = 0;
};

class Reservation {
 public:
  // The context of the device is current, here and in all functions below. Throws SetUpError. `available`: bytes of
  // host memory that could still be had.
  using Available = std::optional<std::uint64_t> (*)();
  Reservation(const Driver& driver, std::uint64_t cap, Available available = &available_host_memory);
  ~Reservation();
  Reservation(const Reservation&) = delete;
  Reservation& operator=(const Reservation&) = delete;

  // A stream of our own, on which memory is cleared and copied: the legacy stream, which stands for none, would wait
  // for the main job's.
  void use(CUstream stream) { stream_ = stream; }

  CUdeviceptr allocate(std::uint64_t bytes);                          // 0 when it does not fit
  void* allocate_host(std::size_t bytes);                             // nullptr: there is none left
  void write(CUdeviceptr address, std::span<const std::byte> bytes);  // throws SetUpError

  const Driver& driver() const { return driver_; }
  std::uint64_t cap() const { return bump_.capacity(); }
  std::uint64_t used() const { return bump_.used(); }
  std::uint64_t pinned() const;                                           // bytes of the host
  std::uint64_t reserved() const { return block_ ? block_->held() : 0; }  // on the device
  std::uint64_t refused() const { return refused_; }  // size of the first allocation that did not fit, 0: none

  // The content of the job's memory, so that trial runs of its unit can be undone: a copy in host memory, where that
  // does not take too much of it from the main job. Both throw SetUpError.
  void save();
  void restore();

  // The device's part only, see device_block.h: the job may still look at its pinned memory until it is destroyed.
  bool give_device_back(Duration limit) noexcept;
  void release() noexcept;  // frees everything, once; nothing uses it any more

 private:
  struct HostBlock {
    void* address;
    std::size_t bytes;
    std::vector<std::byte> saved;
  };

  std::uint64_t bytes_to_save() const;
  void check_host_memory() const;
  void finish(CUresult enqueued, const char* what);  // throws SetUpError

  const Driver& driver_;
  CUstream stream_ = nullptr;
  const Available available_;
  BumpAllocator bump_;
  std::optional<DeviceBlock> block_;
  std::uint64_t refused_ = 0;
  std::vector<HostBlock> host_;
  std::vector<std::byte> saved_;
};

}  // namespace weft
