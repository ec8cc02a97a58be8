// The stream that all fill jobs of a device run on, one slice after the other, and what keeps the streams of the main
// job at the hardware queues that they would have had anyway.
//
// Made on a thread of Weft's by the first job that is made ready, or in the fill probe; each job that is ready holds
// it, and the last one that is released destroys it. The context of the device is current in all functions.
#pragma once

#include <cuda.h>

#include <atomic>
#include <cstdint>
#include <string>

#include "runner/core/driver.h"
#include "runner/fill/green_share.h"
#include "runner/fill/green_stream.h"
#include "runner/fill/queues.h"
#include "runner/options/fillable.h"

namespace weft {

// A word in pinned host memory that the fill stream writes a number into after each slice. In the only hardware queue,
// where such a write may hold up the main job until the slice is over, an event is recorded there in its place; there
// is one slice in flight then.
struct DoneMark {
  const std::atomic<std::uint32_t>* host = nullptr;
  CUdeviceptr device = 0;
  CUevent event = nullptr;
};

struct LaneSettings {
  int device = 0;
  std::uint32_t queues = 1;        // hardware queues that the streams of the process take turns at
  std::uint32_t streams_made = 0;  // before, in the same context
  FillStream stream = FillStream::plain;
};

class FillLane {
 public:
  // Throws SetUpError.
  FillLane(const Driver& driver, const LaneSettings& settings);
  ~FillLane() { destroy(); }  // nothing of it is in flight
  FillLane(const FillLane&) = delete;
  FillLane& operator=(const FillLane&) = delete;

  CUstream stream() const { return stream_; }
  // Why it is a plain one although another was wanted; "": it is as wanted.
  const std::string& fault() const { return fault_; }
  // How ends of slices are marked, by an event or by a word; made at the first call. Throws SetUpError.
  const DoneMark& done_mark(bool by_event);
  // The green context that keeps kernels of any size off `reserved` multiprocessors; made at the first call. Throws
  // SetUpError.
  const GreenShare& share(std::uint32_t reserved);
  void check_share() const;  // throws SetUpError where there can be none
  // A job itself made so many streams.
  void complete_lap(std::uint32_t made) { lap_.complete(queues_, made); }
  // The context is going, which its green context would keep; nothing of it is in flight. Once, or again.
  void let_context_go() noexcept {
    green_.destroy();
    share_.destroy();
  }

 private:
  CUstream make_stream(const LaneSettings& settings);
  void destroy() noexcept;

  const Driver& driver_;
  const int device_;
  const FillStream wanted_;
  const std::uint32_t queues_;
  QueueLap lap_;
  GreenStream green_;
  GreenShare share_;
  std::string fault_;
  CUstream stream_ = nullptr;
  void* done_word_ = nullptr;
  DoneMark done_{};
};

}  // namespace weft
