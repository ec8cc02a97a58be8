// See desk.h.
#include "feeder/queue/desk.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <ctime>

#include "feeder/ledger.h"
#include "runner/clock.h"
#include "runner/log.h"

namespace weft {
namespace {

using namespace std::chrono_literals;

constexpr Duration between_looks = 1s;      // at which jobs wait
constexpr Duration between_readings = 10s;  // of what is known of one of them
constexpr Duration between_renewals = 5s;
constexpr Duration after_fault = 10s;  // the same job on the same rank
constexpr Duration after_no_room = 600s;
constexpr Duration after_giving_way = 30s;  // for the same job on another rank
constexpr Duration rest = 600s;             // of a rank on which every job fails
constexpr std::size_t most_faulty = 3;      // of its jobs in a row
constexpr std::uint32_t most_faults = 3;    // of a job, on all ranks
constexpr Duration window = 60s;            // of the rate

std::string host_name() {
  std::array<char, 256> name{};
  ::gethostname(name.data(), name.size() - 1);
  return name.data();
}

std::int64_t wall_clock() {
  return static_cast<std::int64_t>(std::time(nullptr));
}

bool has_records(const JobEntry& entry) {
  return !entry.job.plan.files.input.empty();
}

RankOffer offer_of(const JobChannelHeader& rank) {
  BubbleLengths::Idle idle{};
  for (std::size_t step = 0; step < idle.size(); ++step) idle[step] = rank.idle[step].load(std::memory_order_relaxed);
  return {rank.memory.load(std::memory_order_relaxed), BubbleLengths(idle)};
}

JobPolicy policy_of(const JobChannelHeader& rank) {
  return rank.policy < job_policy_names.size() ? static_cast<JobPolicy>(rank.policy) : JobPolicy::throughput;
}

std::string label_of(const JobEntry& entry) {
  const std::string number = "#" + entry.id;
  return name_of(entry.job).substr(0, JobName::capacity - number.size()) + number;
}

// At least something: 0 would be none.
Duration left_until_deadline(const JobEntry& entry) {
  const Duration deadline = entry.job.plan.terms.deadline;
  if (deadline == Duration{}) return deadline;
  return std::max<Duration>(deadline - std::chrono::seconds(wall_clock() - entry.job.submitted), Duration{1});
}

// Also where whoever has put them together could not say so any more.
bool has_all_results(const JobEntry& entry) {
  return has_records(entry) && Ledger::has_all(entry.job.plan.files.results);
}

bool is_taken(const QueuePlace& place) {
  return place.given.load(std::memory_order_acquire) != place.returned.load(std::memory_order_acquire);
}

}  // namespace

Desk::Desk(std::unique_ptr<JobQueue> queue, Committed committed)
    : queue_(std::move(queue)), committed_(std::move(committed)), host_(host_name()) {}

Desk::~Desk() {
  for (const auto& [id, work] : work_) {
    try {
      queue_->end_work(id);
    } catch (const std::exception&) {
      // It counts as at work until its lease is over.
    }
  }
}

void Desk::serve(JobChannelHeader& rank) {
  look_at_queue();
  for (std::uint32_t place = 0; place < rank.places; ++place) serve_place(rank, rank.place[place]);
}

void Desk::look_at_queue() {
  if (now() - looked_ < between_looks) return;
  looked_ = now();
  waiting_ = queue_->ids(JobState::waiting);
  const std::set<std::string> wait(waiting_.begin(), waiting_.end());
  std::erase_if(gave_way_, [&](const auto& gave) { return !wait.contains(gave.first); });
  std::erase_if(known_, [&](const auto& known) { return !wait.contains(known.first); });
  for (const std::string& id : waiting_) entry_of(id);
}

// Of one that waits. nullptr: it does not, or cannot be read.
JobEntry* Desk::entry_of(const std::string& id) {
  if (std::ranges::find(waiting_, id) == waiting_.end()) return nullptr;
  Known& known = known_[id];
  if (known.entry.id.empty() || now() - known.read > between_readings) {
    known.read = now();
    try {
      if (auto entry = queue_->find(id)) known.entry = *std::move(entry);
    } catch (const std::exception& error) {
      if (known.entry.id.empty()) log(LogLevel::warn, error.what());
    }
  }
  return known.entry.id.empty() ? nullptr : &known.entry;
}

void Desk::serve_place(JobChannelHeader& rank, QueuePlace& place) {
  auto& jobs = ranks_[&rank].jobs;
  if (is_taken(place))
    jobs.contains(&place) ? look_after(rank, place) : take_up(rank, place);
  else if (jobs.contains(&place))
    take_back(rank, place);
  if (!is_taken(place) && place.asked.load(std::memory_order_acquire) != place.given.load(std::memory_order_relaxed))
    give(rank, place);
}

// A job that a feeder before this one has given.
void Desk::take_up(JobChannelHeader& rank, QueuePlace& place) {
  const std::string id = place.job.id.get();
  const JobEntry* const entry = entry_of(id);
  ranks_[&rank].jobs[&place] = id;
  if (entry != nullptr && begin_work(*entry, rank, place)) return;
  place.why_withdrawn.set("the feeder was started again, and does not have the job any more");
  place.withdrawn.store(place.given.load(std::memory_order_relaxed), std::memory_order_release);
}

void Desk::look_after(JobChannelHeader& rank, QueuePlace& place) {
  const std::uint32_t given = place.given.load(std::memory_order_relaxed);
  const std::string id = ranks_[&rank].jobs[&place];
  JobEntry* const entry = entry_of(id);
  const Duration slice{place.slice.load(std::memory_order_relaxed)};
  if (entry != nullptr && slice > entry->need.slice) {
    entry->need.slice = slice;
    queue_->note_need(id, entry->need);
  }
  if (place.withdrawn.load(std::memory_order_relaxed) == given) return;
  std::string why;
  if (entry == nullptr) why = "it waits in the queue no more";
  const bool may_give_way =
      policy_of(rank) == JobPolicy::priority && place.runs.load(std::memory_order_acquire) == given;
  if (entry != nullptr && may_give_way)
    if (const JobEntry* const other = more_important(*entry, rank))
      why = "job " + other->id + " of a higher priority waits";
  if (why.empty()) return;
  place.why_withdrawn.set(why);
  place.withdrawn.store(given, std::memory_order_release);
}

// A job for which this one gives way. One rank does for a job that goes to one.
const JobEntry* Desk::more_important(const JobEntry& entry, const JobChannelHeader& rank) {
  for (const JobEntry* const other : candidates(ranks_[&rank])) {
    if (other->job.plan.terms.priority <= entry.job.plan.terms.priority || !goes_on(waiting(*other), offer_of(rank)))
      continue;
    const auto before = gave_way_.find(other->id);
    if (!has_records(*other) && before != gave_way_.end() && now() - before->second < after_giving_way) continue;
    gave_way_[other->id] = now();
    return other;
  }
  return nullptr;
}

// Jobs that this rank may take now, in the order in which they were submitted.
std::vector<const JobEntry*> Desk::candidates(const Rank& rank) const {
  std::vector<const JobEntry*> entries;
  for (const std::string& id : waiting_) {
    const auto known = known_.find(id);
    if (known == known_.end() || known->second.entry.id.empty()) continue;
    const auto later = rank.not_before.find(id);
    if (later != rank.not_before.end() && now() < later->second) continue;
    const bool has_it = std::ranges::any_of(rank.jobs, [&](const auto& job) { return job.second == id; });
    const JobEntry& entry = known->second.entry;
    if (!has_it && (has_records(entry) || !work_.contains(id))) entries.push_back(&entry);
  }
  return entries;
}

WaitingJob Desk::waiting(const JobEntry& entry) const {
  WaitingJob job;
  job.terms = entry.job.plan.terms;
  job.terms.deadline = left_until_deadline(entry);
  job.memory = entry.job.plan.memory;
  job.lacked = entry.need.memory;
  job.slice = entry.need.slice;
  double per_second = 0;
  for (const AtWork& work : entry.at_work) {
    job.ranks += static_cast<std::uint32_t>(work.ranks.size());
    per_second += work.per_second;
  }
  if (const auto own = work_.find(entry.id); own != work_.end() && entry.at_work.empty())
    job.ranks = static_cast<std::uint32_t>(own->second.ranks.size());
  job.had = job.ranks;
  if (!has_records(entry) && per_second > 0)
    job.work_left = static_cast<double>(entry.job.plan.terms.units - entry.units) / per_second;
  return job;
}

void Desk::give(JobChannelHeader& rank, QueuePlace& place) {
  Rank& known = ranks_[&rank];
  const std::uint32_t asked = place.asked.load(std::memory_order_acquire);
  if (now() >= known.rests_until) {
    std::vector<const JobEntry*> entries = candidates(known);
    while (!entries.empty()) {
      std::vector<WaitingJob> jobs;
      for (const JobEntry* const entry : entries) jobs.push_back(waiting(*entry));
      const std::optional<std::size_t> best = placed(jobs, offer_of(rank), policy_of(rank));
      if (!best) break;
      if (give_one(rank, place, *entries[*best])) return;
      entries.erase(entries.begin() + static_cast<std::ptrdiff_t>(*best));
    }
  }
  place.looked.store(asked, std::memory_order_release);
}

bool Desk::give_one(JobChannelHeader& rank, QueuePlace& place, const JobEntry& entry) {
  const JobPlan& plan = entry.job.plan;
  if (has_all_results(entry)) return end_job(std::string(entry.id), JobState::done, ""), false;
  if (!begin_work(entry, rank, place)) return false;
  GivenJob job;
  job.id.set(entry.id);
  job.name.set(label_of(entry));
  job.spec.set(plan.spec);
  job.input.set(plan.files.input);
  job.results.set(plan.files.results);
  job.weights.set(plan.files.weights);
  if (const std::string folder = queue_->folder_of(entry.id); !has_records(entry) && !folder.empty())
    job.progress.set(folder + "/progress");
  if (has_records(entry)) job.claims.set(queue_->claims_of(entry.id));
  job.memory = plan.memory;
  job.terms = plan.terms;
  job.terms.deadline = left_until_deadline(entry);
  if (job.terms.units != 0) job.terms.units -= std::min(entry.units, job.terms.units - 1);
  job.variants = static_cast<std::uint32_t>(std::min(plan.variants.size(), job.variant.size()));
  for (std::uint32_t variant = 0; variant < job.variants; ++variant) job.variant[variant].set(plan.variants[variant]);
  place.job = job;
  place.units.store(0, std::memory_order_relaxed);
  place.slice.store(0, std::memory_order_relaxed);
  ranks_[&rank].jobs[&place] = entry.id;
  place.given.store(place.asked.load(std::memory_order_relaxed), std::memory_order_release);
  return true;
}

// False: another rank has the lease.
bool Desk::begin_work(const JobEntry& entry, JobChannelHeader& rank, QueuePlace& place) {
  const bool is_new = !work_.contains(entry.id);
  Work& work = work_[entry.id];
  if (is_new && !has_records(entry)) {
    work.lease = queue_->lease_of(entry.id);
    if (!work.lease->claim(Claims::From::anywhere)) {
      work_.erase(entry.id);
      return false;
    }
    work.units_before = entry.units;
  }
  if (is_new) {
    work.since = wall_clock();
    work.samples.push_back({now(), count_of(entry, work)});
  }
  work.places.insert(&place);
  work.ranks.insert(rank.rank);
  renewed_ = {};
  return true;
}

void Desk::take_back(JobChannelHeader& rank, QueuePlace& place) {
  const std::string id = ranks_[&rank].jobs[&place];
  const auto work = work_.find(id);
  if (work != work_.end()) end(rank, place, id, work->second);
  drop(rank, place, id);
}

void Desk::drop(JobChannelHeader& rank, QueuePlace& place, const std::string& id) {
  ranks_[&rank].jobs.erase(&place);
  known_.erase(id);
  entry_of(id);  // is read again
  const auto work = work_.find(id);
  if (work == work_.end()) return;
  work->second.places.erase(&place);
  work->second.ranks.erase(rank.rank);
  renewed_ = {};
  if (!work->second.places.empty()) return;
  work_.erase(work);
  queue_->end_work(id);
  if (const auto entry = queue_->find(id); entry && has_all_results(*entry)) end_job(id, JobState::done, "");
}

void Desk::end(JobChannelHeader& rank, const QueuePlace& place, const std::string& id, Work& work) {
  const auto entry = queue_->find(id);
  if (!entry) return;
  const std::string why = place.why.get(), by = host_ + ", rank " + std::to_string(rank.rank);
  Rank& known = ranks_[&rank];
  const std::uint64_t units = place.units.load(std::memory_order_relaxed);
  if (work.lease && units != 0) queue_->note_units(id, work.units_before + units);
  if (place.end != JobEnd::fault && place.end != JobEnd::left) known.faulty.clear();
  switch (place.end) {
    case JobEnd::over:
      return end_if_over(*entry, work, units);
    case JobEnd::fault:
      known.not_before[id] = now() + after_fault;
      return note_fault(rank, place, id);
    case JobEnd::passing_fault:
      known.not_before[id] = now() + after_fault;
      return;
    case JobEnd::lacks_memory: {
      JobNeed need = entry->need;
      need.memory = std::max(need.memory, place.memory);
      queue_->note_need(id, need);
      known.not_before[id] = now() + after_fault;
      return queue_->note_refusal(id, {RefusalKind::lacks_memory, by, why});
    }
    case JobEnd::no_room:
      known.not_before[id] = now() + after_no_room;
      return queue_->note_refusal(id, {RefusalKind::no_room, by, why});
    case JobEnd::withdrawn:
    case JobEnd::left:
      return;
  }
}

void Desk::end_if_over(const JobEntry& entry, Work& work, std::uint64_t units) {
  if (work.lease) {
    if (work.units_before + units < entry.job.plan.terms.units) return;
    work.lease->finish(0);
    end_job(entry.id, JobState::done, "");
  } else if (has_all_results(entry)) {
    end_job(entry.id, JobState::done, "");
  }
}

void Desk::end_job(const std::string& id, JobState state, const std::string& why) {
  queue_->move(id, JobState::waiting, state, why);
  std::erase(waiting_, id);
}

// A rank on which every job fails, perhaps because its host is broken, is not to use up all jobs of the queue.
void Desk::note_fault(JobChannelHeader& rank, const QueuePlace& place, const std::string& id) {
  const std::string by = host_ + ", rank " + std::to_string(rank.rank);
  Refusal refusal{RefusalKind::fault, by, place.why.get(), 1};
  std::uint32_t times = 1;
  if (const auto entry = queue_->find(id))
    for (const Refusal& before : entry->refusals) {
      if (before.kind != RefusalKind::fault) continue;
      times += before.times;
      if (before.by == by) refusal.times += before.times;
    }
  queue_->note_refusal(id, refusal);
  if (times >= most_faults) end_job(id, JobState::failed, refusal.why);
  Rank& known = ranks_[&rank];
  known.faulty.insert(id);
  if (known.faulty.size() < most_faulty) return;
  known.faulty.clear();
  known.rests_until = now() + rest;
  log(LogLevel::warn, "queue " + queue_->name() + ": " + std::to_string(most_faulty) +
                          " jobs in a row have failed on rank " + std::to_string(rank.rank) +
                          ", which gets none for ten minutes; the last one: " + refusal.why);
}

void Desk::leave(JobChannelHeader& rank) {
  for (std::uint32_t number = 0; number < std::min<std::size_t>(rank.places, rank.place.size()); ++number) {
    QueuePlace& place = rank.place[number];
    const auto job = ranks_[&rank].jobs.find(&place);
    if (job == ranks_[&rank].jobs.end()) continue;
    if (!is_taken(place)) {
      take_back(rank, place);
      continue;
    }
    const std::string id = job->second;
    const auto work = work_.find(id);
    const std::uint64_t units = place.units.load(std::memory_order_relaxed);
    if (work != work_.end() && work->second.lease && units != 0)
      queue_->note_units(id, work->second.units_before + units);
    drop(rank, place, id);
  }
  ranks_.erase(&rank);
}

std::uint64_t Desk::count_of(const JobEntry& entry, const Work& work) const {
  if (has_records(entry)) return committed_(entry.job.plan.files.results);
  std::uint64_t units = work.units_before;
  for (const QueuePlace* const place : work.places) units += place->units.load(std::memory_order_relaxed);
  return units;
}

double Desk::per_second(const Work& work) const {
  if (work.samples.size() < 2) return 0;
  const std::chrono::duration<double> time = work.samples.back().time - work.samples.front().time;
  const std::uint64_t count =
      work.samples.back().count - std::min(work.samples.front().count, work.samples.back().count);
  return time.count() > 0 ? static_cast<double>(count) / time.count() : 0;
}

void Desk::withdraw(const Work& work, const char* why) {
  for (QueuePlace* const place : work.places) {
    place->why_withdrawn.set(why);
    place->withdrawn.store(place->given.load(std::memory_order_relaxed), std::memory_order_release);
  }
}

// Records have leases of their own, of the ledger.
void Desk::renew() {
  if (now() - renewed_ < between_renewals) return;
  renewed_ = now();
  for (auto& [id, work] : work_) {
    const JobEntry* const entry = entry_of(id);
    if (entry == nullptr) continue;
    work.samples.push_back({now(), count_of(*entry, work)});
    while (work.samples.size() > 2 && work.samples.back().time - work.samples.front().time > window)
      work.samples.pop_front();
    if (work.lease) {
      if (!work.lease->renew(0)) withdraw(work, "another rank has it");
      const std::uint64_t units = count_of(*entry, work);
      if (units > entry->units) queue_->note_units(id, units);
    }
    AtWork at_work;
    at_work.host = host_;
    at_work.ranks.assign(work.ranks.begin(), work.ranks.end());
    at_work.since = work.since;
    at_work.per_second = per_second(work);
    queue_->note_work(id, at_work);
  }
}

}  // namespace weft
