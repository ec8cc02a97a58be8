// Thread blocks: how long they take, where they are placed, when a kernel is over; see scheduler.h.
//
// Time of a block: its share of the cost on one multiprocessor, times the blocks of the same kernel resident there
// (they share its throughput), stretched by the threads of other kernels resident there when it starts. It is fixed
// from then on: a later neighbour is slowed down, an earlier one is not.
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <map>
#include <utility>

#include "engine/activity.h"
#include "engine/scheduler.h"

namespace simgpu {
namespace {

constexpr Duration shortest_block_time{constants::shortest_block};
// A spinning kernel is woken by the doorbell; this is only in case somebody forgot to ring.
constexpr Duration step_period = std::chrono::milliseconds(1);

}  // namespace

Duration Scheduler::scaled(double seconds) {
  double factor = settings_.faults.slowdown;
  if (settings_.faults.jitter > 0) {
    factor *= 1 + settings_.faults.jitter * std::uniform_real_distribution<double>(-1, 1)(random_);
  }
  return Duration(std::llround(std::min(seconds * factor, 1e6) * 1e9));
}

int Scheduler::priority_of(const Owner& owner, const KernelLaunch* launch) const {
  if (launch != nullptr && launch->has_priority) return launch->priority;
  if (owner.run != nullptr && owner.run->program->nodes[owner.node].has_priority) {
    return owner.run->program->nodes[owner.node].priority;
  }
  return owner.stream().priority;
}

SmShare Scheduler::share_of(const Owner& owner) {
  return owner.run != nullptr ? owner.run->program->nodes[owner.node].share : owner.stream().context->share;
}

bool Scheduler::launch_fault(Device& device) {
  ++kernel_count_;
  const Faults& faults = settings_.faults;
  if (faults.deadly_launch == kernel_count_) {
    for (const auto& each : devices_) {
      if (each->model->log.enabled()) each->model->log.write(each->model->log.take());
    }
    kill(getpid(), SIGKILL);
  }
  if (faults.failing_launch != kernel_count_) return false;
  poisoned_ = &device;
  poison_error_ = static_cast<CUresult>(faults.failing_launch_code);
  return true;
}

void Scheduler::begin_kernel(const Owner& owner, const KernelCommand& command) {
  const KernelLaunch& launch = *command.launch;
  Device& device = *owner.stream().context->device;
  if (launch_fault(device)) return;
  auto kernel = std::make_unique<RunningKernel>();
  kernel->owner = owner;
  kernel->device = &device;
  kernel->name = launch.image->name;
  kernel->launch = command.launch;
  const simgpu_kernel* host = launch.image->host.load(std::memory_order_acquire);
  // A kernel that was registered after this launch was made has no copies of its parameters.
  if (host != nullptr && host->parameter_count == launch.shape.parameter_count) kernel->host = host;
  kernel->spins = kernel->host != nullptr && kernel->host->step != nullptr;
  kernel->needs = BlockNeeds::of(launch.block_threads(), launch.image->registers_per_thread(),
                                 launch.image->static_shared_bytes() + launch.shape.shared_bytes);
  kernel->blocks = launch.block_count();
  kernel->together = launch.cooperative ? kernel->blocks : launch.cluster_blocks;
  kernel->priority = priority_of(owner, &launch);
  kernel->share = share_of(owner);

  double seconds = std::chrono::duration<double>(settings_.block_time).count();
  kernel->shares_throughput = false;
  if (kernel->host != nullptr && kernel->host->cost != nullptr) {
    const simgpu_cost cost = kernel->host->cost(&launch.shape);
    const double share = static_cast<double>(settings_.multiprocessors) / static_cast<double>(kernel->blocks);
    seconds = std::max(cost.flops / settings_.flops, cost.bytes / settings_.bandwidth) * share;
    kernel->shares_throughput = true;
  }
  kernel->block_time = std::max(scaled(seconds), shortest_block_time);
  enqueue_blocks(std::move(kernel));
}

void Scheduler::begin_block_copy(const Owner& owner, std::shared_ptr<const CopyBox> copy,
                                 std::shared_ptr<const SetBox> set) {
  auto kernel = std::make_unique<RunningKernel>();
  kernel->owner = owner;
  kernel->device = owner.stream().context->device;
  kernel->name = copy != nullptr ? "d2d" : "set";
  const std::size_t bytes = copy != nullptr ? copy->bytes() : set->bytes();
  const double moved = copy != nullptr ? 2.0 * static_cast<double>(bytes) : static_cast<double>(bytes);
  kernel->copy = std::move(copy);
  kernel->set = std::move(set);
  kernel->needs = BlockNeeds::of(constants::copy_block_threads, constants::copy_block_registers, 0);
  kernel->blocks = std::clamp<uint64_t>(bytes / constants::copy_block_bytes, 1, settings_.multiprocessors);
  kernel->priority = priority_of(owner, nullptr);
  kernel->share = share_of(owner);
  const double share = static_cast<double>(settings_.multiprocessors) / static_cast<double>(kernel->blocks);
  kernel->block_time = std::max(scaled(moved / settings_.bandwidth * share), shortest_block_time);
  enqueue_blocks(std::move(kernel));
}

void Scheduler::enqueue_blocks(std::unique_ptr<RunningKernel> owned) {
  RunningKernel* kernel = owned.release();
  DeviceModel& model = *kernel->device->model;
  kernel->order = ++kernel_order_;
  kernel->unplaced = kernel->blocks;
  kernel->resident.assign(model.multiprocessors.count(), 0);
  model.kernels.push_back(kernel);
  const auto behind = std::find_if(model.unplaced.begin(), model.unplaced.end(),
                                   [&](const RunningKernel* other) { return other->priority > kernel->priority; });
  model.unplaced.insert(behind, kernel);
}

// The first kernel that has blocks left and no room holds up those after it in the same share, as the work distributor
// does: otherwise small blocks of low priority would keep a cluster that needs whole multiprocessors out without end.
// Those of another share go on: on an H200 a cluster of NCCL's shape started 2.7 us behind a full green context.
bool Scheduler::place_blocks(Device& device) {
  DeviceModel& model = *device.model;
  bool progress = false;
  std::vector<SmShare> held_up;
  for (std::size_t next = 0; next < model.unplaced.size();) {
    RunningKernel& kernel = *model.unplaced[next];
    if (std::find(held_up.begin(), held_up.end(), kernel.share) != held_up.end()) {
      ++next;
      continue;
    }
    uint64_t blocks = std::min(kernel.unplaced, model.multiprocessors.room(kernel.needs, kernel.share));
    blocks -= blocks % kernel.together;
    if (blocks != 0) {
      progress = true;
      place(kernel, blocks);
    }
    if (kernel.unplaced > 0) {
      held_up.push_back(kernel.share);
      ++next;
      continue;
    }
    std::erase(model.unplaced, &kernel);
    if (kernel.spins) {
      kernel.all_placed = clock_;
      kernel.next_step = clock_;
      spinning_.push_back(&kernel);
    }
  }
  return progress;
}

void Scheduler::place(RunningKernel& kernel, uint64_t blocks) {
  DeviceModel& model = *kernel.device->model;
  const Multiprocessors::Counts counts = model.multiprocessors.place(kernel.needs, blocks, kernel.share);
  kernel.unplaced -= blocks;
  kernel.running += blocks;
  const bool is_first = kernel.started == Time::max();
  if (is_first) kernel.lowest_multiprocessor = model.multiprocessors.count();
  for (unsigned index = 0; index < counts.size(); ++index) {
    if (counts[index] == 0) continue;
    kernel.resident[index] = static_cast<uint8_t>(kernel.resident[index] + counts[index]);
    kernel.lowest_multiprocessor = std::min(kernel.lowest_multiprocessor, index);
    kernel.highest_multiprocessor = std::max(kernel.highest_multiprocessor, index);
  }
  const auto held = std::count_if(kernel.resident.begin(), kernel.resident.end(), [](uint8_t n) { return n > 0; });
  kernel.most_multiprocessors = std::max(kernel.most_multiprocessors, static_cast<unsigned>(held));
  if (is_first) first_block_started(kernel);
  if (!kernel.spins) start_cohorts(kernel, counts);
}

// Blocks with equal surroundings take equally long and form one cohort, so that the cost is per wave and not per block.
void Scheduler::start_cohorts(RunningKernel& kernel, const Multiprocessors::Counts& counts) {
  const Multiprocessors& all = kernel.device->model->multiprocessors;
  std::map<std::pair<uint32_t, uint32_t>, Cohort*> cohorts;  // by own blocks and other threads on the multiprocessor
  for (unsigned index = 0; index < counts.size(); ++index) {
    if (counts[index] == 0) continue;
    const uint32_t own_blocks = kernel.resident[index];
    const uint32_t own_threads = own_blocks * kernel.needs.threads;
    Cohort*& cohort = cohorts[{own_blocks, all.resident_threads(index) - own_threads}];
    if (cohort == nullptr) {
      cohort = new Cohort;
      cohort->kernel = &kernel;
      cohort->counts.assign(counts.size(), 0);
    }
    cohort->counts[index] = counts[index];
    cohort->blocks += counts[index];
  }
  for (const auto& [surroundings, cohort] : cohorts) {
    const auto [own_blocks, other_threads] = surroundings;
    const double own_threads = own_blocks * static_cast<double>(kernel.needs.threads);
    double factor = (own_threads + other_threads) / own_threads;
    if (kernel.shares_throughput) factor *= own_blocks;
    const auto time = Duration(std::llround(static_cast<double>(kernel.block_time.count()) * factor));
    add_timer(clock_ + time, TimerKind::cohort_end, kernel.device, cohort);
  }
}

void Scheduler::first_block_started(RunningKernel& kernel) {
  kernel.started = clock_;
  if (kernel.device->model->log.enabled()) kernel.start_told = now();
  const bool at_head = kernel.owner.run == nullptr && !kernel.owner.item->passed;
  if (at_head) pop(*kernel.owner.stream().queue);
  if (kernel.spins) {
    ++kernel.device->model->spinning;
    return;
  }
  const bool runs = kernel.host != nullptr && kernel.host->run != nullptr;
  if (!runs && kernel.launch != nullptr) return;
  kernel.effect_pending = true;
  effects_.post([this, &kernel] {
    const Time begin = now();
    if (kernel.copy != nullptr) kernel.copy->execute();
    if (kernel.set != nullptr) kernel.set->execute();
    if (kernel.launch != nullptr) kernel.host->run(&kernel.launch->shape);
    std::unique_lock guard(lock_);
    if (kernel.dropped) {
      delete &kernel;
      return;
    }
    kernel.effect_computed = true;
    finish_effect(kernel.started + (now() - begin), TimerKind::effect_end, kernel.device, &kernel, guard);
  });
}

// The effect of something that started at a logical time takes as long as it took here, from then: that the engine or
// the worker was late does not count, unless later things have been handled in the meantime.
void Scheduler::finish_effect(Time end, TimerKind kind, Device* device, void* object,
                              std::unique_lock<std::mutex>& guard) {
  std::erase_if(holds_, [&](const Hold& hold) { return hold.object == object; });
  add_timer(end, kind, device, object);
  advance(now());
  settle_(guard);
}

void Scheduler::end_cohort(Cohort* cohort) {
  RunningKernel& kernel = *cohort->kernel;
  const bool last = kernel.unplaced == 0 && kernel.running == cohort->blocks;
  if (last && kernel.effect_pending) {
    kernel.held = cohort;
    kernel.held_since = clock_;
    if (!kernel.effect_computed) holds_.push_back({&kernel, clock_});
    return;
  }
  kernel.device->model->multiprocessors.release(kernel.needs, cohort->counts);
  kernel.running -= cohort->blocks;
  for (std::size_t index = 0; index < cohort->counts.size(); ++index) {
    kernel.resident[index] = static_cast<uint8_t>(kernel.resident[index] - cohort->counts[index]);
  }
  delete cohort;
  if (last) end_kernel(&kernel);
}

void Scheduler::end_kernel(RunningKernel* kernel) {
  DeviceModel& model = *kernel->device->model;
  if (kernel->spins) {
    model.multiprocessors.release(kernel->needs, kernel->resident);
    --model.spinning;
    std::erase(spinning_, kernel);
  }
  if (model.log.enabled()) log_kernel(*kernel);
  if (const auto sink = activity_sink(); sink != nullptr) tell(*kernel, sink);
  model.kernels.remove(kernel);
  finish(kernel->owner, clock_);
  delete kernel;
}

void Scheduler::tell(const RunningKernel& kernel, simgpu_activity_sink sink) const {
  const bool is_kernel = kernel.launch != nullptr;
  const Stream& stream = *kernel.owner.item->stream;
  const uint64_t bytes = is_kernel                ? 0
                         : kernel.copy != nullptr ? uint64_t{kernel.copy->bytes()}
                                                  : uint64_t{kernel.set->bytes()};
  const simgpu_activity activity{is_kernel ? "kernel" : kernel.name.data(),
                                 is_kernel ? kernel.name.data() : nullptr,
                                 is_kernel ? kernel.name.size() : 0,
                                 kernel.device->ordinal,
                                 stream.context->id,
                                 stream.id,
                                 kernel.owner.item->number,
                                 nanoseconds(kernel.started),
                                 nanoseconds(clock_),
                                 bytes};
  sink(&activity);
}

void Scheduler::log_kernel(const RunningKernel& kernel) {
  const StreamItem& item = *kernel.owner.item;
  TruthLog& log = kernel.device->model->log;
  const bool is_copy = kernel.launch == nullptr;
  Record record(is_copy ? "copy" : "kernel");
  record.add(is_copy ? "kind" : "name", kernel.name).add("stream", item.stream->id).add("priority", kernel.priority);
  record.add("launched", item.arrival);
  if (kernel.owner.run == nullptr) record.add("due", due_at(item));
  record.add("start", kernel.started).add("end", clock_);
  record.add("start_told", kernel.start_told).add("end_told", now());
  record.add("blocks", kernel.blocks).add("sms", kernel.most_multiprocessors);
  record.add("lowest_sm", kernel.lowest_multiprocessor).add("highest_sm", kernel.highest_multiprocessor);
  if (is_copy) {
    record.add("bytes", uint64_t{kernel.copy != nullptr ? kernel.copy->bytes() : kernel.set->bytes()});
  } else {
    const bool has_effect = kernel.host != nullptr && (kernel.host->run != nullptr || kernel.spins);
    record.add("spin", kernel.spins).add("effect", has_effect ? "host" : "none");
  }
  record.add("graph", kernel.owner.run != nullptr).add("thread", thread_name(item.thread));
  log.add(record.text());
  if (kernel.held_since == Time::max() || kernel.held_since == clock_) return;
  Record overrun("overrun");
  overrun.add("name", kernel.name).add("end", clock_).add("late_ns", clock_ - kernel.held_since);
  log.add(overrun.text());
}

void Scheduler::step_spinning(std::unique_lock<std::mutex>& guard, bool rung) {
  const Time present = now();
  if (rung) {
    for (RunningKernel* kernel : spinning_) kernel->next_step = std::min(kernel->next_step, present);
  }
  for (;;) {
    const auto due = std::find_if(spinning_.begin(), spinning_.end(), [&](const RunningKernel* kernel) {
      return !kernel->finish_known && kernel->next_step <= present;
    });
    if (due == spinning_.end()) return;
    RunningKernel* kernel = *due;
    kernel->stepping = true;
    kernel->next_step = present + step_period;
    int64_t finish = 0;
    guard.unlock();
    const int over =
        kernel->host->step(&kernel->launch->shape, nanoseconds(kernel->all_placed), nanoseconds(now()), &finish);
    guard.lock();
    kernel->stepping = false;
    if (kernel->dropped) {
      delete kernel;
    } else if (over != 0) {
      kernel->finish_known = true;
      add_timer(from_nanoseconds(finish), TimerKind::kernel_end, kernel->device, kernel);
    }
  }
}

}  // namespace simgpu
