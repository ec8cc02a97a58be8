// Markers: tickets, their words, and the writes that streams are made to do; see markers.h.
#include "shim/markers.h"

#include "shim/notes.h"
#include "shim/streams.h"

namespace weft {
namespace {

struct DeviceWords {
  std::atomic<std::atomic<std::uint32_t>*> host;
  std::atomic<std::uint64_t> device;
  std::atomic<std::uint32_t> count;
  std::atomic<Ticket> last;
  std::atomic<CUcontext> context;
};
constinit DeviceWords device_words[kMostDevices]{};
constexpr int kAttempts = 64;

// Tickets go round; `ticket` is at least as late as `other`.
bool not_before(Ticket ticket, Ticket other) noexcept {
  return static_cast<std::int32_t>(ticket - other) >= 0;
}

CUresult write_ticket(CUstream stream, int device, Ticket ticket) noexcept {
  const DeviceWords& words = device_words[device];
  const std::uint32_t index = ticket & (words.count.load(std::memory_order_relaxed) - 1);
  const CUdeviceptr address = words.device.load(std::memory_order_relaxed) + index * sizeof(std::uint32_t);
  return real<Symbol::cuStreamWriteValue32_v2>()(stream, address, ticket, CU_STREAM_WRITE_VALUE_DEFAULT);
}

// With several devices in the process the current context may be another one than the stream's; it is put back.
CUresult write_ticket_in_context(CUstream stream, bool is_explicit, int device, Ticket ticket) noexcept {
  CUcontext context = context_of(device);
  if (is_explicit) real<Symbol::cuStreamGetCtx>()(stream, &context);
  CUcontext current = nullptr;
  if (real<Symbol::cuCtxGetCurrent>()(&current) == CUDA_SUCCESS && current == context) {
    return write_ticket(stream, device, ticket);
  }
  const CUresult pushed = real<Symbol::cuCtxPushCurrent_v2>()(context);
  if (pushed != CUDA_SUCCESS) return pushed;
  const CUresult result = write_ticket(stream, device, ticket);
  real<Symbol::cuCtxPopCurrent_v2>()(&context);
  return result;
}

}  // namespace

void set_marker_words(int device, const MarkerWords& words) noexcept {
  if (device < 0 || device >= kMostDevices) return;
  DeviceWords& mine = device_words[device];
  mine.host.store(nullptr, std::memory_order_release);
  if (words.host == nullptr || words.count == 0 || (words.count & (words.count - 1)) != 0) return;
  CUcontext context = nullptr;
  real<Symbol::cuCtxGetCurrent>()(&context);
  mine.context.store(context, std::memory_order_relaxed);
  mine.device.store(words.device, std::memory_order_relaxed);
  mine.count.store(words.count, std::memory_order_relaxed);
  mine.host.store(words.host, std::memory_order_release);
  note_device(device);
}

bool has_marker_words(int device) noexcept {
  return device_words[device].host.load(std::memory_order_acquire) != nullptr;
}

CUcontext context_of(int device) noexcept {
  return device_words[device].context.load(std::memory_order_relaxed);
}

Ticket reserve_ticket(int device) noexcept {
  DeviceWords& words = device_words[device];
  const std::atomic<std::uint32_t>* host = words.host.load(std::memory_order_acquire);
  if (host == nullptr) return 0;
  const std::uint32_t count = words.count.load(std::memory_order_relaxed);
  Ticket last = words.last.load(std::memory_order_relaxed);
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    const Ticket ticket = last + 1 == 0 ? 1 : last + 1;
    if (!not_before(host[ticket & (count - 1)].load(std::memory_order_acquire), ticket - count)) return 0;
    if (words.last.compare_exchange_weak(last, ticket, std::memory_order_acq_rel)) return ticket;
  }
  return 0;
}

bool enqueue_marker(const Stream& stream, Ticket ticket) noexcept {
  const CUstream handle = stream.handle.load(std::memory_order_relaxed);
  const int device = stream.device.load(std::memory_order_relaxed);
  const bool is_explicit = handle != CU_STREAM_LEGACY && handle != CU_STREAM_PER_THREAD;
  const CUresult result = several_devices() ? write_ticket_in_context(handle, is_explicit, device, ticket)
                                            : write_ticket(handle, device, ticket);
  return result == CUDA_SUCCESS;
}

Ticket enqueue_marker(Stream& stream) noexcept {
  const int device = stream.device.load(std::memory_order_relaxed);
  const Ticket ticket = reserve_ticket(device);
  if (ticket != 0 && enqueue_marker(stream, ticket)) return ticket;
  if (ticket != 0) settle(device, ticket);
  if (has_marker_words(device)) note_lost();
  return 0;
}

bool reached(int device, Ticket ticket) noexcept {
  const DeviceWords& words = device_words[device];
  const std::atomic<std::uint32_t>* host = words.host.load(std::memory_order_acquire);
  if (host == nullptr || ticket == 0) return true;
  const std::uint32_t index = ticket & (words.count.load(std::memory_order_relaxed) - 1);
  return not_before(host[index].load(std::memory_order_acquire), ticket);
}

void settle(int device, Ticket ticket) noexcept {
  const DeviceWords& words = device_words[device];
  std::atomic<std::uint32_t>* host = words.host.load(std::memory_order_acquire);
  if (host == nullptr || ticket == 0) return;
  host[ticket & (words.count.load(std::memory_order_relaxed) - 1)].store(ticket, std::memory_order_release);
}

}  // namespace weft
