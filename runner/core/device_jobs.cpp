// See device_jobs.h.
#include "runner/core/device_jobs.h"

#include <algorithm>

#include "runner/clock.h"
#include "runner/core/fill_settings.h"

namespace weft {
namespace {

// So that all of them together take no longer.
class Deadline {
 public:
  explicit Deadline(Duration limit) : end_(now() + limit) {}
  Duration left() const { return std::max(end_ - now(), Duration{0}); }

 private:
  TimePoint end_;
};

void add(MemoryRecord& sum, const MemoryRecord& one) {
  sum.cap += one.cap;
  sum.reserved += one.reserved;
  sum.used += one.used;
  sum.device_free = one.device_free;
  sum.device_total = one.device_total;
}

}  // namespace

std::string DeviceJob::name() const {
  if (!place.plan.name.empty()) return place.plan.name;
  return fill.exists() ? fill.name() : name_in_path(place.plan.spec);
}

JobRecord DeviceJob::record(JobEvent event, const std::string& why) const {
  JobRecord made;
  made.job = place.number;
  made.name = name();
  made.event = event;
  made.why = why;
  made.memory = place.plan.memory;
  made.priority = place.plan.terms.priority;
  made.weight = place.plan.terms.weight;
  made.deadline = place.plan.terms.deadline;
  made.units = place.plan.terms.units;
  return made;
}

void DeviceJobs::plan() {
  if (!jobs_.empty()) return;
  const FillPlan plan = parse_fill_plan(core_.options.fill, core_.options.memory);
  policy_ = plan.policy;
  for (const JobPlan& job : plan.jobs)
    jobs_.emplace_back(core_, ListedJob{static_cast<std::uint32_t>(jobs_.size()), job, plan.jobs.size() == 1});
}

std::shared_ptr<FillLane> DeviceJobs::lane() const {
  for (const DeviceJob& job : jobs_)
    if (job.fill.exists() && job.fill.lane() != nullptr) return job.fill.lane();
  return nullptr;
}

std::string DeviceJobs::names() const {
  std::string names;
  for (const DeviceJob& job : jobs_)
    if (job.fill.exists() || job.trial.is_awaited()) names += (names.empty() ? "" : ", ") + job.name();
  return names;
}

bool DeviceJobs::exist() const {
  return std::ranges::any_of(jobs_, [](const DeviceJob& job) { return job.fill.exists(); });
}

bool DeviceJobs::are_at_work(Duration limit) const {
  const Deadline deadline(limit);
  return std::ranges::any_of(jobs_, [&](const DeviceJob& job) { return job.fill.is_at_work(deadline.left()); });
}

int DeviceJobs::awaited() const {
  return static_cast<int>(std::ranges::count_if(jobs_, [](const DeviceJob& job) { return job.trial.is_awaited(); }));
}

bool DeviceJobs::are_awaited() const {
  return awaited() > 0;
}

bool DeviceJobs::wait_for_memory() const {
  return std::ranges::any_of(jobs_, [](const DeviceJob& job) { return job.trial.awaits_memory(); });
}

std::uint64_t DeviceJobs::free_memory() const {
  std::uint64_t free = core_.options.memory;
  for (const DeviceJob& job : jobs_)
    if (job.fill.exists() || (job.trial.is_awaited() && !job.trial.awaits_memory()))
      free -= std::min(free, job.place.plan.memory);
  return free;
}

bool DeviceJobs::progress_is_kept() const {
  return std::ranges::any_of(jobs_, [](const DeviceJob& job) { return job.fill.progress_is_kept(); });
}

std::uint64_t DeviceJobs::held_memory() const {
  std::uint64_t held = 0;
  for (const DeviceJob& job : jobs_) held += job.fill.held_memory();
  return held;
}

MemoryRecord DeviceJobs::memory(MemoryEvent event) const {
  MemoryRecord sum;
  sum.event = event;
  for (const DeviceJob& job : jobs_) {
    if (job.fill.exists()) add(sum, job.fill.memory(event));
  }
  return sum;
}

bool DeviceJobs::give_device_back(Duration limit) {
  const Deadline deadline(limit);
  bool all = true;
  for (DeviceJob& job : jobs_)
    if (job.fill.exists()) all = job.fill.give_device_back(deadline.left()) && all;
  return all;
}

std::optional<MemoryRecord> DeviceJobs::release(const Reporter& reporter, Duration limit) {
  const Deadline deadline(limit);
  MemoryRecord sum;
  sum.event = MemoryEvent::released;
  bool all = true;
  for (DeviceJob& job : jobs_) {
    if (!job.fill.exists()) continue;
    const std::optional<MemoryRecord> one = job.fill.release(reporter, deadline.left());
    all = all && one;
    if (one) add(sum, *one);
  }
  return all ? std::optional(sum) : std::nullopt;
}

void DeviceJobs::take_down(Duration limit) noexcept {
  const Deadline deadline(limit);
  for (DeviceJob& job : jobs_)
    if (job.fill.exists()) job.fill.take_down(deadline.left());
}

void DeviceJobs::abandon(bool nothing_in_flight, Duration limit) noexcept {
  const Deadline deadline(limit);
  for (DeviceJob& job : jobs_) job.fill.abandon(nothing_in_flight, deadline.left());
}

void DeviceJobs::let_progress_go() {
  for (DeviceJob& job : jobs_) job.fill.let_progress_go();
}

void DeviceJobs::leave() noexcept {
  for (DeviceJob& job : jobs_) job.fill.leave();
}

void DeviceJobs::leave_trials() {
  for (DeviceJob& job : jobs_) job.trial.leave();
}

}  // namespace weft
