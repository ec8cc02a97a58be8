// The kind of memory at an address, for the submission path. Any thread; asking for the same range again is cheap.
#pragma once

#include <cstddef>
#include <cstdint>

namespace simgpu {

enum class AddressKind : uint8_t { pageable, pinned, device };

// Of the whole piece: pageable when no single known range holds it.
AddressKind kind_of(std::uintptr_t address, std::size_t bytes);

}  // namespace simgpu
