// Pinned host memory for the content of device memory that may leave the device.
//
// Made on the thread of Weft's that makes a fill job ready, or in the fill probe, with the context current. Pages are
// touched piece by piece, with a look at how much the host has left before each: ranks of a node make theirs at the
// same time, and pinned memory cannot be taken back from the outside.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "runner/core/driver.h"

namespace weft {

class PinnedCopy {
 public:
  // `available`: bytes of host memory that could still be had. Throws SetUpError, which says why there is none.
  using Available = std::optional<std::uint64_t> (*)();
  PinnedCopy(const Driver& driver, std::uint64_t bytes, Available available);
  ~PinnedCopy();
  PinnedCopy(const PinnedCopy&) = delete;
  PinnedCopy& operator=(const PinnedCopy&) = delete;

  std::byte* address() const { return address_; }
  std::uint64_t bytes() const { return bytes_; }

 private:
  void touch(Available available) const;

  const Driver& driver_;
  const std::uint64_t bytes_;
  std::byte* address_ = nullptr;
};

}  // namespace weft
