// Markers: tickets, their words, and the writes that streams are made to do; see markers.h.
#include "shim/markers.h"

#include "shim/main_job/devices.h"
#include "shim/main_job/launches.h"
#include "shim/main_job/marker_room.h"
#include "shim/main_job/streams.h"
#include "shim/tables/tickets.h"

namespace weft {
namespace {

struct DeviceWords {
  TicketWords tickets;
  std::atomic<CUcontext> context;
  std::atomic<bool> cached;  // the core may keep words of this context
};
constinit DeviceWords device_words[most_devices]{};

CUresult record_event(CUstream stream, MarkerEvent& place, Ticket ticket) noexcept {
  const CUresult result = real<Symbol::cuEventRecord>()(static_cast<CUevent>(place.event), stream);
  if (result == CUDA_SUCCESS) place.recorded.store(ticket, std::memory_order_release);
  return result;
}

CUresult write_ticket(CUstream stream, int device, Ticket ticket) noexcept {
  const TicketWords& tickets = device_words[device].tickets;
  if (tickets.by_events()) return record_event(stream, tickets.event_of(ticket), ticket);
  const CUdeviceptr address = tickets.address_of(ticket);
  return real<Symbol::cuStreamWriteValue32_v2>()(stream, address, ticket, CU_STREAM_WRITE_VALUE_DEFAULT);
}

// With several devices in the process the current context may be another one than the stream's; it is put back.
CUresult write_ticket_in_context(CUstream stream, CUcontext context, int device, Ticket ticket) noexcept {
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
  if (device < 0 || device >= most_devices) return;
  DeviceWords& mine = device_words[device];
  mine.tickets.end();
  withhold_markers(device, false, 0);
  if (words.host == nullptr || words.count == 0 || (words.count & (words.count - 1)) != 0) return;
  CUcontext context = nullptr;
  real<Symbol::cuCtxGetCurrent>()(&context);
  mine.context.store(context, std::memory_order_relaxed);
  mine.cached.store(true, std::memory_order_relaxed);
  forget_marks_of(device);
  mine.tickets.begin(words);
  note_device(device);
  ask_uncounted_streams(device);
}

bool has_marker_words(int device) noexcept {
  return device_words[device].tickets.present();
}

bool may_have_words(int device) noexcept {
  return device_words[device].cached.load(std::memory_order_relaxed);
}

bool words_end(int device) noexcept {
  set_marker_words(device, {});
  return device_words[device].cached.exchange(false, std::memory_order_relaxed);
}

bool may_mark(int device) noexcept {
  return device_words[device].tickets.writable();
}

CUcontext context_of(int device) noexcept {
  return device_words[device].context.load(std::memory_order_relaxed);
}

Ticket reserve_ticket(int device) noexcept {
  return may_mark(device) ? device_words[device].tickets.reserve() : 0;
}

bool may_park_ticket(int device) noexcept {
  return device_words[device].tickets.may_park();
}

void park_ticket(int device, Ticket ticket) noexcept {
  device_words[device].tickets.park(ticket);
}

const std::atomic<Ticket>& newest_ticket(int device) noexcept {
  return device_words[device].tickets.last;
}

bool enqueue_marker(const Stream& stream, Ticket ticket) noexcept {
  const CUstream handle = stream.handle.load(std::memory_order_relaxed);
  const int device = stream.device.load(std::memory_order_relaxed);
  if (!several_devices()) return write_ticket(handle, device, ticket) == CUDA_SUCCESS;
  const CUcontext own = stream.context.load(std::memory_order_relaxed);
  return write_ticket_in_context(handle, own != nullptr ? own : context_of(device), device, ticket) == CUDA_SUCCESS;
}

bool reached(int device, Ticket ticket) noexcept {
  return device_words[device].tickets.reached(ticket);
}

void write_ticket_from_host(int device, Ticket ticket) noexcept {
  device_words[device].tickets.write_from_host(ticket);
}

}  // namespace weft
