// The findings of the dispatcher thread about the room that bubbles have for the variants of a job, for threads of the
// main job to read.
//
// Written by the dispatcher thread at looks into bubbles, read by any other one. A finding of a variant that was
// withdrawn is gone when the next one is added.
#pragma once

#include <atomic>
#include <cstdint>

#include "runner/policy/bubble_room.h"

namespace weft {

struct RoomFound {
  RoomFinding finding = RoomFinding::none;
  Duration refused{};  // with no_room: the slice that had none
};

class RoomBoard {
 public:
  void set(const RoomFound& found) {
    refused_.store(found.refused.count(), std::memory_order_relaxed);
    finding_.store(found.finding, std::memory_order_release);
  }
  RoomFound get() const {
    const RoomFinding finding = finding_.load(std::memory_order_acquire);
    return {finding, Duration{refused_.load(std::memory_order_relaxed)}};
  }

 private:
  std::atomic<RoomFinding> finding_{RoomFinding::none};
  std::atomic<std::int64_t> refused_{0};
};

}  // namespace weft
