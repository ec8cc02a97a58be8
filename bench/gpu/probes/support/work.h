// Work that probes put on streams: a spinning kernel like a blocked one of NCCL, kernels that are busy for a given
// time, and real work whose length is found by trying.
//
// Any thread with the context current. Objects may be launched again when their last launch has ended. Nothing here may
// allocate after construction: it would stall next to a spinning kernel.
#pragma once

#include <cstdint>

#include "gpu.h"

namespace probe {

// One launch of each kernel: no first launch may come next to a spinning kernel.
void warm_up();

// The word is in pinned memory of the host: the probe, a stream-ordered write or a kernel may set it.
class Spin {
 public:
  Spin();
  // 640 threads, 96 registers, the shared memory of NCCL. Ends by itself after `limit_milliseconds`.
  void launch(CUstream stream, unsigned blocks = 1, unsigned cluster = 1, double limit_milliseconds = 3000);
  // Released already: it ends as soon as all its blocks are resident.
  void launch_released(CUstream stream, unsigned blocks, unsigned cluster);
  void release();
  // All blocks are resident. Throws when that takes longer than 2 s.
  void wait_until_resident() const;
  bool is_resident() const { return read(words_->started) != 0; }
  bool has_seen_release() const { return read(words_->seen) != 0; }
  bool timed_out() const { return read(words_->timed_out) != 0; }
  uint64_t started() const { return read(words_->started); }
  uint64_t ended() const { return read(words_->ended); }
  // Instead of the own release word.
  void released_by(const uint32_t* word) { release_ = word; }

  template <class Word>
  static Word read(const Word& word) {
    return __atomic_load_n(&word, __ATOMIC_ACQUIRE);
  }

 private:
  void start(CUstream stream, unsigned blocks, unsigned cluster, double limit_milliseconds, bool released);

  SpinWords* words_;
  Counters* counters_;
  uint32_t* own_release_;
  const uint32_t* release_;
};

// Busy for a time of its own choice, whatever runs beside it: `launch` with 0 is a stamp of when it ran. Times are to
// be asked for when the kernel has ended, and not next to a spinning one: they are copied from the device.
class Busy {
 public:
  Busy();
  void launch(CUstream stream, double microseconds, const Shape& shape = {});
  // Blocks of which one fits on each multiprocessor, and none of NCCL's beside it.
  void launch_resident(CUstream stream, double microseconds, unsigned blocks);
  uint64_t started() const { return words().started; }
  uint64_t ended() const { return words().ended; }
  // A word of the host that stamps set when they run.
  void sets_when_done(uint32_t* word) { done_ = word; }

 private:
  BusyWords words() const;

  CUdeviceptr words_;
  Counters* counters_;
  uint32_t* done_ = nullptr;
};

// Work that competes for the device, `blocks` of compute_threads threads. Takes about `microseconds` on the idle
// device; how many rounds that needs is measured at construction.
class Work {
 public:
  enum class Kind { compute, memory };
  Work(Kind kind, unsigned blocks, double microseconds, CUstream stream);
  void launch(CUstream stream, std::optional<int> priority = {}) const;
  double microseconds() const { return microseconds_; }

 private:
  void launch_rounds(CUstream stream, uint64_t rounds, std::optional<int> priority) const;
  double measure(uint64_t rounds, CUstream stream);

  Kind kind_;
  unsigned blocks_;
  uint64_t rounds_ = 0;
  double microseconds_ = 0;
  CUdeviceptr memory_ = 0;
  Spin hold_;  // while all is enqueued: the host's delays are not the device's
  CUevent from_, to_;
};

}  // namespace probe
