// The doorbell of a process: a futex word in a memfd page. The engine's thread sleeps on it; submitting threads, worker
// threads and other processes (through /proc/<pid>/fd) ring it. Any thread; nothing here takes a lock.
#pragma once

#include <atomic>
#include <cstdint>

#include "engine/time.h"

namespace simgpu {

class Doorbell {
 public:
  Doorbell();
  Doorbell(const Doorbell&) = delete;
  Doorbell& operator=(const Doorbell&) = delete;

  int fd() const { return fd_; }
  uint32_t rings() const { return word_->load(std::memory_order_acquire); }
  void ring();
  // Returns when the word is not `seen` any more, at `deadline`, or for no reason.
  void sleep(uint32_t seen, Time deadline) const;

 private:
  int fd_ = -1;
  std::atomic<uint32_t>* word_ = nullptr;
};

}  // namespace simgpu
