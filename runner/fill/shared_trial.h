// The trial of a fill job as one training process sees it: run by this process or by another rank of the node, in a
// thread of its own, so that nobody has to wait for it longer than he wants.
//
// Made and asked on threads of the main job inside the core's services. The thread calls no CUDA function; it ends when
// the verdict is there. It is never joined: it holds what it works with.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "runner/fill/fill_trial.h"
#include "runner/fill/trial_file.h"
#include "runner/fill/trial_verdict.h"

namespace weft {

class SharedTrial : public std::enable_shared_from_this<SharedTrial> {
 public:
  // `times_given_back`: counts on its thread when a trial that ran in this process has given its device memory back,
  // before runs_on() says so. Looks at the variables on this thread: the main job may change its environment at any
  // time.
  SharedTrial(const std::string& probe, const Variables& variables, FillSettings settings, std::string key,
              Duration limit, std::atomic<std::uint32_t>& times_given_back);

  void start();  // the thread; where none can be started there is a verdict at once
  std::optional<TrialVerdict> verdict() const;
  bool has_verdict() const { return has_verdict_.load(std::memory_order_acquire); }
  // When it began on this node; before that is known, when this process asked for it.
  TimePoint started() const { return TimePoint(Duration(started_.load(std::memory_order_relaxed))); }
  // Nobody wants it any more: what runs of it here is ended, another rank may begin anew.
  void stop() { stop_.store(true); }
  // Its processes hold memory of this device.
  bool runs_on(int device) const { return runs_.load() && settings_.lane.device == device; }
  // The main job needs that memory: the trial ends here, with a verdict that says so.
  void give_way();
  bool has_thread() const { return has_thread_.load(std::memory_order_acquire); }

 private:
  void live() noexcept;  // on the thread
  void run();
  // In turns with other ranks, until one of them has a verdict. Nothing: it was stopped.
  std::optional<TrialVerdict> run_with_others(const TrialFile& file);
  std::optional<TrialVerdict> run_here();
  void runs_no_more() noexcept;
  // The first verdict stays.
  void conclude(TrialVerdict verdict) noexcept;

  const ProbeProgram probe_;
  const std::vector<std::string> places_;  // for the file
  const FillSettings settings_;
  const std::string key_;
  const Duration limit_;
  std::atomic<std::uint32_t>& times_given_back_;
  std::unique_ptr<TrialFile> file_;  // open while the process lives: the verdict counts for ranks that come later
  std::atomic<std::int64_t> started_;
  std::atomic<bool> stop_{false}, runs_{false}, has_verdict_{false}, has_thread_{false};
  mutable std::mutex mutex_;
  std::optional<TrialVerdict> verdict_;  // guarded by mutex_
  TrialVerdict no_memory_;               // made at the start, for the thread when there is none
};

}  // namespace weft
