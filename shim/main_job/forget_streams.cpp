// The end of streams; see forget_streams.h.
#include "shim/main_job/forget_streams.h"

#include "shim/main_job/group_log.h"
#include "shim/main_job/stream_questions.h"
#include "shim/main_job/streams.h"
#include "shim/notes.h"

namespace weft {
namespace {

void forget(Stream& stream) noexcept {
  const StreamId id = stream.id.exchange(0, std::memory_order_seq_cst);
  if (id == 0) return;
  forget_groups_on(stream);
  const int device = stream.device.load(std::memory_order_relaxed);
  release_stream(stream);
  if (level() == Level::observe) note(EventKind::stream_destroyed, device, [id](Event& event) { event.stream = id; });
}

template <class Which>
void forget_all(Which which) noexcept {
  for (Stream& stream : all_streams()) {
    if (stream.id.load(std::memory_order_acquire) != 0 && which(stream)) forget(stream);
  }
  wait_for_questions();
}

}  // namespace

void forget_stream(CUstream handle) noexcept {
  const StreamName name = name_of(handle, false);
  Stream* stream = name.is_explicit ? find_stream(name) : nullptr;
  if (stream == nullptr) return;
  forget(*stream);
  wait_for_questions();
}

void forget_streams_of(CUcontext context) noexcept {
  forget_all([context](const Stream& stream) {
    return is_explicit(stream) && stream.context.load(std::memory_order_relaxed) == context;
  });
}

void forget_streams_of(int device) noexcept {
  forget_all([device](const Stream& stream) { return stream.device.load(std::memory_order_relaxed) == device; });
  release_all_streams(device);
}

}  // namespace weft
