// The time of a rank in its order, cut into what is known of it: bubbles, time that nobody knows or looked at, and the
// rest, in which the GPU did not wait for NCCL.
//
// Used by kineto.cpp. Pure. Records come in nearly the order of their begins; those that come late are put into it as
// long as they are not later than a bounded number of others.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <queue>
#include <vector>

#include "trace/export/exported_run.h"

namespace weft {

enum class PartKind : std::uint8_t { busy, bubble, uncertain, dark };

struct TimePart {
  PartKind kind = PartKind::busy;
  TimePoint begin{}, end{};
  Bubble bubble{};  // of a bubble
};

class IdleTimes {
 public:
  using Take = std::function<void(const TimePart&)>;

  // `measured`: the parts of the run that are cut up, in their order. `take` gets all of their time, in its order.
  IdleTimes(const std::vector<TimeWindow>& measured, Take take, std::size_t most_waiting = 1024);

  void add(const TimePart& part);
  void finish();  // once, after the last one
  // Time of parts that came so late that it had been taken for something else, or that overlap others.
  Duration lost() const { return lost_; }

 private:
  struct BeginsLater {
    bool operator()(const TimePart& one, const TimePart& other) const { return one.begin > other.begin; }
  };
  void place(const TimePart& part);
  void be_busy_until(TimePoint time);  // since the cursor
  void leave_window();

  std::vector<TimeWindow> measured_;
  Take take_;
  std::size_t most_waiting_;
  std::priority_queue<TimePart, std::vector<TimePart>, BeginsLater> waiting_;
  std::size_t at_ = 0;  // of measured_: the first part that the cursor has not left
  TimePoint cursor_{};  // all time before it was taken
  Duration lost_{};
};

}  // namespace weft
