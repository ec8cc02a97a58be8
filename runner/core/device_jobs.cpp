// See device_jobs.h.
#include "runner/core/device_jobs.h"

#include <algorithm>
#include <cctype>
#include <map>

#include "runner/clock.h"
#include "runner/options/queue_name.h"

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

// The free memory of the device is that of the latest.
void add(MemoryRecord& sum, const MemoryRecord& one) {
  sum.cap += one.cap;
  sum.reserved += one.reserved;
  sum.used += one.used;
  sum.device_free = one.device_free;
  sum.device_total = one.device_total;
}

// Of the user's name, or of file and arguments: the same in each run, and fit for the name of a file. Variants have one
// progress, so the list of them may change from run to run.
std::string key_of(const JobPlan& job) {
  std::string key = job.name.empty() ? name_in_path(job.spec) : job.name;
  std::uint32_t hash = 2166136261;  // FNV-1a
  const std::string arguments = job.name.empty() ? parse_fill_spec(job.spec).arguments : "";
  for (const char c : arguments) hash = (hash ^ static_cast<unsigned char>(c)) * 16777619;
  for (char& c : key)
    if (std::isalnum(static_cast<unsigned char>(c)) == 0) c = '_';
  return arguments.empty() ? key : key + "-" + std::to_string(hash);
}

}  // namespace

std::string DeviceJob::name() const {
  if (fill.exists()) return place.name(fill.name());
  return place.name(own_name.empty() ? name_in_path(place.plan.spec) : own_name);
}

ListedJob DeviceJob::listed() const {
  ListedJob made = place;
  made.plan = plan();
  made.state = state;
  return made;
}

ReadyJob DeviceJob::ready(const Marking& marking) const {
  ReadyJob made = fill.ready(place, marking);
  made.wish = variants.wish();
  made.is_another = is_of_queue() && !withdrawn;
  if (is_of_queue()) {
    made.wish.has_smaller = true;  // another rank may have room
    made.wish.iterations = Variants::many_iterations;
  }
  return made;
}

std::string DeviceJob::why_it_never_fits() const {
  return "fill job " + name() + " does not fit beside fill jobs that never end (they have no `units`)";
}

JobRecord DeviceJob::record(JobEvent event, const std::string& why) const {
  JobRecord made;
  made.job = place.number;
  made.name = name();
  made.event = event;
  made.why = why;
  made.memory = plan().memory;
  made.terms = place.plan.terms;
  made.variant = variants.name();
  return made;
}

void DeviceJobs::plan() {
  if (!jobs_.empty()) return;
  places_ = core_.options.queue.empty() ? 0 : core_.options.queue_jobs;
  const FillPlan plan = parse_fill_plan(core_.options.fill, core_.options.memory, core_.own_jobs,
                                        {core_.options.input, core_.options.results, core_.options.weights}, places_);
  policy_ = plan.policy;
  if (plan.jobs.size() + places_ > most_jobs)
    throw std::invalid_argument("WEFT_FILL has " + std::to_string(plan.jobs.size()) + " jobs and WEFT_QUEUE_JOBS is " +
                                std::to_string(places_) + "; at most " + std::to_string(most_jobs) +
                                " are possible together");
  const bool one = plan.jobs.size() == 1 && places_ == 0;
  std::map<std::string, int> same;
  for (const JobPlan& job : plan.jobs) {
    ListedJob place{static_cast<std::uint32_t>(jobs_.size()), job, one, one ? "" : key_of(job)};
    if (const int before = same[place.progress]++; before > 0) place.progress += "-" + std::to_string(before + 1);
    jobs_.emplace_back(core_, place);
  }
  for (std::uint32_t number = 0; number < places_; ++number) {
    jobs_.emplace_back(core_, ListedJob{static_cast<std::uint32_t>(jobs_.size()), {}, false, ""});
    jobs_.back().queue_place = number;
    jobs_.back().place.is_of_queue = true;
  }
}

std::shared_ptr<FillLane> DeviceJobs::lane() const {
  for (const DeviceJob& job : jobs_)
    if (job.fill.exists() && job.fill.lane() != nullptr) return job.fill.lane();
  return nullptr;
}

std::string DeviceJobs::names() const {
  std::string names;
  const auto add = [&](const std::string& name) { names += (names.empty() ? "" : ", ") + name; };
  for (const DeviceJob& job : jobs_)
    if (!job.is_of_queue() && (job.fill.exists() || job.trial.is_awaited())) add(job.name());
  if (queue_is_open_) add("jobs of " + shown_queue(core_.options.queue));
  return names;
}

RecordText DeviceJobs::confinement() const {
  if (!exist()) return std::string_view();
  Confinement weakest = Confinement::job;
  for (const DeviceJob& job : jobs_)
    if (job.fill.exists()) weakest = std::max(weakest, job.fill.confined().how);
  return name_of(weakest);
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

int DeviceJobs::expected() const {
  return static_cast<int>(
      std::ranges::count_if(jobs_, [](const DeviceJob& job) { return job.is_of_queue() || job.trial.is_awaited(); }));
}

bool DeviceJobs::are_awaited() const {
  return awaited() > 0;
}

bool DeviceJobs::await_turns() const {
  return std::ranges::any_of(jobs_, [](const DeviceJob& job) { return job.trial.awaits_turn(); });
}

bool DeviceJobs::want_memory() const {
  return await_turns() || std::ranges::any_of(jobs_, [](const DeviceJob& job) {
           return job.variants.may_grow() || (job.is_of_queue() && !job.vacant);
         });
}

bool DeviceJobs::trial_is_under_way() const {
  return std::ranges::any_of(jobs_, [](const DeviceJob& job) { return job.trial.is_under_way(); });
}

bool DeviceJobs::one_was_given_up() const {
  return std::ranges::any_of(jobs_, [](const DeviceJob& job) { return job.fill.was_given_up(); });
}

std::uint64_t DeviceJobs::most_free_memory(const HasEnded& has_ended) const {
  std::uint64_t free = core_.options.memory;
  for (const DeviceJob& job : jobs_)
    if (job.fill.exists() && job.place.plan.terms.units == 0 && !has_ended(job))
      free -= std::min(free, job.plan().memory);
  return free;
}

std::uint64_t DeviceJobs::free_memory() const {
  std::uint64_t free = core_.options.memory;
  for (const DeviceJob& job : jobs_)
    if (job.fill.exists() || job.fill.is_at_work() || (job.trial.is_awaited() && !job.trial.awaits_turn()))
      free -= std::min(free, job.plan().memory);
  return free;
}

std::uint64_t DeviceJobs::unwanted_memory() const {
  std::uint64_t free = free_memory();
  for (const DeviceJob& job : jobs_)
    if (!job.fill.exists() && job.trial.awaits_turn()) free -= std::min(free, job.plan().memory);
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
  std::size_t free = 0, total = 0;
  core_.driver.cuMemGetInfo_v2(&free, &total);
  sum.device_free = free;
  sum.device_total = total;
  for (const DeviceJob& job : jobs_) {
    if (job.fill.exists()) add(sum, job.fill.memory(event));
  }
  return sum;
}

bool DeviceJobs::are_asked_within(const Reporter& reporter, Duration limit) {
  const Deadline deadline(limit);
  for (const bool is_asking : {true, false})
    for (DeviceJob& job : jobs_)
      if (job.fill.exists() && job.fill.is_asking() == is_asking && (job.rests || job.fill.progress_is_kept()) &&
          !job.fill.is_asked_within(reporter, deadline.left()))
        return false;
  return true;
}

bool DeviceJobs::are_being_asked() const {
  return std::ranges::any_of(jobs_, [](const DeviceJob& job) { return job.fill.is_being_asked(); });
}

void DeviceJobs::await_answers() {
  for (DeviceJob& job : jobs_) job.fill.await_answer();
}

bool DeviceJobs::give_device_back(Duration limit) {
  const Deadline deadline(limit);
  bool all = true;
  std::vector<DeviceJob*> there;
  for (DeviceJob& job : jobs_)
    if (job.fill.exists()) there.push_back(&job);
  // One that is being asked for its progress may take long for it, so it comes last.
  std::ranges::stable_partition(there, [](const DeviceJob* job) { return !job->fill.is_at_work(); });
  for (DeviceJob* const job : there) all = job->fill.give_device_back(deadline.left(), job->rests) && all;
  return all;
}

std::optional<MemoryRecord> DeviceJobs::release(const Reporter& reporter, Duration limit) {
  for (DeviceJob& job : jobs_)
    if (job.fill.exists()) {
      job.fill.keep_progress(reporter, limit);
      job.units_are_kept = job.fill.units_are_kept();
    }
  const Deadline deadline(limit);
  MemoryRecord sum;
  sum.event = MemoryEvent::released;
  bool all = true;
  for (DeviceJob& job : jobs_) {
    if (!job.fill.exists()) continue;
    const std::optional<MemoryRecord> one = job.fill.take_down(deadline.left());
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

// A preparation that was given up may still work on the stream of all.
void DeviceJobs::abandon(bool nothing_in_flight, Duration limit) noexcept {
  for (DeviceJob& job : jobs_) job.fill.context_is_going();
  const Deadline deadline(limit);
  const bool at_work = are_at_work(deadline.left());
  for (DeviceJob& job : jobs_) job.fill.abandon(nothing_in_flight && !at_work, deadline.left());
}

void DeviceJobs::let_progress_go() {
  for (DeviceJob& job : jobs_) job.fill.let_progress_go();
}

void DeviceJobs::leave() noexcept {
  for (DeviceJob& job : jobs_) job.fill.leave();
}

void DeviceJobs::leave_trials() {
  for (DeviceJob& job : jobs_) job.trial.leave();
  end_changes();
}

void DeviceJobs::end_changes() {
  for (DeviceJob& job : jobs_) {
    job.change.set(false);
    job.move.set(false);
  }
}

}  // namespace weft
