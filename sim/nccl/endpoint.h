// The device side of one rank of a communicator, and the operations of one kernel on it. The host side builds a Plan
// per kernel; the engine steps it until it is over. One kernel of an endpoint runs at a time, in the order of their
// starts. step() is called on the engine's thread: it must not block for long and not call the driver.
#ifndef SIMGPU_NCCL_ENDPOINT_H
#define SIMGPU_NCCL_ENDPOINT_H

#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "collective.h"
#include "doorbell.h"
#include "segment.h"
#include "transfer.h"

namespace simgpu::nccl {

// The work of one kernel. Reusable: a captured kernel runs its plan once per replay.
struct Plan {
  std::vector<Collective> collectives;
  std::vector<Transfer> sends;
  std::vector<Transfer> receives;
  const char* kernel = "";
  bool captured = false;
  std::atomic<bool> finished = false;  // has run at least once; set when a run ends
};

class Endpoint {
 public:
  Endpoint(std::shared_ptr<Segment> segment, int self, const LinkModel* model, std::vector<int> world_ranks);
  ~Endpoint();
  Endpoint(const Endpoint&) = delete;
  Endpoint& operator=(const Endpoint&) = delete;

  Segment& segment() const { return *segment_; }
  Doorbells& doorbells() { return doorbells_; }
  const std::vector<int>& world_ranks() const { return world_ranks_; }
  int self() const { return self_; }

  // Windows of this rank. A buffer that is put from has to lie in one too.
  uint64_t add_window(void* memory, uint64_t bytes);
  void remove_window(uint64_t number);
  bool in_window(const void* memory, uint64_t bytes);

  // As simgpu_kernel::step.
  int step(Plan& plan, Instant started, Instant now, Instant* finish);

  // Ends what runs and everything that is launched afterwards.
  void abort();
  bool aborted() const { return aborted_.load(); }
  // The first fault that a kernel has found; it stays.
  ncclResult_t fault(std::string* message) const;
  // True when a rank that has not left the communicator has died.
  bool peer_lost(int* rank) const;

 private:
  struct Run;
  void begin(Plan& plan, Instant started);
  bool work(Plan& plan, Pass& pass);
  bool collectives(Plan& plan, Pass& pass);
  bool transfers(Plan& plan, Pass& pass);
  bool over(Plan& plan, Pass& pass);
  void wake(Pass& pass) const;
  Sender& sender(const Transfer& transfer);
  Receiver& receiver(const Transfer& transfer);
  LinkPlace place(int source, int destination, LinkKind kind) const;
  size_t lane(const Transfer& transfer) const;

  std::shared_ptr<Segment> segment_;
  const int self_;
  const LinkModel* model_;
  const std::vector<int> world_ranks_;
  Doorbells doorbells_;
  std::atomic<bool> aborted_ = false;
  std::atomic<int> fault_ = 0;  // a Fault
  std::atomic<int> fault_peer_ = -1;

  std::mutex mutex_;  // everything below
  Windows windows_;
  std::vector<std::unique_ptr<Sender>> senders_;  // by lane, as the receivers
  std::vector<std::unique_ptr<Receiver>> receivers_;
  CollectiveStream collective_stream_;
  std::unique_ptr<Run> run_;
  Plan* running_ = nullptr;
  bool turn_wanted_ = false;  // another kernel of this endpoint has started meanwhile
  Instant last_finish_ = 0;
};

}  // namespace simgpu::nccl

#endif
