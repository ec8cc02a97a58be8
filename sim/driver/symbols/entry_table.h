// The generated table of entry points: which exact symbol a base name means at a version, with and without per-thread
// default streams. Read by cuGetProcAddress; sorted by name, then version, the ordinary entry before the per-thread
// one. Constant data: any thread, at any time, before cuInit too.
#pragma once

#include <cstddef>

namespace simgpu {

struct EntryPoint {
  const char* name;
  int version;      // the first CUDA version with this ABI
  bool per_thread;  // the _ptsz or _ptds twin
  void (*address)();
};

extern const EntryPoint entry_points[];
extern const std::size_t entry_point_count;

// Code at addresses that nothing exports, one piece for each entry and each flag of cuGetProcAddress: jumps to the
// entry's function. See SIMGPU_PROC_ADDRESS.
inline constexpr std::size_t thunk_bytes = 16;
inline constexpr std::size_t thunks_per_entry = 3;
extern "C" const unsigned char simgpu_thunks[];

}  // namespace simgpu
