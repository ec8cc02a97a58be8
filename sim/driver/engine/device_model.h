// The present state of one device: kernels that run or wait for room, copies, and the log. All under the engine's
// lock, owned by the scheduler.
#pragma once

#include <cstdint>
#include <deque>
#include <list>
#include <memory>
#include <string>
#include <vector>

#include "engine/command.h"
#include "engine/multiprocessors.h"
#include "engine/objects.h"
#include "engine/truth_log.h"

namespace simgpu {

// A command in its stream and in its hardware queue. Pooled.
struct StreamItem {
  StreamItem* next_in_queue = nullptr;
  StreamItem* next_in_stream = nullptr;
  Stream* stream = nullptr;
  uint64_t number = 0;  // counts all commands of the process
  Time arrival{};
  uint32_t thread = 0;
  bool issued = false;
  bool passed = false;         // has left its hardware queue before its turn
  bool takes_entry = false;    // in its hardware queue, until it has finished
  Time poke_at = Time::max();  // a timer looks at it then
  Command command;
};

// One execution of a graph.
struct GraphRun {
  StreamItem* item = nullptr;
  std::shared_ptr<const GraphProgram> program;
  std::vector<uint32_t> waiting;  // dependencies left, by node
  std::size_t unfinished = 0;
  std::size_t not_begun = 0;
};

// Owner of an execution: the command of a stream, or a node of a running graph.
struct Owner {
  StreamItem* item = nullptr;
  GraphRun* run = nullptr;
  uint32_t node = 0;

  Stream& stream() const { return *item->stream; }
  Command& stream_command() const { return item->command; }
};

// A kernel, or a copy or set within the device, which is done by thread blocks too.
struct RunningKernel {
  Owner owner;
  Device* device = nullptr;
  std::string_view name;
  std::shared_ptr<const KernelLaunch> launch;  // null for copies and sets
  std::shared_ptr<const CopyBox> copy;
  std::shared_ptr<const SetBox> set;
  const simgpu_kernel* host = nullptr;

  int priority = 0;
  uint64_t order = 0;
  BlockNeeds needs;
  uint64_t blocks = 0;
  uint64_t unplaced = 0;
  uint64_t running = 0;
  uint64_t together = 1;  // blocks that have to start at the same time
  SmShare share;
  Duration block_time{};
  bool shares_throughput = true;  // co-resident blocks of this kernel slow each other down

  Time started = Time::max();  // the first block's start
  Time start_told{};           // when the engine got to it: nobody could know before
  Time all_placed{};
  Multiprocessors::Counts resident;
  unsigned most_multiprocessors = 0;
  unsigned lowest_multiprocessor = 0, highest_multiprocessor = 0;  // of those that it has been on

  bool effect_pending = false;    // a worker is computing the effect
  bool effect_computed = false;   // it has; the end of the effect is a timer now
  struct Cohort* held = nullptr;  // the last blocks, which wait for the effect
  Time held_since = Time::max();
  bool spins = false;
  bool stepping = false;  // the engine's thread is inside `step`
  bool finish_known = false;
  Time next_step{};
  bool dropped = false;  // the context is poisoned: whoever still uses this frees it
};

// Blocks of one kernel that start and end together.
struct Cohort {
  RunningKernel* kernel = nullptr;
  Multiprocessors::Counts counts;
  uint64_t blocks = 0;
};

struct Transfer {
  Owner owner;
  Device* device = nullptr;
  CopyKind kind = CopyKind::host_to_device;
  std::shared_ptr<const CopyBox> box;
  Time start{};
  bool effect_pending = false;
  bool effect_computed = false;
  bool time_over = false;
  bool dropped = false;
};

struct CopyEngine {
  std::deque<Transfer*> waiting;
  Transfer* active = nullptr;
};

struct DeviceModel {
  explicit DeviceModel(unsigned multiprocessor_count) : multiprocessors(multiprocessor_count) {}
  Multiprocessors multiprocessors;
  std::list<RunningKernel*> kernels;     // all that have been issued and are not over
  std::vector<RunningKernel*> unplaced;  // with blocks that have no room yet; in order of priority, then of arrival
  CopyEngine upload;
  CopyEngine download;
  unsigned spinning = 0;  // spinning kernels with at least one resident block
  TruthLog log;
};

}  // namespace simgpu
