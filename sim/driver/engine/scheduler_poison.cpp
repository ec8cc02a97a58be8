// A sticky error: what runs on the device is dropped, nothing that waits will run, everybody who waits is let go;
// see scheduler.h. Work that a thread is busy with right now is only marked: that thread frees it.
#include <algorithm>

#include "engine/scheduler.h"
#include "engine/slab.h"

namespace simgpu {

void Scheduler::poison(Device& device, CUresult error) {
  poisoned_ = &device;
  poison_error_ = error;
  apply_poison();
}

void Scheduler::apply_poison() {
  Device& device = *poisoned_;
  poisoned_ = nullptr;
  if (device.model->log.enabled()) {
    Record record("fault");
    record.add("error", static_cast<int>(poison_error_)).add("time", clock_);
    device.model->log.add(record.text());
  }
  for (Context* context : device.contexts) {
    CUresult none = CUDA_SUCCESS;
    context->error.compare_exchange_strong(none, poison_error_);
  }
  drop_work(device);
  drop_streams(device);
}

void Scheduler::drop_work(Device& device) {
  DeviceModel& model = *device.model;
  for (const Timer& timer : timers_) {
    if (timer.device != &device) continue;
    if (timer.kind == TimerKind::cohort_end) delete static_cast<Cohort*>(timer.object);
    if (timer.kind == TimerKind::host_end) std::erase(host_calls_, static_cast<HostCall*>(timer.object));
    if (timer.kind == TimerKind::host_end) delete static_cast<HostCall*>(timer.object);
    if (timer.kind == TimerKind::effect_end) static_cast<RunningKernel*>(timer.object)->effect_pending = false;
    if (timer.kind == TimerKind::transfer_done) static_cast<Transfer*>(timer.object)->effect_pending = false;
  }
  const auto later = [](const Timer& a, const Timer& b) { return a.at != b.at ? a.at > b.at : a.order > b.order; };
  std::erase_if(timers_, [&](const Timer& timer) { return timer.device == &device; });
  std::make_heap(timers_.begin(), timers_.end(), later);

  for (RunningKernel* kernel : model.kernels) {
    std::erase(spinning_, kernel);
    delete kernel->held;
    kernel->held = nullptr;
    std::erase_if(holds_, [&](const Hold& hold) { return hold.object == kernel; });
    kernel->dropped = true;
    if (!kernel->stepping && !kernel->effect_pending) delete kernel;
  }
  model.kernels.clear();
  model.unplaced.clear();
  model.spinning = 0;
  model.multiprocessors = Multiprocessors(model.multiprocessors.count());

  for (CopyEngine* copies : {&model.upload, &model.download}) {
    if (copies->active != nullptr) copies->waiting.push_front(copies->active);
    for (Transfer* transfer : copies->waiting) {
      transfer->dropped = true;
      std::erase_if(holds_, [&](const Hold& hold) { return hold.object == transfer; });
      if (!transfer->effect_pending) delete transfer;
    }
    *copies = CopyEngine{};
  }
  std::erase_if(host_calls_, [&](HostCall* call) {
    if (call->device == &device) call->dropped = true;
    return call->device == &device;
  });
  std::erase_if(blocked_nodes_, [&](const BlockedNode& node) { return node.device == &device; });
  std::erase_if(runs_, [&](GraphRun* run) {
    if (run->item->stream->context->device != &device) return false;
    delete run;
    return true;
  });
}

void Scheduler::drop_streams(Device& device) {
  for (Context* context : device.contexts) {
    // The entries go with the commands.
    for (HardwareQueue& queue : context->queues) queue = {nullptr, nullptr, {}, queue.entries};
    const std::vector<Stream*> streams = context->streams;
    for (Stream* stream : streams) {
      while (stream->head != nullptr) {
        StreamItem* item = stream->head;
        if (auto* record = std::get_if<RecordCommand>(&item->command)) {
          record->record->done = true;
          record->record->at = clock_;
          release(record->record);
        } else if (auto* wait = std::get_if<WaitCommand>(&item->command); wait != nullptr && wait->record != nullptr) {
          release(wait->record);
        }
        const bool last = item->next_in_stream == nullptr;
        finish_item(item, clock_);  // releases a destroyed stream with its last command
        if (last) break;
      }
    }
  }
}

}  // namespace simgpu
