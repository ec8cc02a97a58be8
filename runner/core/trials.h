// The trials of the process, one for each model of GPU, and how long its threads may still wait for them.
//
// Called on threads of the main job inside the core's services. Waiting is for trials that have just begun: what comes
// later is used at a quiet moment, or not at all.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "runner/core/driver.h"
#include "runner/fill/shared_trial.h"
#include "runner/options/options.h"

namespace weft {

// All waiting for trials in one process together.
inline constexpr Duration longest_wait_for_trials = std::chrono::seconds(5);
// After this a trial is ended; nobody waits for it that long.
inline constexpr Duration longest_trial = std::chrono::seconds(30);
// So much longer where it asks the machine before, see FillSettings::asks_machine.
inline constexpr Duration longest_asking = std::chrono::seconds(20);

class Trials {
 public:
  Trials(std::string probe, std::atomic<std::uint32_t>& times_given_back)
      : probe_(std::move(probe)), times_given_back_(times_given_back), budget_(longest_wait_for_trials) {}

  // The trial that this is the subject of, which begins unless it has. To be given back by leave().
  std::shared_ptr<SharedTrial> join(const FillSettings& settings, const TrialSubject& subject,
                                    const Variables& variables);
  // True: there is a verdict.
  bool wait(const SharedTrial& trial);
  // The last one that leaves a trial without verdict ends it. A verdict that says nothing about the job is forgotten.
  void leave(const std::shared_ptr<SharedTrial>& trial);
  // The main job lacks memory on the device. True: trials held some there, and within `limit` they have ended.
  bool give_way(int device, Duration limit);

 private:
  struct Entry {
    std::shared_ptr<SharedTrial> trial;
    int users = 0;
  };
  const std::string probe_;
  std::atomic<std::uint32_t>& times_given_back_;
  std::mutex mutex_;
  std::map<std::string, Entry> entries_;  // by key; guarded by mutex_
  WaitBudget budget_;                     // guarded by mutex_
};

// The subject of a verdict about this job on this device. Throws SetUpError.
TrialSubject trial_subject(const FillSettings& settings, const Options& options, const Variables& variables,
                           const Driver& driver, int driver_version, const char* build_id);

}  // namespace weft
