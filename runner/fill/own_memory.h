// Device memory that a fill job takes past its reservation, as the device's free memory tells it in the trial. Pure.
//
// The device may be shared: others allocate and free while the job is tried. So only what was missing after the job was
// made ready AND came back when it was destroyed counts, and only where a second try shows the same. A job that leaves
// its own memory to the end of the process is therefore not found out.
#pragma once

#include <algorithm>
#include <cstdint>

namespace weft {

// Bytes free on the device.
struct FreeMemory {
  std::uint64_t before = 0;     // anything of the job was there; its context was
  std::uint64_t ready = 0;      // after its first unit
  std::uint64_t destroyed = 0;  // after its destroy(), with the reservation still held
};

// Code that a job unloads and the workspace of a library (cuBLAS: 32 MiB) come back as well, and are no offence.
inline constexpr std::uint64_t most_own_memory = std::uint64_t{64} << 20;

inline std::uint64_t own_memory(const FreeMemory& free, std::uint64_t reservation) {
  const auto excess = [](std::uint64_t whole, std::uint64_t part) { return whole > part ? whole - part : 0; };
  const std::uint64_t came = excess(excess(free.before, free.ready), reservation);
  return std::min(came, excess(free.destroyed, free.ready));
}

// Two tries in a row: others that take and give back as much at just these moments do so hardly twice.
inline bool is_of_the_job(std::uint64_t first, std::uint64_t second) {
  constexpr std::uint64_t granule = std::uint64_t{2} << 20;  // of the device's memory
  return std::min(first, second) > most_own_memory && std::max(first, second) - std::min(first, second) <= granule;
}

}  // namespace weft
