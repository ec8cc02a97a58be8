// Launches of compute; see launches.h.
#include "shim/main_job/launches.h"

#include "shim/main_job/devices.h"

namespace weft {

constinit std::atomic<bool> launches_are_counted{false};

void set_launches_counted(bool counted) noexcept {
  launches_are_counted.store(counted, std::memory_order_relaxed);
}

void count_on_another_stream(CUstream stream) noexcept {
  const bool has_handle = stream != CU_STREAM_LEGACY && stream != CU_STREAM_PER_THREAD;
  const StreamName name =
      has_handle ? StreamName{reinterpret_cast<std::uint64_t>(stream), stream, true} : name_of(stream, false);
  Stream* known = find_stream(name);
  if (known == nullptr) known = learn_stream(name);
  if (known == nullptr) return;
  note_use(*known);
  known->launches.store(known->launches.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  // The default streams of several devices have one name.
  const bool is_one = is_explicit(*known) || !several_devices();
  thread_state.launched_on = is_one ? known : nullptr;
  thread_state.launch_handle = stream;
}

bool nothing_launched_since_marker(Stream& stream) noexcept {
  const bool nothing = nothing_launched(stream);
  stream.launches_marked.store(stream.launches.load(std::memory_order_relaxed), std::memory_order_relaxed);
  stream.is_marked.store(true, std::memory_order_relaxed);
  return nothing;
}

bool nothing_launched(const Stream& stream) noexcept {
  // Before its first marker it may have been launched on when nobody counted.
  return launches_are_counted.load(std::memory_order_relaxed) && stream.is_marked.load(std::memory_order_relaxed) &&
         stream.launches.load(std::memory_order_relaxed) == stream.launches_marked.load(std::memory_order_relaxed);
}

}  // namespace weft
