// Records that threads of the main job hand to the dispatcher, and the reason for which one of them ends filling.
//
// Written by threads of the main job inside the core's services, read by the dispatcher thread, which looks at one
// flag per step and takes the lock only when there is something.
#pragma once

#include <atomic>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "runner/fill/filler.h"
#include "trace/record.h"

namespace weft {

class Inbox {
 public:
  // A fill job that has become ready.
  struct NewJob {
    ReadyJob job;
    JobRecord record;
  };
  // For another variant of a job: it is suspended to be asked for its state, and then goes on or is withdrawn.
  // `pause`: as suspend, at the end of its unit. The last two are of its marked memory, likewise.
  enum class Step : std::uint8_t { suspend, pause, resume, withdraw, move_to_host, move_to_device };
  struct Handover {
    std::uint32_t job = 0;  // its number
    Step step{};
  };
  struct Content {
    std::vector<Record> records;
    std::vector<NewJob> jobs;
    std::vector<Handover> handovers;
    std::string end_reason;         // "": filling goes on
    std::string no_filling_reason;  // "": none
  };

  void submit(const Record& record) {
    const std::lock_guard lock(mutex_);
    content_.records.push_back(record);
    filled_.store(true, std::memory_order_release);
  }
  // From here on nothing is launched.
  void end_filling(const std::string& reason) {
    ends_filling_.store(true, std::memory_order_release);
    const std::lock_guard lock(mutex_);
    content_.end_reason = reason;
    filled_.store(true, std::memory_order_release);
  }
  void add_job(const ReadyJob& job, const JobRecord& record) {
    const std::lock_guard lock(mutex_);
    content_.jobs.push_back({job, record});
    filled_.store(true, std::memory_order_release);
  }
  void hand_over(std::uint32_t job, Step step) {
    const std::lock_guard lock(mutex_);
    content_.handovers.push_back({job, step});
    filled_.store(true, std::memory_order_release);
  }
  void no_filling(const std::string& reason) {
    const std::lock_guard lock(mutex_);
    content_.no_filling_reason = reason;
    filled_.store(true, std::memory_order_release);
  }
  // So many fill jobs may still be added.
  void expect_jobs(int count) { jobs_to_come_.store(count, std::memory_order_release); }
  // None will be added, and none was since the last take().
  bool no_job_comes() const {
    return jobs_to_come_.load(std::memory_order_acquire) == 0 && !filled_.load(std::memory_order_acquire);
  }
  bool is_filled() const { return filled_.load(std::memory_order_acquire); }  // there is something to take
  bool ends_filling() const { return ends_filling_.load(std::memory_order_acquire); }

  // Everything since the last call.
  Content take() {
    if (!filled_.exchange(false, std::memory_order_acq_rel)) return {};
    const std::lock_guard lock(mutex_);
    return std::exchange(content_, {});
  }

 private:
  std::mutex mutex_;
  Content content_;  // guarded by mutex_
  std::atomic<bool> filled_{false};
  std::atomic<bool> ends_filling_{false};
  std::atomic<int> jobs_to_come_{0};
};

}  // namespace weft
