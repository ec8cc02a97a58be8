// Timers, hardware queues and streams; see scheduler.h.
#include "engine/scheduler.h"

#include <algorithm>
#include <utility>

#include "engine/slab.h"

namespace simgpu {
namespace {

bool is_work(const Command& command) {
  return std::holds_alternative<KernelCommand>(command) || std::holds_alternative<CopyCommand>(command) ||
         std::holds_alternative<SetCommand>(command) || std::holds_alternative<GraphCommand>(command) ||
         std::holds_alternative<HostCommand>(command);
}

}  // namespace

// Waits and the like follow the command before them at once.
Duration Scheduler::gap_before(const Command& command) const {
  if (is_work(command)) return settings_.dependency_gap;
  if (std::holds_alternative<RecordCommand>(command)) return settings_.record_time;
  const auto is_write = [](const MemoryOperation& each) { return each.kind == MemoryOperation::Kind::write; };
  if (const auto* operation = std::get_if<MemoryOperation>(&command)) {
    return is_write(*operation) ? settings_.write_time : Duration(0);
  }
  const auto* batch = std::get_if<MemoryBatch>(&command);
  if (batch == nullptr) return Duration(0);
  return settings_.write_time * std::count_if(batch->operations->begin(), batch->operations->end(), is_write);
}

Scheduler::Scheduler(const Settings& settings, std::vector<std::unique_ptr<Device>>& devices, std::mutex& lock,
                     std::function<void(std::unique_lock<std::mutex>&)> settle)
    : settings_(settings),
      devices_(devices),
      lock_(lock),
      settle_(std::move(settle)),
      poll_period_(shortest_poll),
      random_(settings.seed),
      effects_("simgpu-work", 2, settings.realtime ? Precedence::effect : Precedence::host) {}

void Scheduler::add_timer(Time at, TimerKind kind, Device* device, void* object, uint32_t index) {
  const auto later = [](const Timer& a, const Timer& b) { return a.at != b.at ? a.at > b.at : a.order > b.order; };
  timers_.push_back({std::max(at, clock_), ++timer_count_, kind, index, device, object});
  std::push_heap(timers_.begin(), timers_.end(), later);
}

Time Scheduler::held_until() const {
  Time until = Time::max();
  for (const Hold& hold : holds_) until = std::min(until, hold.at);
  return until;
}

Time Scheduler::next_event() const {
  Time next = timers_.empty() || timers_.front().at > held_until() ? Time::max() : timers_.front().at;
  for (const RunningKernel* kernel : spinning_) {
    if (!kernel->finish_known && !kernel->stepping) next = std::min(next, kernel->next_step);
  }
  return next;
}

void Scheduler::advance(Time until) {
  const auto later = [](const Timer& a, const Timer& b) { return a.at != b.at ? a.at > b.at : a.order > b.order; };
  while (!timers_.empty() && timers_.front().at <= std::min(until, held_until())) {
    const Timer timer = timers_.front();
    std::pop_heap(timers_.begin(), timers_.end(), later);
    timers_.pop_back();
    clock_ = timer.at;
    handle(timer);
    issue_all();
    if (poisoned_ != nullptr) apply_poison();
  }
}

void Scheduler::handle(const Timer& timer) {
  switch (timer.kind) {
    case TimerKind::poke:
      break;
    case TimerKind::poll_memory:
      polling_ = false;
      break;
    case TimerKind::start_node:
      start_node(static_cast<GraphRun*>(timer.object), timer.index);
      break;
    case TimerKind::cohort_end:
      end_cohort(static_cast<Cohort*>(timer.object));
      break;
    case TimerKind::kernel_end:
      end_kernel(static_cast<RunningKernel*>(timer.object));
      break;
    case TimerKind::effect_end: {
      auto* kernel = static_cast<RunningKernel*>(timer.object);
      kernel->effect_pending = false;
      if (Cohort* held = std::exchange(kernel->held, nullptr)) end_cohort(held);
      break;
    }
    case TimerKind::transfer_end: {
      auto* transfer = static_cast<Transfer*>(timer.object);
      transfer->time_over = true;
      if (!transfer->effect_pending) {
        end_transfer(transfer);
      } else if (!transfer->effect_computed) {
        holds_.push_back({transfer, clock_});
      }
      break;
    }
    case TimerKind::transfer_done: {
      auto* transfer = static_cast<Transfer*>(timer.object);
      transfer->effect_pending = false;
      if (transfer->time_over) end_transfer(transfer);
      break;
    }
    case TimerKind::host_end: {
      auto* call = static_cast<HostCall*>(timer.object);
      std::erase(host_calls_, call);
      finish(call->owner, clock_);
      delete call;
      break;
    }
  }
}

void Scheduler::append(Stream& stream, Command&& command, Time arrival) {
  StreamItem* item = take_item();
  item->stream = &stream;
  item->number = ++last_number_;
  item->arrival = arrival;
  // Known by its kind, a command is moved by a few instructions; the variant's own assignment goes through a table.
  std::visit([item]<class Kind>(Kind& kind) { item->command.emplace<Kind>(std::move(kind)); }, command);
  if (auto* record = std::get_if<RecordCommand>(&item->command)) {
    if (record->joins) {
      ++record->event->last->parts;
    } else {
      if (record->event->last != nullptr) release(record->event->last);
      record->event->last = new_record();
    }
    record->record = record->event->last;
    record->record->stream = stream.id;
    ++record->record->references;
  } else if (auto* wait = std::get_if<WaitCommand>(&item->command)) {
    if (wait->event != nullptr) wait->record = wait->event->last;
    if (wait->record != nullptr) ++wait->record->references;
  }
  const bool is_told = is_work(item->command) || std::holds_alternative<WaitCommand>(item->command);
  if (is_told && stream.context->device->model->log.enabled()) item->thread = current_thread(arrival);

  (stream.tail == nullptr ? stream.head : stream.tail->next_in_stream) = item;
  stream.tail = item;
  HardwareQueue& queue = *stream.queue;
  (queue.tail == nullptr ? queue.head : queue.tail->next_in_queue) = item;
  queue.tail = item;
  // Behind other commands there is nothing to do: what ends before it will look at it.
  if (queue.head == item && (stream.head == item || may_pass(*item))) poke(*item, arrival + settings_.launch_latency);
}

void Scheduler::take_entry(Stream& stream) {
  if (stream.tail == nullptr || stream.tail->takes_entry) return;
  stream.tail->takes_entry = true;
  ++stream.queue->entries;
}

void Scheduler::issue_all() {
  for (bool progress = true; progress;) {
    progress = false;
    for (const auto& device : devices_) {
      for (Context* context : device->contexts) {
        for (HardwareQueue& queue : context->queues) {
          while (issue_head(queue) || issue_passed(queue)) progress = true;
        }
      }
      if (retry_blocked_nodes()) progress = true;
      if (place_blocks(*device)) progress = true;
    }
  }
}

bool Scheduler::default_stream_allows(const StreamItem& item) {
  const Stream& stream = *item.stream;
  const Context& context = *stream.context;
  if (stream.blocking()) return context.legacy->head == nullptr || context.legacy->head->number > item.number;
  if (stream.kind != StreamKind::legacy) return true;
  return std::none_of(context.streams.begin(), context.streams.end(), [&](const Stream* other) {
    return other->blocking() && other->head != nullptr && other->head->number < item.number;
  });
}

// A wait stands before it in its stream.
bool Scheduler::is_behind_wait(const StreamItem& item) {
  for (const StreamItem* before = item.stream->head; before != nullptr && before != &item;
       before = before->next_in_stream) {
    if (std::holds_alternative<WaitCommand>(before->command)) return true;
  }
  return false;
}

// Whether it waits for its turn in its stream, or for its event, without holding up the hardware queue.
bool Scheduler::may_pass(const StreamItem& item) const {
  const QueueModel& model = settings_.queue;
  const bool is_behind = item.stream->head != &item;
  const auto is_write = [](const MemoryOperation& each) { return each.kind != MemoryOperation::Kind::wait; };
  if (std::holds_alternative<WaitCommand>(item.command)) return !model.wait_holds;
  if (!is_behind) return false;
  if (std::holds_alternative<RecordCommand>(item.command))
    return !model.record_holds && !(model.record_behind_wait_holds && is_behind_wait(item));
  if (std::holds_alternative<KernelCommand>(item.command)) return !model.kernel_holds;
  if (const auto* operation = std::get_if<MemoryOperation>(&item.command)) {
    return !model.write_holds && is_write(*operation);
  }
  const auto* batch = std::get_if<MemoryBatch>(&item.command);
  return batch != nullptr && !model.write_holds &&
         std::all_of(batch->operations->begin(), batch->operations->end(), is_write);
}

void Scheduler::poke(StreamItem& item, Time at) {
  if (item.poke_at == at) return;
  item.poke_at = at;
  add_timer(at, TimerKind::poke, item.stream->context->device, nullptr);
}

// When nothing is left that the program has put before it: after that only its hardware queue holds it up, or a lack of
// room. Of the oldest of its stream.
Time Scheduler::due_at(const StreamItem& item) const {
  const Time arrived = item.arrival + settings_.launch_latency;
  const Time last = item.stream->last_due;
  return last == Time::min() ? arrived : std::max(arrived, last + gap_before(item.command));
}

Time Scheduler::due_end(const StreamItem& item, Time end) const {
  if (is_work(item.command) || std::holds_alternative<ActionCommand>(item.command)) return end;
  if (std::holds_alternative<MemoryOperation>(item.command) || std::holds_alternative<MemoryBatch>(item.command))
    return end;  // may be a wait for a word, and nobody knows when that was written
  const auto* wait = std::get_if<WaitCommand>(&item.command);
  return wait != nullptr && wait->record != nullptr ? std::max(due_at(item), wait->record->due) : due_at(item);
}

// It is the oldest of its stream, and nothing is left that it would have to wait for.
bool Scheduler::has_turn(StreamItem& item) {
  const Stream& stream = *item.stream;
  if (stream.head != &item || !default_stream_allows(item)) return false;
  Time ready = item.arrival + settings_.launch_latency;
  if (const Duration gap = gap_before(item.command); gap > Duration(0)) ready = std::max(ready, stream.last_end + gap);
  if (ready > clock_) {
    poke(item, ready);
    return false;
  }
  return satisfied(Owner{&item}, item.command);
}

bool Scheduler::issue_head(HardwareQueue& queue) {
  StreamItem* item = queue.head;
  if (item == nullptr || item->issued || poisoned_ != nullptr) return false;
  if (!has_turn(*item)) return let_head_pass(queue);
  item->issued = true;
  // Thread blocks that wait for room keep the queue's head: it is given up when the first of them starts.
  const auto* copy = std::get_if<CopyCommand>(&item->command);
  const bool blocks = std::holds_alternative<KernelCommand>(item->command) ||
                      std::holds_alternative<SetCommand>(item->command) ||
                      (copy != nullptr && copy->kind == CopyKind::device_to_device);
  // A graph whose nodes pass through the queue, too, keeps the head until the last of them has begun.
  const bool keeps_head = settings_.queue.graph_holds && std::holds_alternative<GraphCommand>(item->command);
  if (!blocks && !keeps_head) pop(queue);
  execute(Owner{item}, item->command);
  return true;
}

bool Scheduler::let_head_pass(HardwareQueue& queue) {
  StreamItem* item = queue.head;
  if (!may_pass(*item)) return false;
  if (const Time ready = item->arrival + settings_.launch_latency; ready > clock_) {
    poke(*item, ready);
    return false;
  }
  pop(queue);
  item->passed = true;
  queue.passed.push_back(item);
  return true;
}

bool Scheduler::issue_passed(HardwareQueue& queue) {
  for (std::size_t index = 0; index < queue.passed.size(); ++index) {
    StreamItem* item = queue.passed[index];
    if (poisoned_ != nullptr || !has_turn(*item)) continue;
    queue.passed.erase(queue.passed.begin() + static_cast<std::ptrdiff_t>(index));
    item->issued = true;
    execute(Owner{item}, item->command);
    return true;
  }
  return false;
}

void Scheduler::pop(HardwareQueue& queue) {
  StreamItem* item = queue.head;
  queue.head = item->next_in_queue;
  if (queue.head == nullptr) queue.tail = nullptr;
}

void Scheduler::finish(const Owner& owner, Time at) {
  if (owner.run != nullptr) {
    finish_node(owner.run, owner.node, at);
  } else {
    finish_item(owner.item, at);
  }
}

void Scheduler::finish_item(StreamItem* item, Time at) {
  Stream& stream = *item->stream;
  stream.last_due = due_end(*item, at);
  stream.last_end = at;
  stream.head = item->next_in_stream;
  if (stream.head == nullptr) stream.tail = nullptr;
  if (item->takes_entry) --stream.queue->entries;
  recycle(item);
  if (stream.destroyed && stream.head == nullptr) {
    std::erase(stream.context->streams, &stream);
    slab<Stream>.release(&stream);
  }
}

StreamItem* Scheduler::take_item() {
  if (free_items_ == nullptr) {
    item_blocks_.push_back(std::make_unique<StreamItem[]>(item_block));
    for (std::size_t index = item_block; index-- > 0;) {
      StreamItem* spare = &item_blocks_.back()[index];
      spare->next_in_queue = free_items_;
      free_items_ = spare;
    }
  }
  StreamItem* item = free_items_;
  free_items_ = item->next_in_queue;
  item->next_in_queue = nullptr;
  return item;
}

void Scheduler::recycle(StreamItem* item) {
  item->command = EmptyCommand{};
  item->next_in_stream = nullptr;
  item->issued = false;
  item->passed = false;
  item->takes_entry = false;
  item->poke_at = Time::max();
  item->thread = 0;
  item->next_in_queue = free_items_;
  free_items_ = item;
}

EventRecord* Scheduler::new_record() {
  EventRecord* record = free_records_;
  if (record == nullptr) {
    record = new EventRecord;
  } else {
    free_records_ = record->next_free;
  }
  record->done = false;
  record->due = Time::min();
  record->stream = 0;
  record->parts = 1;
  record->references = 1;
  return record;
}

void Scheduler::release(EventRecord* record) {
  if (--record->references > 0) return;
  record->next_free = free_records_;
  free_records_ = record;
}

void Scheduler::stop_workers() {
  effects_.stop();
  calls_.stop();
}

}  // namespace simgpu
