// Exchanges with neighbouring stages over NCCL, in the three ways a stage can wait for them.
//
// Used by training.cpp on one thread. With WaitKind::event and ::host exchanges run on streams of their own, one per
// lane, which wait for the compute stream through an event; with ::in_stream they run on the compute stream.
#pragma once

#include <vector>

#include "check.h"
#include "process.h"
#include "schedule.h"

namespace trainer {

class Communication {
 public:
  // Connects all ranks. `exchanges`: how many exchanges one iteration has. lanes: per-edge communicators are needed.
  Communication(const Place& place, WaitKind wait, bool lanes, int exchanges, cudaStream_t compute);
  ~Communication();
  Communication(const Communication&) = delete;
  Communication& operator=(const Communication&) = delete;

  struct Message {
    float* data;
    int peer;
  };
  // One NCCL group of sends and receives of `count` floats each, after all work that is on the compute stream so far.
  void exchange(int number, Lane lane, const std::vector<Message>& sends, const std::vector<Message>& receives,
                int count);
  // Work that is enqueued on the compute stream from here on sees what the exchange received.
  void wait(int number);
  // Whether an exchange that was issued has ended; with WaitKind::event only.
  bool is_over(int number) const;
  // Sums `count` floats over all ranks, in place; the compute stream waits for the result.
  void sum_over_ranks(float* data, int count);

 private:
  struct Connection {
    ncclComm_t communicator = nullptr;
    cudaStream_t stream = nullptr;
    bool edge = false;  // joins two ranks: the sender is its rank 0, the receiver its rank 1
  };
  cudaStream_t begin(const Connection& connection);
  Connection& connection(Lane lane) { return connections_[static_cast<std::size_t>(lane)]; }
  void warm_up(const Place& place);
  void connect_edges(const Place& place, const std::vector<std::byte>& ids);

  bool waits_by_event() const { return wait_ == WaitKind::event || wait_ == WaitKind::event_and_host; }

  WaitKind wait_;
  cudaStream_t compute_;
  cudaEvent_t ready_ = nullptr;  // the compute stream has produced what is to be sent
  std::vector<cudaEvent_t> finished_;
  std::vector<Connection> connections_;
};

}  // namespace trainer
