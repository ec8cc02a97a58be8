// Questions to streams; see stream_questions.h.
#include "shim/main_job/stream_questions.h"

#include <time.h>

#include "shim/main_job/streams.h"
#include "shim/routing/real.h"

namespace weft {

constinit std::atomic<std::uint32_t> questions{0};

namespace {

bool is_dry(const Stream& stream, StreamId id) noexcept {
  const CUstream handle = stream.handle.load(std::memory_order_relaxed);
  return ask_undisturbed([&] {
    return stream.id.load(std::memory_order_seq_cst) == id && real<Symbol::cuStreamQuery>()(handle) == CUDA_SUCCESS;
  });
}

}  // namespace

bool is_dry(int device, StreamId id) noexcept {
  const Stream* stream = stream_to_ask(device, id);
  return stream != nullptr && is_dry(*stream, id);
}

bool is_idle(int device) noexcept {
  for (const Stream& stream : all_streams()) {
    const StreamId id = stream.id.load(std::memory_order_acquire);
    if (id == 0 || stream.device.load(std::memory_order_relaxed) != device || !is_explicit(stream)) continue;
    if (!is_dry(stream, id)) return false;
  }
  return ask_undisturbed([] { return real<Symbol::cuStreamQuery>()(CU_STREAM_LEGACY) == CUDA_SUCCESS; });
}

void wait_for_questions() noexcept {
  constexpr int spins = 1000;
  constexpr int sleeps = 2000;  // counted, not timed: a process that is stopped for a while has not waited
  const timespec pause{0, 50'000};
  for (int attempt = 0; attempt < spins + sleeps && questions.load(std::memory_order_seq_cst) != 0; ++attempt) {
    if (attempt >= spins) nanosleep(&pause, nullptr);
  }
}

}  // namespace weft
