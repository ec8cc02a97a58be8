// Stepping a plan: its collectives one after the other, then its sends and receives, each link in order, links at once.
// step() is called on the engine's thread. Must not block for long and not call the driver.
#include "endpoint.h"

#include <string>
#include <utility>

namespace simgpu::nccl {
namespace {

constexpr size_t bytes_per_step = 1 << 20;

}  // namespace

// Where the current kernel stands.
struct Endpoint::Run {
  struct Lane {  // the operations of one direction and one kind with one peer
    std::vector<size_t> operations;
    size_t next = 0;
  };
  std::vector<Lane> sends;
  std::vector<Lane> receives;
  size_t next_collective = 0;
  Instant start = 0;  // of the next collective or, after them, of the transfers
  Instant end = 0;
  std::vector<bool> touched;
};

Endpoint::Endpoint(std::shared_ptr<Segment> segment, int self, const LinkModel* model, std::vector<int> world_ranks)
    : segment_(std::move(segment)),
      self_(self),
      model_(model),
      world_ranks_(std::move(world_ranks)),
      doorbells_(segment_->ranks()),
      senders_(static_cast<size_t>(link_kinds * segment_->ranks())),
      receivers_(static_cast<size_t>(link_kinds * segment_->ranks())),
      collective_stream_(segment_.get(), self, model, world_ranks_),
      run_(std::make_unique<Run>()) {
  run_->sends.resize(senders_.size());
  run_->receives.resize(receivers_.size());
  run_->touched.resize(static_cast<size_t>(segment_->ranks()));
}

Endpoint::~Endpoint() = default;

uint64_t Endpoint::add_window(void* memory, uint64_t bytes) {
  const std::lock_guard lock(mutex_);
  return windows_.add(memory, bytes);
}

void Endpoint::remove_window(uint64_t number) {
  const std::lock_guard lock(mutex_);
  windows_.remove(number);
}

bool Endpoint::in_window(const void* memory, uint64_t bytes) {
  const std::lock_guard lock(mutex_);
  return windows_.covers(memory, bytes);
}

size_t Endpoint::lane(const Transfer& transfer) const {
  return static_cast<size_t>(static_cast<int>(transfer.kind) * segment_->ranks() + transfer.peer);
}

LinkPlace Endpoint::place(int source, int destination, LinkKind kind) const {
  return {&segment_->link(source, destination, kind),
          segment_->link_ring(source, destination, kind),
          segment_->fifo_bytes(),
          model_,
          world_ranks_[static_cast<size_t>(source)],
          world_ranks_[static_cast<size_t>(destination)],
          &windows_};
}

Sender& Endpoint::sender(const Transfer& transfer) {
  std::unique_ptr<Sender>& entry = senders_[lane(transfer)];
  if (entry == nullptr) entry = std::make_unique<Sender>(place(self_, transfer.peer, transfer.kind));
  return *entry;
}

Receiver& Endpoint::receiver(const Transfer& transfer) {
  std::unique_ptr<Receiver>& entry = receivers_[lane(transfer)];
  if (entry == nullptr) entry = std::make_unique<Receiver>(place(transfer.peer, self_, transfer.kind));
  return *entry;
}

void Endpoint::begin(Plan& plan, Instant started) {
  Run& run = *run_;
  const auto fill = [this](std::vector<Run::Lane>& lanes, std::vector<Transfer>& transfers) {
    for (Run::Lane& lane : lanes) {
      lane.operations.clear();
      lane.next = 0;
    }
    for (size_t i = 0; i < transfers.size(); ++i) {
      Transfer& transfer = transfers[i];
      lanes[lane(transfer)].operations.push_back(i);
      transfer.sequence = transfer.done = 0;
      transfer.timed = false;
    }
  };
  fill(run.sends, plan.sends);
  fill(run.receives, plan.receives);
  for (Collective& collective : plan.collectives) {
    collective.sequence = 0;
    collective.timed = false;
  }
  run.next_collective = 0;
  run.start = run.end = std::max(started, last_finish_);
  running_ = &plan;
}

bool Endpoint::collectives(Plan& plan, Pass& pass) {
  Run& run = *run_;
  while (run.next_collective < plan.collectives.size()) {
    Collective& collective = plan.collectives[run.next_collective];
    if (!collective_stream_.advance(collective, run.start, pass)) return false;
    run.start = std::max(run.start, collective.end);
    run.end = std::max(run.end, collective.end);
    ++run.next_collective;
  }
  return true;
}

bool Endpoint::transfers(Plan& plan, Pass& pass) {
  Run& run = *run_;
  bool all = true;
  for (Run::Lane& lane : run.receives) {
    for (size_t i = lane.next; i < lane.operations.size() && i < lane.next + message_slots; ++i) {
      Transfer& transfer = plan.receives[lane.operations[i]];
      receiver(transfer).post(transfer, run.start, pass);
    }
  }
  const auto drain = [&](std::vector<Run::Lane>& lanes, std::vector<Transfer>& operations, auto end_of) {
    for (Run::Lane& lane : lanes) {
      for (; lane.next < lane.operations.size(); ++lane.next) {
        Transfer& transfer = operations[lane.operations[lane.next]];
        if (!end_of(transfer).advance(transfer, run.start, pass)) break;
        run.end = std::max(run.end, transfer.end);
      }
      if (lane.next < lane.operations.size()) all = false;
    }
  };
  drain(run.sends, plan.sends, [this](const Transfer& transfer) -> Sender& { return sender(transfer); });
  drain(run.receives, plan.receives, [this](const Transfer& transfer) -> Receiver& { return receiver(transfer); });
  return all;
}

bool Endpoint::work(Plan& plan, Pass& pass) {
  while (true) {
    pass.advanced = false;
    const bool done = collectives(plan, pass) && transfers(plan, pass);
    if (done) return true;
    if (!pass.advanced || pass.budget == 0 || pass.fault != Fault::none) return false;
  }
}

// True when this kernel has nothing more to do. Before it says otherwise it has told its peers to ring.
bool Endpoint::over(Plan& plan, Pass& pass) {
  std::atomic<uint32_t>& waiting = segment_->rank(self_).waiting;
  waiting.store(0);
  if (work(plan, pass)) return true;
  waiting.store(1);
  // A peer that has changed something before it saw the word does not ring: look once more.
  if (pass.fault != Fault::none || !work(plan, pass)) return false;
  waiting.store(0);
  return true;
}

void Endpoint::wake(Pass& pass) const {
  for (int rank = 0; rank < segment_->ranks(); ++rank) {
    if (rank != self_ && (*pass.touched)[static_cast<size_t>(rank)] && segment_->rank(rank).waiting.load() != 0) {
      doorbells_.ring(rank);
    }
  }
}

int Endpoint::step(Plan& plan, Instant started, Instant now, Instant* finish) {
  const std::lock_guard lock(mutex_);
  const bool broken = aborted_.load() || fault_.load() != 0;
  if (!broken && running_ != nullptr && running_ != &plan) {
    turn_wanted_ = true;
    return 0;
  }
  if (!broken && running_ == nullptr) begin(plan, started);
  Pass pass;
  pass.budget = bytes_per_step;
  pass.touched = &run_->touched;
  run_->touched.assign(run_->touched.size(), false);
  const bool done = broken || over(plan, pass);
  wake(pass);
  if (pass.fault != Fault::none) {
    fault_peer_.store(pass.fault_peer);
    fault_.store(static_cast<int>(pass.fault));
  }
  const bool failed = pass.fault != Fault::none || broken;
  if (!done && !failed) {
    if (pass.budget == 0) doorbells_.ring(self_);
    return 0;
  }
  *finish = failed ? std::max(now, started) : std::max(run_->end, started);
  last_finish_ = std::max(last_finish_, *finish);
  running_ = nullptr;
  plan.finished.store(true);
  if (std::exchange(turn_wanted_, false)) doorbells_.ring(self_);
  return 1;
}

void Endpoint::abort() {
  aborted_.store(true);
  doorbells_.ring(self_);
}

ncclResult_t Endpoint::fault(std::string* message) const {
  const std::string peer = std::to_string(fault_peer_.load());
  switch (static_cast<Fault>(fault_.load())) {
    case Fault::none:
      return ncclSuccess;
    case Fault::size_mismatch:
      *message = "a send and the receive it meets have different sizes; the other end is rank " + peer;
      break;
    case Fault::no_window:
      *message = "a put does not lie within a window of this rank; it is of rank " + peer;
      break;
    case Fault::collective_mismatch:
      *message = "ranks do not call the same collective with the same arguments; the other one is rank " + peer;
      break;
  }
  return ncclInternalError;
}

bool Endpoint::peer_lost(int* rank) const {
  for (int peer = 0; peer < segment_->ranks(); ++peer) {
    if (peer == self_ || segment_->rank(peer).closed.load() != 0 || !doorbells_.dead(peer)) continue;
    *rank = peer;
    return true;
  }
  return false;
}

}  // namespace simgpu::nccl
