// The SIMGPU_ environment variables, read once by cuInit. Values are final for the process. Never calls into the
// driver.
#pragma once

#include <cuda.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "engine/time.h"
#include "simgpu/constants.h"

namespace simgpu {

struct Faults {
  std::optional<uint64_t> failing_allocation;
  std::optional<uint64_t> failing_launch;
  int failing_launch_code = 700;  // CUDA_ERROR_ILLEGAL_ADDRESS
  std::optional<uint64_t> deadly_launch;
  double jitter = 0;  // 0.05: every duration is off by up to 5 %
  double slowdown = 1;
};

// Who holds up a hardware queue, so that nothing behind it can issue: what hardware does is not public.
struct QueueModel {
  unsigned depth = constants::queue_entries;  // unfinished calls that fit into one queue; 0: any number
  // Behind an unfinished command of its stream.
  bool record_holds = false;
  bool write_holds = true;
  bool kernel_holds = true;
  bool wait_holds = false;  // for an event that has not happened, also with nothing unfinished ahead of it
  bool record_behind_wait_holds = false;  // likewise, where that command is a wait for an event
  bool graph_holds = false;               // until its last node has begun
  bool launch_waits_for_host = false;     // while a thread waits for the context, launches of other threads stand
  bool host_waits_for_later = false;  // a thread that waits for the context also waits for what is launched meanwhile
  bool priorities_share = true;       // streams of different priority
  bool green_contexts_share = true;   // balanced ones with the contexts beside them
};

struct Settings {
  int devices = 1;
  unsigned multiprocessors = constants::multiprocessors;
  std::size_t memory = constants::device_memory;
  double flops = constants::flops;
  double bandwidth = constants::bandwidth;            // device memory, bytes per second
  double host_bandwidth = constants::host_bandwidth;  // each copy engine
  double time_scale = 1;
  Duration launch_latency{constants::launch_latency};  // from the host call to the earliest start
  Duration dependency_gap{constants::dependency_gap};  // between dependent commands
  Duration write_time{constants::write_time};          // between a command and a write or record behind it
  Duration record_time{constants::record_time};
  Duration copy_latency{constants::copy_latency};      // of each copy
  Duration block_time{constants::unknown_block_time};  // of a block of a kernel without a cost
  unsigned connections = constants::hardware_queues;   // CUDA_DEVICE_MAX_CONNECTIONS
  QueueModel queue;                                    // SIMGPU_QUEUE_...
  bool stall_on_hazard = true;
  bool stall_as_measured = false;  // on an H200: only frees, unloading, first launches and modules
  bool launch_blocking = false;  // CUDA_LAUNCH_BLOCKING
  bool eager_loading = false;    // CUDA_MODULE_LOADING=EAGER
  bool realtime = false;         // threads of the simulated GPU go before those of the hosts
  uint64_t seed = 1;
  std::string log_directory;
  std::string kernel_libraries;
  Faults faults;
};

// Says on stderr what it does not understand, once, and goes on with the default.
Settings read_settings();
// The answer of cuDriverGetVersion, which may be asked before there is an engine and its settings:
// SIMGPU_DRIVER_VERSION, otherwise the toolkit's. Of all else only green contexts depend on it
// (api/green_contexts.cpp).
int reported_driver_version();
// Whether cuGetProcAddress, which may be asked as early, gives thunks: SIMGPU_PROC_ADDRESS=thunks.
bool gives_thunks();

}  // namespace simgpu
