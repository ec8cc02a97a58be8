// The model itself: hardware queues, streams, thread blocks, copy engines, graphs, in logical time. Everything here
// runs under the engine's lock, on whichever thread advances the engine; only `step` of spinning kernels, effects of
// kernels and host functions run without the lock, on the engine's thread and on workers. Every change happens in a
// timer's handler, in the order of time; after each handler all that can start, starts.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <random>
#include <string>
#include <vector>

#include "engine/device_model.h"
#include "engine/settings.h"
#include "engine/workers.h"

namespace simgpu {

inline constexpr Duration shortest_poll{constants::shortest_value_wait_poll};

class Scheduler {
 public:
  // `settle` ends a locked section that has changed something; worker threads call it.
  Scheduler(const Settings& settings, std::vector<std::unique_ptr<Device>>& devices, std::mutex& lock,
            std::function<void(std::unique_lock<std::mutex>&)> settle);

  // --- from the engine ----------------------------------------------------------------------------------------------
  void append(Stream& stream, Command&& command, Time arrival);
  // The call that has just appended takes an entry of the hardware queue until its last command has finished.
  static void take_entry(Stream& stream);
  void advance(Time until);
  // When something has to be done next: the first timer, or a spinning kernel that wants to be looked at.
  Time next_event() const;
  // Calls `step` of the spinning kernels that are due (all of them when the doorbell was rung), without the lock.
  void step_spinning(std::unique_lock<std::mutex>& guard, bool rung);
  void poison(Device& device, CUresult error);
  void stop_workers();
  Time clock() const { return clock_; }
  uint64_t last_number() const { return last_number_; }
  EventRecord* new_record();
  void release(EventRecord* record);

 private:
  enum class TimerKind : uint8_t {
    poke,           // something may be ready to issue
    poll_memory,    // a wait for a value in memory
    start_node,     // GraphRun, index
    cohort_end,     // Cohort
    kernel_end,     // RunningKernel: a spinning one
    effect_end,     // RunningKernel: its effect has been computed
    transfer_end,   // Transfer: the modelled time is over
    transfer_done,  // Transfer: the bytes have been moved
    host_end,       // HostCall
  };
  struct Timer {
    Time at;
    uint64_t order;
    TimerKind kind;
    uint32_t index;
    Device* device;
    void* object;
  };
  struct HostCall {
    Owner owner;
    Device* device = nullptr;
    bool dropped = false;
  };
  // Something whose modelled time is over while its effect is still being computed: time stands still there, so that
  // what comes after it is neither handled early nor stamped late because the host was slow.
  struct Hold {
    const void* object;
    Time at;
  };
  struct BlockedNode {
    Owner owner;
    Device* device;
  };

  // scheduler.cpp: timers, queues, streams
  Time held_until() const;
  void add_timer(Time at, TimerKind kind, Device* device, void* object, uint32_t index = 0);
  void handle(const Timer& timer);
  void issue_all();
  static bool is_behind_wait(const StreamItem& item);
  bool issue_head(HardwareQueue& queue);
  bool issue_passed(HardwareQueue& queue);
  bool let_head_pass(HardwareQueue& queue);
  bool may_pass(const StreamItem& item) const;
  Time due_at(const StreamItem& item) const;
  Time due_end(const StreamItem& item, Time end) const;
  bool has_turn(StreamItem& item);
  void poke(StreamItem& item, Time at);
  Duration gap_before(const Command& command) const;
  static bool default_stream_allows(const StreamItem& item);
  static void pop(HardwareQueue& queue);
  void finish(const Owner& owner, Time at);
  void finish_item(StreamItem* item, Time at);
  void recycle(StreamItem* item);
  StreamItem* take_item();

  // scheduler_commands.cpp: what each command does
  bool satisfied(const Owner& owner, const Command& command);
  bool satisfied(const MemoryOperation& operation) const;
  void execute(const Owner& owner, const Command& command);
  void log_wait(const StreamItem& item, const EventRecord& awaited);
  void execute_memory(const MemoryOperation& operation) const;
  void complete_record(const Owner& owner, const RecordCommand& command);
  void call_host(const Owner& owner, const HostCommand& command);
  void begin_transfer(const Owner& owner, const CopyCommand& command);
  void start_transfer(CopyEngine& copies);
  void end_transfer(Transfer* transfer);
  void begin_graph(const Owner& owner, const GraphCommand& command);
  void start_node(GraphRun* run, uint32_t node);
  void begin_node(const Owner& owner, const Command& command);
  void finish_node(GraphRun* run, uint32_t node, Time at);
  bool retry_blocked_nodes();

  // scheduler_kernels.cpp: thread blocks
  void begin_kernel(const Owner& owner, const KernelCommand& command);
  void begin_block_copy(const Owner& owner, std::shared_ptr<const CopyBox> copy, std::shared_ptr<const SetBox> set);
  void enqueue_blocks(std::unique_ptr<RunningKernel> kernel);
  bool place_blocks(Device& device);
  void place(RunningKernel& kernel, uint64_t blocks);
  void start_cohorts(RunningKernel& kernel, const Multiprocessors::Counts& counts);
  void first_block_started(RunningKernel& kernel);
  void finish_effect(Time end, TimerKind kind, Device* device, void* object, std::unique_lock<std::mutex>& guard);
  void end_cohort(Cohort* cohort);
  void end_kernel(RunningKernel* kernel);
  void log_kernel(const RunningKernel& kernel);
  void tell(const RunningKernel& kernel, simgpu_activity_sink sink) const;
  int priority_of(const Owner& owner, const KernelLaunch* launch) const;
  static SmShare share_of(const Owner& owner);
  Duration scaled(double seconds);
  bool launch_fault(Device& device);

  // scheduler_poison.cpp
  void apply_poison();
  void drop_streams(Device& device);
  void drop_work(Device& device);

  const Settings& settings_;
  std::vector<std::unique_ptr<Device>>& devices_;
  std::mutex& lock_;
  const std::function<void(std::unique_lock<std::mutex>&)> settle_;

  Time clock_{};
  std::vector<Timer> timers_;  // a heap, the earliest first
  uint64_t timer_count_ = 0;
  uint64_t last_number_ = 0;
  uint64_t kernel_count_ = 0;
  uint64_t kernel_order_ = 0;
  bool polling_ = false;
  Duration poll_period_{};
  std::vector<Hold> holds_;
  std::vector<RunningKernel*> spinning_;
  std::vector<BlockedNode> blocked_nodes_;
  std::vector<HostCall*> host_calls_;
  std::vector<GraphRun*> runs_;
  // Commands come from blocks of so many, which are kept: one allocation for many, and neighbours in a stream are
  // neighbours in memory.
  static constexpr std::size_t item_block = 256;
  std::vector<std::unique_ptr<StreamItem[]>> item_blocks_;
  StreamItem* free_items_ = nullptr;
  EventRecord* free_records_ = nullptr;
  std::mt19937_64 random_;
  Device* poisoned_ = nullptr;  // to be done when the current handler is over
  CUresult poison_error_ = CUDA_SUCCESS;
  Workers effects_;
  Workers calls_{"simgpu-call", 1, Precedence::host};
};

}  // namespace simgpu
