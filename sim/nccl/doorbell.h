// The peers of a rank as processes: ringing the engine of each, and noticing that one has died.
// ring() is called on the engine's thread too: it must not block and not call the driver. The rest is for host threads.
#ifndef SIMGPU_NCCL_DOORBELL_H
#define SIMGPU_NCCL_DOORBELL_H

#include <atomic>
#include <cstdint>
#include <vector>

namespace simgpu::nccl {

// True when the process has ended, also while its parent has not collected it.
bool process_ended(int process);

class Doorbells {
 public:
  explicit Doorbells(int ranks);
  ~Doorbells();
  Doorbells(const Doorbells&) = delete;
  Doorbells& operator=(const Doorbells&) = delete;

  // Opens the doorbell and the process of a rank. False when the process is not there.
  bool open(int rank, int process, int doorbell_descriptor);
  void ring(int rank) const;
  bool dead(int rank) const;

 private:
  struct Peer {
    std::atomic<uint32_t>* word = nullptr;
    int process_descriptor = -1;
  };
  std::vector<Peer> peers_;
};

}  // namespace simgpu::nccl

#endif
