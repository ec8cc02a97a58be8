// Memory of the fill job: device memory with a hard cap, made at a quiet time, and pinned host memory.
//
// Created, saved, restored and released on a thread of Weft's that the main job waits for, never in a bubble. The cap
// cannot be passed because nothing is ever allocated after the constructor: allocate() only hands out parts. The
// device's memory may be given back at any time at which nothing of the job runs. A part of it, which the job has
// marked, is a block of its own with a pinned copy on the host: it may leave and come back, and its addresses stay.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "runner/core/driver.h"
#include "runner/fill/device_block.h"
#include "runner/fill/host_memory.h"
#include "runner/fill/pinned_copy.h"

namespace weft {

// Offsets into a block of fixed size, 256-byte aligned, never given back one by one.
class BumpAllocator {
 public:
  static constexpr std::uint64_t alignment = 256;

  explicit BumpAllocator(std::uint64_t capacity) : capacity_(capacity) {}
  // Nothing when it does not fit, or when `bytes` is 0.
  std::optional<std::uint64_t> allocate(std::uint64_t bytes);
  // So much of what is left is not handed out; instead of what was kept so far.
  void keep(std::uint64_t bytes) { kept_ = bytes; }
  std::uint64_t capacity() const { return capacity_; }
  std::uint64_t used() const { return used_; }
  std::uint64_t kept() const { return kept_; }

 private:
  std::uint64_t capacity_;
  std::uint64_t used_ = 0, kept_ = 0;
};

struct ReservationSizes {
  ReservationSizes(std::uint64_t of_all, std::uint64_t of_movable = 0) : cap(of_all), movable(of_movable) {}
  std::uint64_t cap;      // of all device memory
  std::uint64_t movable;  // of it: what the job has marked in its trial (movable_asked()), where it is 0
};

class Reservation {
 public:
  // The context of the device is current, here and in all functions below. Throws SetUpError. `available`: bytes of
  // host memory that could still be had. Where the host has too little for the copy of `movable`, nothing is movable.
  using Available = PinnedCopy::Available;
  Reservation(const Driver& driver, ReservationSizes sizes, Available available = &available_host_memory);
  ~Reservation();
  Reservation(const Reservation&) = delete;
  Reservation& operator=(const Reservation&) = delete;

  // A stream of our own, on which memory is cleared and copied: the legacy stream, which stands for none, would wait
  // for the main job's.
  void use(CUstream stream) { stream_ = stream; }

  CUdeviceptr allocate(std::uint64_t bytes);  // 0 when it does not fit
  // Likewise, of the memory that may leave; what is too much for that is ordinary memory. Where nothing is movable it
  // is counted as if it were a block of its own, so that it fits where it is.
  CUdeviceptr allocate_movable(std::uint64_t bytes);
  void* allocate_host(std::size_t bytes);                             // nullptr: there is none left
  void write(CUdeviceptr address, std::span<const std::byte> bytes);  // throws SetUpError

  const Driver& driver() const { return driver_; }
  std::uint64_t cap() const { return cap_; }
  std::uint64_t used() const;                         // of the cap; marked memory as what the device hands out for it
  std::uint64_t pinned() const;                       // bytes of the host, the copy of marked memory among them
  std::uint64_t reserved() const;                     // on the device at this moment
  std::uint64_t refused() const { return refused_; }  // size of the first allocation that did not fit, 0: none
  std::uint64_t movable_asked() const;                // bytes that the job has marked, and that could be movable

  // The content of the job's memory, so that trial runs of its unit can be undone: a copy in host memory, where that
  // does not take too much of it from the main job. Both throw SetUpError.
  void save();
  void restore();

  // All that may leave, at its addresses, and the pinned memory for its content meanwhile, which save() and restore()
  // use too. `bytes` are whole multiples of 256; 0: nothing moves, because nothing is marked or there is no such
  // memory.
  struct Movable {
    CUdeviceptr device = 0;
    std::byte* host = nullptr;
    std::uint64_t bytes = 0;
  };
  Movable movable() const;
  bool has_movable() const;            // it is on the device, and no thread is at it
  std::uint64_t held_movable() const;  // bytes of the device behind it, also while a thread is at it
  // While nothing of the job runs, and its content has been copied; see device_block.h. The content of what comes back
  // is any. After give_device_back() nothing does.
  bool let_movable_go(Duration limit) noexcept;
  bool fetch_movable(Duration limit) noexcept;

  // All of the device's part, see device_block.h: the job may still look at its pinned memory until it is destroyed.
  bool give_device_back(Duration limit) noexcept;
  void release() noexcept;  // frees everything, once; nothing uses it any more

 private:
  struct HostBlock {
    void* address;
    std::size_t bytes;
    std::vector<std::byte> saved;
  };
  struct Part {
    BumpAllocator bump{0};
    std::optional<DeviceBlock> block;
  };

  void make_movable(std::uint64_t bytes);
  void make(Part& part, std::uint64_t bytes);
  std::optional<CUdeviceptr> take(Part& part, std::uint64_t bytes) const;
  CUdeviceptr cleared(CUdeviceptr address, std::uint64_t bytes) const;
  std::uint64_t whole(std::uint64_t bytes) const;  // as the device hands it out
  std::uint64_t bytes_to_save() const;
  void check_host_memory() const;
  void finish(CUresult enqueued, const char* what) const;  // throws SetUpError

  const Driver& driver_;
  CUstream stream_ = nullptr;
  const Available available_;
  const std::uint64_t cap_;
  std::uint64_t granularity_ = 0;
  Part ordinary_, movable_;
  std::optional<PinnedCopy> copy_;  // of all of the movable block; nothing: there is no such block
  std::uint64_t marked_ = 0;        // bytes of the ordinary part, where there is none
  std::uint64_t refused_ = 0;
  bool is_given_back_ = false;
  std::vector<HostBlock> host_;
  std::vector<std::byte> saved_;
};

}  // namespace weft
