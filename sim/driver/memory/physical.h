// Physical memory of the virtual memory management API (cuMemCreate): a memfd that can be mapped, several times, and
// handed to another process as a file descriptor. Called by the memory API on host threads.
#pragma once

#include <cuda.h>

#include <cstddef>
#include <cstdint>
#include <memory>

namespace simgpu {

struct Device;

class Physical {
 public:
  // nullptr if the device or the system has no room. A null device means host memory, which is not counted.
  static std::shared_ptr<Physical> create(std::size_t size, const CUmemAllocationProp& properties, Device* device);
  // Memory that another process exported; it is charged there.
  static std::shared_ptr<Physical> import(int file);
  ~Physical();
  Physical(const Physical&) = delete;
  Physical& operator=(const Physical&) = delete;

  [[nodiscard]] std::size_t size() const { return size_; }
  [[nodiscard]] const CUmemAllocationProp& properties() const { return properties_; }
  // Over the reserved addresses, without access until set_access().
  [[nodiscard]] bool map(std::uintptr_t address, std::size_t size) const;
  // A file descriptor of its own, -1 if there is none left.
  [[nodiscard]] int duplicate() const;

 private:
  Physical(int file, std::size_t size, const CUmemAllocationProp& properties, Device* device)
      : file_(file), size_(size), properties_(properties), device_(device) {}

  const int file_;
  const std::size_t size_;
  const CUmemAllocationProp properties_;
  Device* const device_;
};

// Back to an address range that is reserved and holds nothing.
void unmap_physical(std::uintptr_t address, std::size_t size);
void set_access(std::uintptr_t address, std::size_t size, CUmemAccess_flags access);

}  // namespace simgpu
