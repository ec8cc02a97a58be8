// Open stream captures: while there is one, a marker goes only onto streams that say they are not capturing.
//
// Hooks on the main job's threads. A marker on a capturing stream would become a part of the main job's graph. All
// captures of the process are counted, whoever opens them. The detector counts them once more, from the events: the
// same ones, except those that were open before the core was loaded.
#pragma once

#include "shim/main_job/streams.h"

namespace weft {

// Before the real call. False: not counted, because the hooks are pass-throughs.
bool capture_begins(CUstream stream, bool per_thread) noexcept;
void capture_ended(CUstream stream, bool per_thread) noexcept;  // also when the real call did not begin it
void capture_ended(Stream* stream) noexcept;                    // nullptr: of one that is not known
// Before the real call that may end one, and when it has done so, just before capture_ended().
LaunchCount captured_launches(CUstream stream, bool per_thread) noexcept;
void capture_was_made(CUstream stream, bool per_thread, LaunchCount captured) noexcept;

// A capture is open in this process.
bool any_capture() noexcept;
// This stream is in one, perhaps. Asks the driver only while any_capture().
bool is_capturing(const Stream& stream) noexcept;
// The stream that an API call names is in one for sure; false for a pass-through. Asks the driver.
bool is_in_capture(CUstream stream, bool per_thread) noexcept;

enum class CapturesInto : unsigned char { new_graph, given_graph };
// The handle of a new graph may be that of one whose capture failed, or whose parent was destroyed: nothing of those is
// in it.
void capture_has_begun(CUstream stream, bool per_thread, CapturesInto into) noexcept;

// Around the real call that begins a capture.
template <class Call>
CUresult begin_capture(CUstream stream, bool per_thread, CapturesInto into, Call call) noexcept {
  const bool counted = capture_begins(stream, per_thread);
  const CUresult result = call();
  if (result == CUDA_SUCCESS) capture_has_begun(stream, per_thread, into);
  if (counted && result != CUDA_SUCCESS) capture_ended(stream, per_thread);
  return result;
}

// Around the one that ends it. An end that fails has ended the capture all the same, or has not (another thread's): the
// stream knows.
template <class Call>
CUresult end_capture(CUstream stream, bool per_thread, Call call) noexcept {
  const bool was_open = is_in_capture(stream, per_thread);
  const LaunchCount captured = was_open ? captured_launches(stream, per_thread) : 0;
  const CUresult result = call();
  if (!was_open || is_in_capture(stream, per_thread)) return result;
  capture_was_made(stream, per_thread, captured);
  capture_ended(stream, per_thread);
  return result;
}

}  // namespace weft
