// Copies between host and device, and host functions: the stream does something that is no compute, and what is
// launched behind it, or waits for it, does not compute either meanwhile. A wait for such a one is a copy of the
// waiting stream.
//
// Hooks of copies, waits and launches, any thread of the main job. A marker goes ahead of a copy where something was
// launched since the one before, so that the end of that shows. Behind a copy it would hold up the other streams of the
// hardware queue, which the copy itself does not. So it goes there only when the stream is launched on again, just
// ahead of the launch, which has to wait for the copy anyway. Behind a wait for one it goes there as well when the
// stream copies, which holds up the queue as a launch does.
#pragma once

#include <cstddef>

#include "shim/main_job/streams.h"

namespace weft {

// Shorter ones end before the next look: two markers would cost more than they tell.
inline constexpr std::size_t least_noted_copy = 64 << 10;

// The next launch on it finds out at no cost: see count_launch().
inline void set_next_launch_noted(Stream& stream, bool noted) noexcept {
  CUstream handle = noted ? nullptr : stream.handle.load(std::memory_order_relaxed);
  stream.launched_as.store(handle, std::memory_order_relaxed);
}
inline bool next_launch_is_noted(const Stream& stream) noexcept {
  return stream.launched_as.load(std::memory_order_relaxed) == nullptr;
}
// A marker is behind it: it was no copy, or that is over then.
inline void note_no_copy(Stream& stream) noexcept {
  stream.latest_is.store(NoCompute::none, std::memory_order_relaxed);
  set_next_launch_noted(stream, false);
}
// Its latest is a copy, or a wait for one.
inline bool is_copying(const Stream& stream) noexcept {
  return stream.latest_is.load(std::memory_order_relaxed) != NoCompute::none;
}

// Before the real call. `stream` as that names it. Of short ones only this matters, that they are on the legacy stream.
[[gnu::always_inline]] inline bool is_noted_copy(std::size_t bytes, CUstream stream) noexcept {
  return bytes >= least_noted_copy || stream == nullptr || stream == CU_STREAM_LEGACY;
}
void note_copy(std::size_t bytes, CUstream stream, bool per_thread) noexcept;
void note_host_function(CUstream stream, bool per_thread) noexcept;
// Whose ends the driver finds out: between host and device, or within the device, and then it counts as a launch.
struct CopyEnds {
  bool on_host;
  std::size_t bytes;
};
CopyEnds ends_of(CUdeviceptr to, CUdeviceptr from, std::size_t bytes) noexcept;
CopyEnds ends_of(const CUDA_MEMCPY2D& copy) noexcept;
CopyEnds ends_of(const CUDA_MEMCPY3D& copy) noexcept;
CopyEnds ends_of(const CUDA_MEMCPY3D_PEER& copy) noexcept;
// On the host only where each copy of it is.
CopyEnds ends_of_batch(const CUdeviceptr* to, const CUdeviceptr* from, const std::size_t* bytes,
                       std::size_t count) noexcept;
void note_any_copy(const CopyEnds& copy, CUstream stream, bool per_thread) noexcept;
void note_wait_for_copy(Stream& stream) noexcept;

// Before a launch that is to be noted, and before it is counted: behind a copy, or for the first time behind a group or
// a wait.
[[gnu::noinline, gnu::cold]] void note_launch(Stream& stream) noexcept;

}  // namespace weft
