// See the header.
#include "runner/core/trials.h"

#include <algorithm>
#include <vector>

#include "runner/clock.h"
#include "runner/options/launcher.h"
#include "runner/options/output_path.h"
#include "trace/write/clocks.h"

namespace weft {
namespace {

constexpr Duration look_every = std::chrono::milliseconds(1);
constexpr std::size_t most_kept = 64;
constexpr Duration longest_end = std::chrono::milliseconds(500);  // of a trial that is stopped

std::string gpu_of(const Driver& driver, int ordinal, int driver_version) {
  std::string text = std::to_string(driver_version);
  CUdevice device{};
  check(driver, driver.cuDeviceGet(&device, ordinal), "cuDeviceGet");
  for (const CUdevice_attribute attribute :
       {CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR,
        CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE,
        CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH, CU_DEVICE_ATTRIBUTE_CLOCK_RATE}) {
    int value = 0;
    if (driver.cuDeviceGetAttribute(&value, attribute, device) != CUDA_SUCCESS) value = -1;
    text += ' ' + std::to_string(value);
  }
  return text;
}

}  // namespace

std::shared_ptr<SharedTrial> Trials::join(const FillSettings& settings, const TrialSubject& subject,
                                          const Variables& variables) {
  const std::string key = trial_key(subject);
  const std::lock_guard lock(mutex_);
  Entry& entry = entries_[key];
  if (entry.trial == nullptr) {
    const Duration limit = settings.asks_machine ? longest_trial + longest_asking : longest_trial;
    entry.trial = std::make_shared<SharedTrial>(probe_, variables, settings, key, limit, times_given_back_);
    entry.trial->start();
  }
  ++entry.users;
  return entry.trial;
}

bool Trials::wait(const SharedTrial& trial) {
  const TimePoint began = now();
  const auto time_is_up = [&] {
    const std::lock_guard lock(mutex_);
    return now() - began >= budget_.allowed(trial.started(), began);
  };
  while (!trial.has_verdict() && trial.has_thread() && !time_is_up()) sleep_until(now() + look_every);
  const std::lock_guard lock(mutex_);
  budget_.spend(now() - began);
  return trial.has_verdict();
}

void Trials::leave(const std::shared_ptr<SharedTrial>& trial) {
  {
    const std::lock_guard lock(mutex_);
    const auto found =
        std::find_if(entries_.begin(), entries_.end(), [&](const auto& entry) { return entry.second.trial == trial; });
    if (found == entries_.end() || --found->second.users > 0) return;
    // Verdicts are kept for openings to come, but not of any number of jobs: each has an open file.
    const bool is_crowded = entries_.size() > most_kept;
    if (const auto verdict = trial->verdict(); verdict && !verdict->is_local && !is_crowded) return;
    entries_.erase(found);
  }
  trial->stop();
  wait_at_most(longest_end, [&] { return !trial->has_thread(); });
}

bool Trials::give_way(int device, Duration limit) {
  std::vector<std::shared_ptr<SharedTrial>> there;
  {
    const std::lock_guard lock(mutex_);
    for (const auto& [key, entry] : entries_)
      if (entry.trial != nullptr && entry.trial->runs_on(device)) there.push_back(entry.trial);
  }
  for (const auto& trial : there) trial->give_way();
  const auto gone = [&] {
    return std::none_of(there.begin(), there.end(), [&](const auto& trial) { return trial->runs_on(device); });
  };
  return !there.empty() && wait_at_most(limit, gone);
}

TrialSubject trial_subject(const FillSettings& settings, const Options& options, const Variables& variables,
                           const Driver& driver, int driver_version, const char* build_id) {
  const JobFileStamp stamp = settings.stamp.is_known() ? settings.stamp : stamp_of(settings.spec.path);
  if (!stamp.is_known()) throw no_such_job(settings.spec);
  TrialSubject subject;
  subject.build = build_id;
  subject.job = job_id(options.job, variables);
  subject.node = boot_id();
  if (subject.node.empty()) subject.node = output_names(options, variables).host.value_or("");
  subject.path = settings.spec.path;
  subject.arguments = settings.spec.arguments;
  for (const std::string* const file : {&settings.feed.input, &settings.feed.results, &settings.feed.weights})
    subject.files += *file + '\n';
  subject.file_device = stamp.device;
  subject.file_number = stamp.number;
  subject.file_bytes = stamp.bytes;
  subject.file_changed = stamp.changed;
  subject.gpu = gpu_of(driver, settings.lane.device, driver_version);
  subject.memory = settings.memory;
  subject.max_blocks = settings.unit.confine.max_blocks;
  subject.reserved = settings.unit.confine.reserved;
  subject.confine = static_cast<std::uint64_t>(settings.unit.confine.wish);
  subject.asks_machine = settings.asks_machine ? 1 : 0;
  subject.wish = settings.asks_machine ? static_cast<std::uint64_t>(settings.wish) : 0;
  subject.stream = static_cast<std::uint64_t>(settings.lane.stream);
  subject.slice_cap = static_cast<std::uint64_t>(settings.unit.slice_cap.count());
  return subject;
}

}  // namespace weft
