// Open stream captures; see capture.h.
#include "shim/main_job/capture.h"

#include "shim/main_job/devices.h"
#include "shim/main_job/launches.h"
#include "shim/main_job/noted_graphs.h"
#include "shim/main_job/stream_questions.h"
#include "shim/notes.h"
#include "shim/process.h"
#include "shim/routing/real.h"

namespace weft {
namespace {

constinit std::atomic<std::int32_t> open_captures{0};

CUstream handle_of(CUstream stream, bool per_thread) noexcept {
  return stream == nullptr && per_thread ? CU_STREAM_PER_THREAD : stream;
}

void note_capture(EventKind kind, Stream* known) noexcept {
  if (level() != Level::observe) return;
  if (known != nullptr) note_use(*known);
  const int device = current_device();
  if (known == nullptr && device < 0) return;
  note(kind, known != nullptr ? known->device.load(std::memory_order_relaxed) : device,
       [known](Event& event) { event.stream = known != nullptr ? known->id.load(std::memory_order_relaxed) : 0; });
}

}  // namespace

bool capture_begins(CUstream stream, bool per_thread) noexcept {
  if (is_off()) return false;
  open_captures.fetch_add(1, std::memory_order_seq_cst);
  wait_for_questions();
  Stream* known = find_stream(name_of(stream, per_thread));
  if (known != nullptr) {
    launches_are_captured(*known);
    known->begins_capture.store(true, std::memory_order_relaxed);
  }
  note_capture(EventKind::capture_begun, known);
  return true;
}

void capture_ended(Stream* known) noexcept {
  if (known != nullptr) known->begins_capture.store(false, std::memory_order_relaxed);
  // A capture that began before anything was counted ends without having been counted.
  std::int32_t open = open_captures.load(std::memory_order_relaxed);
  while (open > 0 && !open_captures.compare_exchange_weak(open, open - 1, std::memory_order_acq_rel)) continue;
  note_capture(EventKind::capture_ended, known);
}

void capture_ended(CUstream stream, bool per_thread) noexcept {
  capture_ended(find_stream(name_of(stream, per_thread)));
}

LaunchCount captured_launches(CUstream stream, bool per_thread) noexcept {
  const Stream* known = find_stream(name_of(stream, per_thread));
  return known != nullptr ? launches_so_far(*known) : 0;
}

void capture_was_made(CUstream stream, bool per_thread, LaunchCount captured) noexcept {
  if (Stream* known = find_stream(name_of(stream, per_thread))) launches_were_captured(*known, captured);
}

void capture_has_begun(CUstream stream, bool per_thread, CapturesInto into) noexcept {
  if (into == CapturesInto::given_graph || !any_noted_graph()) return;
  CUgraph graph = nullptr;
  if (captures_into(handle_of(stream, per_thread), &graph)) graph_gone(graph);
}

bool any_capture() noexcept {
  return open_captures.load(std::memory_order_seq_cst) != 0;
}

bool is_capturing(const Stream& stream) noexcept {
  if (!any_capture()) return false;
  CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_ACTIVE;
  const CUresult result = real<Symbol::cuStreamIsCapturing>()(stream.handle.load(std::memory_order_relaxed), &status);
  return result != CUDA_SUCCESS || status != CU_STREAM_CAPTURE_STATUS_NONE;
}

bool is_in_capture(CUstream stream, bool per_thread) noexcept {
  if (level() == Level::pass) return false;
  CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
  return real<Symbol::cuStreamIsCapturing>()(handle_of(stream, per_thread), &status) == CUDA_SUCCESS &&
         status != CU_STREAM_CAPTURE_STATUS_NONE;
}

}  // namespace weft
