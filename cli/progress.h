// A bar on the terminal while traces are read, or a run is simulated: how much is done, and for how long still. Where
// stderr is no terminal it says nothing.
//
// Used by verbs that may read for minutes, on their one thread.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>

#include "trace/read/progress.h"

namespace weft::cli {

// "[###.......]" of so many places. Pure.
std::string bar(double share, std::size_t width);

// "[#####...............]  25 %  reading, 0:42 left"; `elapsed` since `what` began. Pure.
std::string progress_line(const char* what, std::uint64_t done, std::uint64_t all, std::chrono::seconds elapsed);

class ProgressBar : public ReadProgress {
 public:
  ProgressBar();
  ~ProgressBar() override { clear(); }
  ProgressBar(const ProgressBar&) = delete;
  ProgressBar& operator=(const ProgressBar&) = delete;

  void begin(const char* what, std::uint64_t bytes) override;
  void advance(std::uint64_t bytes) override;
  // Of steps that each take a while, in place of bytes; `what` stays where it is.
  void begin_steps(const char* what, std::uint64_t steps);
  void reach(std::uint64_t steps) { advance(steps - done_); }
  void clear();  // before anything else is said

 private:
  using Clock = std::chrono::steady_clock;
  void draw();

  bool visible_;
  const char* what_ = "";
  std::uint64_t done_ = 0, all_ = 0, next_look_ = 0, between_looks_ = 1;
  Clock::time_point began_{}, drawn_{};
  bool on_screen_ = false;
};

}  // namespace weft::cli
