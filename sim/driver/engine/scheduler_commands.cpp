// The effect of each command when its turn has come, and the running of graphs; see scheduler.h.
#include <algorithm>
#include <atomic>
#include <utility>

#include "engine/activity.h"
#include "engine/scheduler.h"

namespace simgpu {
namespace {

constexpr Duration longest_poll{constants::longest_value_wait_poll};
// Smaller copies are made by the engine's own thread.
constexpr std::size_t inline_copy_bytes = 64 * 1024;

template <class... Functions>
struct Overloaded : Functions... {
  using Functions::operator()...;
};
template <class... Functions>
Overloaded(Functions...) -> Overloaded<Functions...>;

template <class Word>
bool compare(void* address, uint64_t wanted, uint8_t comparison) {
  const Word word = std::atomic_ref<Word>(*static_cast<Word*>(address)).load(std::memory_order_acquire);
  const Word value = static_cast<Word>(wanted);
  switch (comparison) {
    case CU_STREAM_WAIT_VALUE_EQ:
      return word == value;
    case CU_STREAM_WAIT_VALUE_AND:
      return (word & value) != 0;
    case CU_STREAM_WAIT_VALUE_NOR:
      return static_cast<Word>(~(word | value)) != 0;
    default:
      return static_cast<std::make_signed_t<Word>>(word - value) >= 0;
  }
}

const char* name_of(CopyKind kind) {
  switch (kind) {
    case CopyKind::host_to_device:
      return "h2d";
    case CopyKind::device_to_host:
      return "d2h";
    case CopyKind::device_to_device:
      return "d2d";
    case CopyKind::host_to_host:
      return "h2h";
  }
  return "";
}

}  // namespace

bool Scheduler::satisfied(const MemoryOperation& operation) const {
  if (operation.kind != MemoryOperation::Kind::wait) return true;
  return operation.bytes == 8 ? compare<uint64_t>(operation.address, operation.value, operation.comparison)
                              : compare<uint32_t>(operation.address, operation.value, operation.comparison);
}

bool Scheduler::satisfied(const Owner& owner, const Command& command) {
  if (const auto* wait = std::get_if<WaitCommand>(&command)) {
    const EventRecord* record = owner.run == nullptr ? wait->record : wait->event->last;
    return record == nullptr || record->done;
  }
  bool holds = true;
  if (const auto* operation = std::get_if<MemoryOperation>(&command)) {
    if (operation->kind != MemoryOperation::Kind::wait) return true;
    holds = satisfied(*operation);
  } else if (const auto* batch = std::get_if<MemoryBatch>(&command)) {
    holds = std::all_of(batch->operations->begin(), batch->operations->end(),
                        [this](const MemoryOperation& each) { return satisfied(each); });
  } else {
    return true;
  }
  if (holds) {
    poll_period_ = shortest_poll;
  } else if (!polling_) {
    // The word may be written by anybody, without a call: it is looked at from time to time, less and less often.
    polling_ = true;
    poll_period_ = std::min(poll_period_ + poll_period_ / 4, longest_poll);
    add_timer(std::max(clock_, now()) + poll_period_, TimerKind::poll_memory, nullptr, nullptr);
  }
  return holds;
}

void Scheduler::execute(const Owner& owner, const Command& command) {
  std::visit(Overloaded{
                 [&](const EmptyCommand&) { finish(owner, clock_); },
                 [&](const KernelCommand& kernel) { begin_kernel(owner, kernel); },
                 [&](const CopyCommand& copy) {
                   if (copy.kind == CopyKind::device_to_device) {
                     begin_block_copy(owner, copy.box, nullptr);
                   } else {
                     begin_transfer(owner, copy);
                   }
                 },
                 [&](const SetCommand& set) { begin_block_copy(owner, nullptr, set.box); },
                 [&](const HostCommand& host) { call_host(owner, host); },
                 [&](const RecordCommand& record) { complete_record(owner, record); },
                 [&](const WaitCommand& wait) {
                   EventRecord* const awaited = owner.run == nullptr ? wait.record : nullptr;
                   if (awaited != nullptr) log_wait(*owner.item, *awaited);
                   finish(owner, clock_);
                   if (awaited != nullptr) release(awaited);
                 },
                 [&](const MemoryOperation& operation) {
                   execute_memory(operation);
                   finish(owner, clock_);
                 },
                 [&](const MemoryBatch& batch) {
                   for (const MemoryOperation& operation : *batch.operations) execute_memory(operation);
                   finish(owner, clock_);
                 },
                 [&](const GraphCommand& graph) { begin_graph(owner, graph); },
                 [&](const ActionCommand& action) {
                   (*action.action)();
                   finish(owner, clock_);
                 },
             },
             command);
}

// One that has held its stream up, as long as the other stream had not come so far.
void Scheduler::log_wait(const StreamItem& item, const EventRecord& awaited) {
  const Stream& stream = *item.stream;
  TruthLog& log = stream.context->device->model->log;
  const Time due = due_at(item);
  if (!log.enabled() || due >= awaited.due || awaited.stream == 0) return;
  Record record("wait");
  record.add("stream", stream.id).add("for", awaited.stream).add("start", due).add("end", awaited.due);
  record.add("thread", thread_name(item.thread));
  log.add(record.text());
}

void Scheduler::execute_memory(const MemoryOperation& operation) const {
  if (operation.kind != MemoryOperation::Kind::write) return;
  if (operation.bytes == 8) {
    std::atomic_ref<uint64_t>(*static_cast<uint64_t*>(operation.address))
        .store(operation.value, std::memory_order_release);
  } else {
    std::atomic_ref<uint32_t>(*static_cast<uint32_t*>(operation.address))
        .store(static_cast<uint32_t>(operation.value), std::memory_order_release);
  }
}

void Scheduler::complete_record(const Owner& owner, const RecordCommand& command) {
  EventRecord* record = command.record;
  if (owner.run != nullptr) {
    record = new_record();
    if (command.event->last != nullptr) release(command.event->last);
    command.event->last = record;
    ++record->references;
  }
  record->due = std::max(record->due, owner.run == nullptr ? due_at(*owner.item) : clock_);
  if (--record->parts == 0) {
    record->done = true;
    record->at = clock_;
  }
  release(record);
  finish(owner, clock_);
}

void Scheduler::call_host(const Owner& owner, const HostCommand& command) {
  auto* call = new HostCall{owner, owner.stream().context->device};
  host_calls_.push_back(call);
  calls_.post([this, call, command] {
    if (command.callback != nullptr) {
      command.callback(command.stream, CUDA_SUCCESS, command.user_data);
    } else {
      command.function(command.user_data);
    }
    std::unique_lock guard(lock_);
    if (call->dropped) {
      delete call;
      return;
    }
    const Time at = now();
    add_timer(at, TimerKind::host_end, call->device, call);
    advance(at);
    settle_(guard);
  });
}

void Scheduler::begin_transfer(const Owner& owner, const CopyCommand& command) {
  auto* transfer = new Transfer;
  transfer->owner = owner;
  transfer->device = owner.stream().context->device;
  transfer->kind = command.kind;
  transfer->box = command.box;
  DeviceModel& model = *transfer->device->model;
  CopyEngine& copies = command.kind == CopyKind::host_to_device ? model.upload : model.download;
  copies.waiting.push_back(transfer);
  start_transfer(copies);
}

void Scheduler::start_transfer(CopyEngine& copies) {
  if (copies.active != nullptr || copies.waiting.empty()) return;
  Transfer* transfer = copies.waiting.front();
  copies.waiting.pop_front();
  copies.active = transfer;
  transfer->start = clock_;
  const double seconds = static_cast<double>(transfer->box->bytes()) / settings_.host_bandwidth;
  const Time end = clock_ + settings_.copy_latency + scaled(seconds);
  if (transfer->box->bytes() <= inline_copy_bytes) {
    transfer->box->execute();
  } else {
    transfer->effect_pending = true;
    effects_.post([this, transfer] {
      const Time begin = now();
      transfer->box->execute();
      std::unique_lock guard(lock_);
      if (transfer->dropped) {
        delete transfer;
        return;
      }
      transfer->effect_computed = true;
      finish_effect(transfer->start + (now() - begin), TimerKind::transfer_done, transfer->device, transfer, guard);
    });
  }
  add_timer(end, TimerKind::transfer_end, transfer->device, transfer);
}

void Scheduler::end_transfer(Transfer* transfer) {
  DeviceModel& model = *transfer->device->model;
  if (model.log.enabled()) {
    Record record("copy");
    record.add("kind", name_of(transfer->kind)).add("bytes", uint64_t{transfer->box->bytes()});
    record.add("stream", transfer->owner.stream().id).add("launched", transfer->owner.item->arrival);
    if (transfer->owner.run == nullptr) record.add("due", due_at(*transfer->owner.item));
    record.add("start", transfer->start).add("end", clock_);
    record.add("thread", thread_name(transfer->owner.item->thread));
    model.log.add(record.text());
  }
  if (const auto sink = activity_sink(); sink != nullptr) {
    const Stream& stream = transfer->owner.stream();
    const simgpu_activity activity{name_of(transfer->kind),
                                   nullptr,
                                   0,
                                   transfer->device->ordinal,
                                   stream.context->id,
                                   stream.id,
                                   transfer->owner.item->number,
                                   nanoseconds(transfer->start),
                                   nanoseconds(clock_),
                                   uint64_t{transfer->box->bytes()}};
    sink(&activity);
  }
  CopyEngine& copies = model.upload.active == transfer ? model.upload : model.download;
  copies.active = nullptr;
  start_transfer(copies);
  finish(transfer->owner, clock_);
  delete transfer;
}

void Scheduler::begin_graph(const Owner& owner, const GraphCommand& command) {
  const GraphProgram& program = *command.program;
  if (program.nodes.empty()) {
    if (owner.stream().queue->head == owner.item) pop(*owner.stream().queue);
    finish(owner, clock_);
    return;
  }
  auto* run = new GraphRun;
  run->item = owner.item;
  run->program = command.program;
  run->unfinished = program.nodes.size();
  run->not_begun = program.nodes.size();
  runs_.push_back(run);
  Device* device = owner.stream().context->device;
  for (uint32_t node = 0; node < program.nodes.size(); ++node) {
    run->waiting.push_back(program.nodes[node].dependencies);
    if (program.nodes[node].dependencies == 0) add_timer(clock_, TimerKind::start_node, device, run, node);
  }
}

void Scheduler::start_node(GraphRun* run, uint32_t node) {
  const Command& command = run->program->nodes[node].command;
  const Owner owner{run->item, run, node};
  if (satisfied(owner, command)) {
    begin_node(owner, command);
  } else {
    blocked_nodes_.push_back({owner, owner.stream().context->device});
  }
}

// With its last node a graph leaves a hardware queue that it holds.
void Scheduler::begin_node(const Owner& owner, const Command& command) {
  HardwareQueue& queue = *owner.stream().queue;
  if (--owner.run->not_begun == 0 && queue.head == owner.item) pop(queue);
  execute(owner, command);
}

void Scheduler::finish_node(GraphRun* run, uint32_t node, Time at) {
  const GraphProgram& program = *run->program;
  Device* device = run->item->stream->context->device;
  for (const uint32_t successor : program.nodes[node].successors) {
    if (--run->waiting[successor] > 0) continue;
    const Command& command = program.nodes[successor].command;
    const bool waits = std::holds_alternative<WaitCommand>(command);
    const Duration gap = waits ? settings_.dependency_gap : gap_before(command);
    add_timer(at + gap, TimerKind::start_node, device, run, successor);
  }
  if (--run->unfinished > 0) return;
  std::erase(runs_, run);
  finish_item(run->item, at);
  delete run;
}

bool Scheduler::retry_blocked_nodes() {
  bool progress = false;
  for (std::size_t index = 0; index < blocked_nodes_.size();) {
    const Owner owner = blocked_nodes_[index].owner;
    const Command& command = owner.run->program->nodes[owner.node].command;
    if (!satisfied(owner, command)) {
      ++index;
      continue;
    }
    blocked_nodes_.erase(blocked_nodes_.begin() + static_cast<std::ptrdiff_t>(index));
    begin_node(owner, command);
    progress = true;
  }
  return progress;
}

}  // namespace simgpu
