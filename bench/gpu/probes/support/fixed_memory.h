// Device memory at an address of the probe's choice: where `weft pack` would put a package (docs say "hint" only).
//
// Any thread with the context current. Reservations stay until the process ends.
#pragma once

#include <string>

#include "gpu.h"

namespace probe {

// Between the places of programs and of shared libraries, where nothing is mapped as a rule.
inline constexpr CUdeviceptr package_base = 0x6000'0000'0000;

// Whether so many bytes were reserved at just that address; otherwise nothing is left reserved, and `why` says where
// the driver put them, or its error.
bool reserve_at(CUdeviceptr address, std::size_t bytes, std::string& why);
// Memory of the device at an address in what was reserved, that kernels and copies can use. Of at least so many bytes.
void map_at(CUdeviceptr address, std::size_t bytes);
// The line of /proc/self/maps that holds the address or is the next above it; "" where there is none.
std::string mapping_at(CUdeviceptr address);

}  // namespace probe
