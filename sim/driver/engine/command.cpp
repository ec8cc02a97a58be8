// Copies of kernel parameters, and the effects of copies and sets; see command.h.
#include "engine/command.h"

#include <algorithm>
#include <cstring>

namespace simgpu {
namespace {

constexpr std::size_t parameter_alignment = 16;

// How a parameter of that size is aligned in a parameter buffer: as its size allows, 8 at most for structures.
std::size_t natural_alignment(std::size_t size) {
  const std::size_t lowest_bit = size & (~size + 1);
  return size == 16 ? 16 : std::clamp<std::size_t>(lowest_bit, 1, 8);
}

std::size_t round_to(std::size_t value, std::size_t multiple) {
  return (value + multiple - 1) / multiple * multiple;
}

template <class Element>
void fill(const SetBox& box) {
  for (std::size_t row = 0; row < box.height; ++row) {
    auto* begin = reinterpret_cast<Element*>(box.destination + row * box.pitch);
    std::fill_n(begin, box.width, static_cast<Element>(box.value));
  }
}

}  // namespace

bool KernelLaunch::allocate() {
  const simgpu_kernel* kernel = image->host.load(std::memory_order_acquire);
  if (kernel == nullptr || kernel->parameter_count == 0) return false;
  std::size_t size = 0;
  for (uint32_t index = 0; index < kernel->parameter_count; ++index) {
    size += round_to(kernel->parameter_sizes[index], parameter_alignment);
  }
  storage_.resize(size);
  pointers_.resize(kernel->parameter_count);
  std::size_t offset = 0;
  for (uint32_t index = 0; index < kernel->parameter_count; ++index) {
    pointers_[index] = storage_.data() + offset;
    offset += round_to(kernel->parameter_sizes[index], parameter_alignment);
  }
  shape.parameter_count = kernel->parameter_count;
  shape.parameters = pointers_.data();
  return true;
}

void KernelLaunch::set_parameters(void* const* parameters) {
  if (parameters == nullptr || !allocate()) return;
  const simgpu_kernel* kernel = image->host.load(std::memory_order_acquire);
  for (uint32_t index = 0; index < shape.parameter_count; ++index) {
    std::memcpy(const_cast<void*>(pointers_[index]), parameters[index], kernel->parameter_sizes[index]);
  }
}

bool KernelLaunch::set_parameter_buffer(const void* buffer, std::size_t size) {
  if (!allocate()) return true;
  const simgpu_kernel* kernel = image->host.load(std::memory_order_acquire);
  std::size_t offset = 0;
  for (uint32_t index = 0; index < shape.parameter_count; ++index) {
    const std::size_t bytes = kernel->parameter_sizes[index];
    offset = round_to(offset, natural_alignment(bytes));
    if (offset + bytes > size) return false;
    std::memcpy(const_cast<void*>(pointers_[index]), static_cast<const std::byte*>(buffer) + offset, bytes);
    offset += bytes;
  }
  return true;
}

void CopyBox::execute() const {
  const std::byte* from = staged.empty() ? source : staged.data();
  for (std::size_t slice = 0; slice < depth; ++slice) {
    for (std::size_t row = 0; row < height; ++row) {
      std::memmove(destination + (slice * destination_height + row) * destination_pitch,
                   from + (slice * source_height + row) * source_pitch, width);
    }
  }
}

void SetBox::execute() const {
  if (element_bytes == 1) fill<uint8_t>(*this);
  if (element_bytes == 2) fill<uint16_t>(*this);
  if (element_bytes == 4) fill<uint32_t>(*this);
}

}  // namespace simgpu
