// A libweft-core.so for the benchmark: gives the markers their words, and on request takes the events out of the ring
// and writes the words of their markers, in place of the driver that does nothing.
#include <algorithm>

#include "shim/routing/vendor.h"
#include "shim/seam/core_interface.h"
#include "shim/seam/marker_words.h"
#include "shim/seam/ring.h"

namespace {

constexpr std::uint32_t word_count = 1 << 20;
const weft::ShimServices* services = nullptr;
weft::MarkerWord* words = nullptr;
weft::Ticket newest = 0, written = 0;  // seen in events, and written by this core

void opened(const weft::CommunicatorInfo& communicator) {
  const auto allocate = reinterpret_cast<decltype(&cuMemHostAlloc)>(services->real_driver_symbol("cuMemHostAlloc"));
  void* memory = nullptr;
  if (allocate(&memory, word_count * sizeof(std::uint32_t), CU_MEMHOSTALLOC_DEVICEMAP) != CUDA_SUCCESS) return;
  words = static_cast<weft::MarkerWord*>(memory);
  for (std::uint32_t index = 0; index < word_count; ++index) words[index].store(0);
  services->set_launches_counted(true);
  services->set_marker_words(communicator.device, {words, reinterpret_cast<std::uint64_t>(words), word_count});
}
void closing(weft::CommunicatorId) {}
bool rescue(int) {
  return false;
}
std::uint64_t taken(int) {
  return std::uint64_t{1} << 40;
}
void context_closing(int) {}
void quiet_moment(int) {}

}  // namespace

extern "C" __attribute__((visibility("default"))) bool weft_core_start(const weft::ShimServices* shim,
                                                                       weft::CoreServices* core) {
  services = shim;
  core->communicator_opened = opened;
  core->communicator_closing = closing;
  core->rescue_memory = rescue;
  core->memory_taken = taken;
  core->context_closing = context_closing;
  core->quiet_moment = quiet_moment;
  return true;
}

extern "C" __attribute__((visibility("default"))) const weft::ShimServices* bench_services() {
  return services;
}
extern "C" __attribute__((visibility("default"))) void bench_note_operations(int yes) {
  services->set_operations_noted(yes != 0);
}
extern "C" __attribute__((visibility("default"))) int bench_drain() {
  weft::Event event{};
  int taken = 0;
  for (; services->ring->pop(event); ++taken) {
    if (!weft::is_said(event.kind)) newest = std::max({newest, event.ticket, event.done_ticket});
  }
  return taken;
}
extern "C" __attribute__((visibility("default"))) void bench_reach_markers() {
  bench_drain();
  for (; written != newest; ++written) words[weft::word_of(written + 1, word_count)].store(written + 1);
}
