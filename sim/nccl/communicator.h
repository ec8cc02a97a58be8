// A communicator of one rank, host side: what it was made from, its device side, its connections, its asynchronous
// state. Used by the thread that calls NCCL, or by the worker thread of a non-blocking call; abort may come from any
// thread.
#ifndef SIMGPU_NCCL_COMMUNICATOR_H
#define SIMGPU_NCCL_COMMUNICATOR_H

#include <cuda.h>
#include <nccl.h>
#include <sys/types.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <optional>
#include <thread>
#include <vector>

#include "endpoint.h"
#include "kernels.h"

namespace simgpu::nccl {

struct Settings {
  bool blocking = true;
  int cluster_size = constants::nccl_cluster_size;
  int least_blocks = 1;
  int most_blocks = constants::nccl_most_blocks;
  bool share = false;  // a split shares the device stream of its parent
};

// An internal stream and the event of the dance around a launch; shared by communicators split with splitShare.
struct DeviceStream {
  CUcontext context = nullptr;
  CUstream stream = nullptr;
  CUevent scratch = nullptr;
  ~DeviceStream();
};

// Joins its thread when the last communicator of a non-blocking call lets go of it.
struct Worker {
  std::thread thread;
  ~Worker();
};

class Communicator {
 public:
  Communicator(int ranks, int rank, const Settings& settings);
  ~Communicator();
  Communicator(const Communicator&) = delete;
  Communicator& operator=(const Communicator&) = delete;

  int ranks() const { return ranks_; }
  int rank() const { return rank_; }
  bool ready() const { return endpoint_ != nullptr; }
  bool intact() const { return mark_ == alive_; }
  bool own_process() const;
  const Settings& settings() const { return settings_; }
  CUcontext context() const { return context_; }
  CUdevice device() const { return device_; }
  const std::shared_ptr<Endpoint>& endpoint() const { return endpoint_; }
  Segment& segment() const { return *segment_; }
  const std::shared_ptr<DeviceStream>& device_stream() const { return device_stream_; }

  // Takes the thread's current context, or makes the primary one of device 0 current.
  ncclResult_t bind_context();
  // Meets the other ranks. `world_ranks` is empty for a communicator that is not split off another one.
  ncclResult_t join(const Address& address, std::vector<int> world_ranks, std::shared_ptr<DeviceStream> stream);
  // Collective over the ranks; *child stays empty for ncclSplitNoColor.
  ncclResult_t split(int color, int key, const Settings& settings, std::unique_ptr<ncclComm>* child);

  // The ranks of the parent agree on the address of the communicator that it grows into. Valid in `mine`: in the rank
  // that has the id, and in no other.
  ncclResult_t agree(const Address& mine, Address* address);
  // On the parent's device.
  void adopt_device(const Communicator& parent);

  // Collective over the ranks; the number is the same on all.
  ncclResult_t register_window(void* memory, uint64_t bytes, uint64_t* number);
  // Collective over the ranks: give the memory of the connections back, and take it again.
  ncclResult_t suspend();
  ncclResult_t resume();
  bool suspended() const { return suspended_.load(); }

  // Connections: announce all, then wait for all, so that ranks may name their peers in any order.
  void announce(const Plan& plan);
  ncclResult_t connect(const Plan& plan);

  void keep(uint64_t number, std::shared_ptr<LaunchedPlan> plan);
  std::vector<std::optional<Operation>>& operations() { return operations_; }

  // Waits for everything that was launched.
  ncclResult_t finish();
  void abort();
  void revoke();
  bool revoked() const { return revoked_.load(); }
  bool finalized() const { return finalized_.load(); }
  void set_finalized() { finalized_.store(true); }

  // The answer of ncclCommGetAsyncError.
  ncclResult_t asynchronous_state();
  void set_state(ncclResult_t state) { state_.store(state); }
  std::shared_ptr<Worker> worker;

  // Counts the threads that work on the communicator, so that abort can wait until they have noticed.
  void enter() { users_.fetch_add(1); }
  void leave();

 private:
  static constexpr uint64_t alive_ = 0x6e63636c636f6d6d;
  ncclResult_t meet(const Address& address);
  ncclResult_t give_up() const;
  ncclResult_t meet_all();
  ncclResult_t connect_one_sided(const Plan& plan, bool* waited);
  ncclResult_t make_device_side(std::vector<int> world_ranks, std::shared_ptr<DeviceStream> stream);
  void reclaim();

  uint64_t mark_ = alive_;
  const pid_t process_;
  const int ranks_;
  const int rank_;
  const Settings settings_;
  CUcontext context_ = nullptr;
  CUdevice device_ = 0;
  std::shared_ptr<Segment> segment_;
  std::shared_ptr<Endpoint> endpoint_;
  std::shared_ptr<DeviceStream> device_stream_;
  std::vector<bool> send_connected_;
  std::vector<bool> receive_connected_;
  bool one_sided_ready_ = false;
  std::vector<void*> buffers_;
  std::vector<std::pair<uint64_t, std::shared_ptr<LaunchedPlan>>> plans_;
  std::vector<std::optional<Operation>> operations_;
  std::atomic<ncclResult_t> state_ = ncclSuccess;
  std::atomic<bool> stop_ = false;
  std::atomic<bool> revoked_ = false;
  std::atomic<bool> finalized_ = false;
  std::atomic<bool> suspended_ = false;
  std::atomic<int> users_ = 0;
  std::atomic<int64_t> next_liveness_check_ = 0;
  std::atomic<int> lost_peer_ = -1;
};

}  // namespace simgpu::nccl

// The opaque type of nccl.h.
struct ncclComm final : simgpu::nccl::Communicator {
  using Communicator::Communicator;
};

#endif
