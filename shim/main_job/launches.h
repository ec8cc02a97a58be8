// Launches of compute on streams of the main job: a number per stream, so that a stream that has got nothing to compute
// since its last marker is known to be still.
//
// Hooks of launches, any thread: a few loads and a store, no locked instruction. Of two threads that launch on one
// stream at the same time one may not be counted; the number changes all the same, and nothing else is asked of it.
#pragma once

#include "shim/main_job/streams.h"
#include "shim/process.h"

namespace weft {

// WEFT_LAUNCHES. Off: nothing is counted, and any stream may have got something.
[[gnu::visibility("hidden")]] extern std::atomic<bool> launches_are_counted;
void set_launches_counted(bool counted) noexcept;

// Another stream than that of the last launch of this thread; learned at first sight.
[[gnu::noinline]] void count_on_another_stream(CUstream stream) noexcept;

// `stream` as an API call names it.
[[gnu::always_inline]] inline void count_launch(CUstream stream, bool per_thread) noexcept {
  if (!launches_are_counted.load(std::memory_order_relaxed)) return;
  if (stream == nullptr) stream = per_thread ? CU_STREAM_PER_THREAD : CU_STREAM_LEGACY;
  Stream* last = thread_state.launched_on;
  if (__builtin_expect(thread_state.launch_handle != stream || last == nullptr ||
                           last->handle.load(std::memory_order_relaxed) != stream ||
                           last->id.load(std::memory_order_relaxed) == 0,
                       0)) {
    return count_on_another_stream(stream);
  }
  last->launches.store(last->launches.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
}

// A marker is about to be enqueued on the stream: whether it is known that nothing was launched since the one before.
bool nothing_launched_since_marker(Stream& stream) noexcept;

// Likewise now, without a marker.
bool nothing_launched(const Stream& stream) noexcept;

}  // namespace weft
