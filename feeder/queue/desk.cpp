// See desk.h.
#include "feeder/queue/desk.h"

#include <algorithm>
#include <ctime>
#include <exception>

#include "feeder/ledger.h"
#include "feeder/owner.h"
#include "runner/clock.h"
#include "runner/log.h"

namespace weft {
namespace {

using namespace std::chrono_literals;

constexpr Duration between_looks = 1s;      // at which jobs wait
constexpr Duration between_readings = 10s;  // of one of them
constexpr std::size_t most_readings = 100;  // at a look: nothing else is done meanwhile
constexpr Duration between_renewals = 5s;
constexpr Duration after_fault = 5s;      // the same job on the same host; then twice as long, and so on
constexpr Duration after_passing = 10s;   // the same job on the same rank, likewise
constexpr Duration longest_pause = 600s;  // of both
constexpr Duration after_no_room = 600s;  // likewise: bubbles may change
constexpr Duration longest_without_room = 6h;
constexpr Duration after_giving_way = 30s;  // for the same job, on another rank
constexpr Duration rest = 600s;             // of a host on which every job fails
constexpr std::size_t most_faulty = 3;      // of its jobs in a row
constexpr std::uint32_t most_faults = 3;    // of a job
constexpr Duration window = 60s;            // of the rate

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

bool is_taken(const QueuePlace& place) {
  return place.given.load(std::memory_order_acquire) != place.returned.load(std::memory_order_acquire);
}

// The rank has had it ready: then its files, and those of its results, were found to be of this job.
bool has_run(const QueuePlace& place) {
  const std::uint32_t given = place.given.load(std::memory_order_relaxed);
  return given != 0 && place.runs.load(std::memory_order_acquire) == given;
}

std::uint32_t places_of(const JobChannelHeader& rank) {
  return std::min<std::uint32_t>(rank.places, JobChannelHeader::most_places);
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

// A fault of one job is no fault of the others.
template <class Call>
void Desk::guarded(const std::string& id, Call call) {
  try {
    call();
  } catch (const NotNow&) {
    throw;
  } catch (const std::exception& error) {
    not_before_[id] = now() + rest;
    if (said_.insert(id).second) log(LogLevel::warn, "job " + id + " of the queue: " + error.what());
  }
}

void Desk::look_after(JobChannelHeader& rank) {
  look_at_queue();
  auto& jobs = ranks_[&rank].jobs;
  for (std::uint32_t number = 0; number < places_of(rank); ++number) {
    QueuePlace& place = rank.place[number];
    if (is_taken(place))
      jobs.contains(&place) ? look_after(rank, place) : take_up(rank, place);
    else if (jobs.contains(&place))
      take_back(rank, place);
  }
}

void Desk::serve(JobChannelHeader& rank) {
  look_after(rank);
  for (std::uint32_t number = 0; number < places_of(rank); ++number) {
    QueuePlace& place = rank.place[number];
    const bool asks = place.asked.load(std::memory_order_acquire) != place.given.load(std::memory_order_relaxed);
    if (!is_taken(place) && asks) give(rank, place);
  }
}

void Desk::look_at_queue() {
  if (now() - looked_ < between_looks) return;
  waiting_ = queue_->ids(JobState::waiting);
  looked_ = now();
  waits_ = {waiting_.begin(), waiting_.end()};
  const auto is_gone = [&](const auto& entry) { return !waits_.contains(entry.first); };
  std::erase_if(gave_way_, is_gone);
  std::erase_if(not_before_, is_gone);
  std::erase_if(known_, is_gone);
  read_some();
}

// Of many jobs not all at the same look.
void Desk::read_some() {
  std::size_t readings = 0;
  for (std::size_t count = 0; count < waiting_.size() && readings < most_readings; ++count) {
    const std::string& id = waiting_[next_reading_++ % waiting_.size()];
    const auto known = known_.find(id);
    if (known != known_.end() && now() - known->second.read < between_readings) continue;
    read_entry(id);
    ++readings;
  }
}

JobEntry* Desk::read_entry(const std::string& id) {
  Known& known = known_[id];
  known.read = now();
  guarded(id, [&] {
    if (auto entry = queue_->find(id)) known.entry = *std::move(entry);
  });
  return known.entry.id.empty() ? nullptr : &known.entry;
}

// Of one that waits, as it was read last. nullptr: it does not wait, or cannot be read.
JobEntry* Desk::entry_of(const std::string& id) {
  if (!waits_.contains(id)) return nullptr;
  const auto known = known_.find(id);
  if (known == known_.end()) return read_entry(id);
  return known->second.entry.id.empty() ? nullptr : &known->second.entry;
}

// A job that a feeder before this one has given.
void Desk::take_up(JobChannelHeader& rank, QueuePlace& place) {
  const std::string id = place.job.id.get();
  ranks_[&rank].jobs[&place] = id;
  bool is_ours = false;
  if (waits_.contains(id)) guarded(id, [&] { is_ours = begin_work(id, rank, place); });
  if (is_ours) return;
  place.why_withdrawn.set("the feeder was started again, and does not have the job any more");
  place.withdrawn.store(place.given.load(std::memory_order_relaxed), std::memory_order_release);
}

void Desk::look_after(JobChannelHeader& rank, QueuePlace& place) {
  const std::uint32_t given = place.given.load(std::memory_order_relaxed);
  const std::string id = ranks_[&rank].jobs[&place];
  JobEntry* const entry = entry_of(id);
  if (has_run(place)) faulty_.clear();
  // The shortest of what ranks have found, which may have other GPUs; one of a variant is not that of the job.
  const Duration slice{place.slice.load(std::memory_order_relaxed)};
  const bool is_news = entry != nullptr && entry->job.plan.variants.empty() && slice > Duration{} &&
                       (entry->need.slice == Duration{} || slice < entry->need.slice);
  if (is_news) {
    entry->need.slice = slice;
    guarded(id, [&] { queue_->note_need(id, entry->need); });
  }
  if (place.withdrawn.load(std::memory_order_relaxed) == given) return;
  std::string why;
  if (entry == nullptr && !waits_.contains(id) && has_ended_in_queue(id)) why = "it waits in the queue no more";
  if (entry != nullptr && policy_of(rank) == JobPolicy::priority && has_run(place))
    if (const JobEntry* const other = more_important(*entry, rank))
      why = "job " + other->id + " of a higher priority waits";
  if (why.empty()) return;
  place.why_withdrawn.set(why);
  place.withdrawn.store(given, std::memory_order_release);
}

// One that the queue does not know any more goes on: a server may have lost its keys.
bool Desk::has_ended_in_queue(const std::string& id) {
  TimePoint& again = looked_for_[id];
  if (now() < again) return false;
  again = now() + between_renewals;
  bool has_ended = false;
  guarded(id, [&] {
    const auto entry = queue_->find(id);
    has_ended = entry && entry->state != JobState::waiting;
  });
  return has_ended;
}

// A job for which this one gives way. One rank does for a job that goes to one.
const JobEntry* Desk::more_important(const JobEntry& entry, const JobChannelHeader& rank) {
  for (const JobEntry* const other : candidates(ranks_[&rank])) {
    WaitingJob wanted = waiting(*other);
    RankOffer offer = offer_of(rank);
    offer.memory += entry.job.plan.memory;  // that it leaves
    if (other->job.plan.terms.priority <= entry.job.plan.terms.priority || !goes_on(wanted, offer)) continue;
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
  const auto is_later = [](const std::map<std::string, TimePoint>& times, const std::string& id) {
    const auto later = times.find(id);
    return later != times.end() && now() < later->second;
  };
  for (const std::string& id : waiting_) {
    const auto known = known_.find(id);
    if (known == known_.end() || known->second.entry.id.empty()) continue;
    if (!waits_.contains(id) || is_later(not_before_, id) || is_later(rank.not_before, id)) continue;
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
  std::uint32_t here = 0, elsewhere = 0;
  for (const AtWork& work : entry.at_work) {
    if (work.host != host_) elsewhere += static_cast<std::uint32_t>(work.ranks.size());
    per_second += work.per_second;
  }
  if (const auto own = work_.find(entry.id); own != work_.end())
    here = static_cast<std::uint32_t>(own->second.ranks.size());
  job.had = job.ranks = here + elsewhere;
  if (!has_records(entry) && per_second > 0)
    job.work_left =
        static_cast<double>(entry.job.plan.terms.units - std::min(entry.units, entry.job.plan.terms.units)) /
        per_second;
  return job;
}

void Desk::give(JobChannelHeader& rank, QueuePlace& place) {
  const std::uint32_t asked = place.asked.load(std::memory_order_acquire);
  if (now() >= rests_until_) {
    std::vector<const JobEntry*> entries = candidates(ranks_[&rank]);
    std::vector<WaitingJob> jobs;
    for (const JobEntry* const entry : entries) jobs.push_back(waiting(*entry));
    while (const std::optional<std::size_t> best = placed(jobs, offer_of(rank), policy_of(rank))) {
      const std::string id = entries[*best]->id;
      bool is_given = false;
      guarded(id, [&] { is_given = give_one(rank, place, id); });
      if (is_given) return;
      entries.erase(entries.begin() + static_cast<std::ptrdiff_t>(*best));
      jobs.erase(jobs.begin() + static_cast<std::ptrdiff_t>(*best));
    }
  }
  place.looked.store(asked, std::memory_order_release);
}

bool Desk::give_one(JobChannelHeader& rank, QueuePlace& place, const std::string& id) {
  if (!begin_work(id, rank, place)) return false;
  const JobEntry& entry = known_.at(id).entry;  // as it is since there is a lease
  const JobPlan& plan = entry.job.plan;
  GivenJob job;
  job.id.set(id);
  job.name.set(label_of(entry));
  job.spec.set(plan.spec);
  job.stamp = stamp_of(parse_fill_spec(plan.spec).path);
  job.input.set(plan.files.input);
  job.results.set(plan.files.results);
  job.weights.set(plan.files.weights);
  if (const std::string folder = queue_->folder_of(id); !has_records(entry) && !folder.empty())
    job.progress.set(folder + "/progress");
  if (has_records(entry)) job.claims.set(queue_->claims_of(id));
  job.memory = plan.memory;
  job.terms = plan.terms;
  job.terms.deadline = left_until_deadline(entry);
  if (job.terms.units != 0) job.terms.units -= std::min(entry.units, job.terms.units - 1);
  job.variants = static_cast<std::uint32_t>(std::min(plan.variants.size(), job.variant.size()));
  for (std::uint32_t variant = 0; variant < job.variants; ++variant) job.variant[variant].set(plan.variants[variant]);
  place.job = job;
  place.units.store(0, std::memory_order_relaxed);
  place.slice.store(0, std::memory_order_relaxed);
  ranks_[&rank].jobs[&place] = id;
  place.given.store(place.asked.load(std::memory_order_relaxed), std::memory_order_release);
  return true;
}

// False: another rank has the lease, or the job is over.
bool Desk::begin_work(const std::string& id, JobChannelHeader& rank, QueuePlace& place) {
  std::unique_ptr<Claims> lease;
  const bool is_new = !work_.contains(id), is_taken_up = is_taken(place);
  JobEntry* entry = entry_of(id);
  if (entry == nullptr || (!is_new && !has_records(*entry))) return false;
  if (!has_records(*entry)) {
    lease = queue_->lease_of(id);
    if (!lease->claim(Claims::From::anywhere)) return false;
    entry = read_entry(id);  // units that somebody else has done before
    if (entry == nullptr) return false;
    if (!is_taken_up && entry->units >= entry->job.plan.terms.units) {
      end_job(id, JobState::done, "");
      return false;
    }
  }
  Work& work = work_[id];
  if (is_new) {
    const std::uint64_t all = entry->job.plan.terms.units;
    work.lease = std::move(lease);
    work.units_before = is_taken_up ? all - std::min(place.job.terms.units, all) : entry->units;
    work.since = wall_clock();
    work.samples.push_back({now(), count_of(*entry, work)});
  }
  work.places.insert(&place);
  work.ranks.insert(rank.rank);
  renewed_ = {};
  return true;
}

void Desk::take_back(JobChannelHeader& rank, QueuePlace& place) {
  const std::string id = ranks_[&rank].jobs[&place];
  const auto work = work_.find(id);
  if (work != work_.end()) guarded(id, [&] { end(rank, place, id, work->second); });
  drop(rank, place, id);
}

void Desk::drop(JobChannelHeader& rank, QueuePlace& place, const std::string& id) {
  ranks_[&rank].jobs.erase(&place);
  if (const auto work = work_.find(id); work != work_.end()) {
    work->second.places.erase(&place);
    work->second.ranks.erase(rank.rank);
    renewed_ = {};
    if (work->second.places.empty()) {
      work_.erase(work);  // and gives back the lease
      guarded(id, [&] { queue_->end_work(id); });
    }
  }
  if (waits_.contains(id)) read_entry(id);
}

// Units count when they will not be done again, and only for who has the lease.
void Desk::note_units(const std::string& id, const Work& work, const QueuePlace& place) {
  const std::uint64_t units = place.units.load(std::memory_order_relaxed);
  if (work.lease != nullptr && !work.is_lost && units != 0) queue_->note_units(id, work.units_before + units);
}

void Desk::put_off(JobChannelHeader& rank, const std::string& id, Duration first, Duration most) {
  Rank& known = ranks_[&rank];
  const int times = std::min(known.times[id]++, 10);
  known.not_before[id] = now() + std::min<Duration>(first * (1 << times), most);
}

void Desk::end(JobChannelHeader& rank, const QueuePlace& place, const std::string& id, Work& work) {
  const auto entry = queue_->find(id);
  if (entry && work.lease != nullptr && !work.is_lost) work.is_lost = !work.lease->renew(0);
  if (!entry || work.is_lost) return;
  const std::string why = place.why.get(), by = host_ + ", rank " + std::to_string(rank.rank);
  note_units(id, work, place);
  end_if_over(*entry, work, place);
  switch (place.end) {
    case JobEnd::over:
    case JobEnd::withdrawn:
    case JobEnd::left:
      return;
    case JobEnd::fault:
      return note_fault(rank, place, id);
    case JobEnd::passing_fault:
      put_off(rank, id, after_passing, longest_pause);
      return queue_->note_refusal(id, {RefusalKind::passing, by, why});
    case JobEnd::lacks_memory: {
      const bool never_fits = entry->job.plan.memory != 0 && place.memory >= entry->job.plan.memory;
      if (never_fits) return end_job(id, JobState::failed, why);  // its user has to name more
      JobNeed need = entry->need;
      need.memory = std::max(need.memory, place.memory);
      queue_->note_need(id, need);
      put_off(rank, id, after_passing, longest_pause);
      return queue_->note_refusal(id, {RefusalKind::lacks_memory, by, why});
    }
    case JobEnd::no_room:
      put_off(rank, id, after_no_room, longest_without_room);
      return queue_->note_refusal(id, {RefusalKind::no_room, by, why});
  }
}

// Of a job with records a rank says so, or has worked on its results.
void Desk::end_if_over(const JobEntry& entry, const Work& work, const QueuePlace& place) {
  const std::uint64_t units = work.units_before + place.units.load(std::memory_order_relaxed);
  const bool is_over = has_records(entry) ? (place.end == JobEnd::over || has_run(place)) &&
                                                Ledger::has_all(entry.job.plan.files.results)
                                          : place.end == JobEnd::over || units >= entry.job.plan.terms.units;
  if (!is_over) return;
  if (!has_records(entry)) queue_->note_units(entry.id, entry.job.plan.terms.units);
  end_job(entry.id, JobState::done, "");
}

void Desk::end_job(const std::string& id, JobState state, const std::string& why) {
  queue_->move(id, JobState::waiting, state, why);
  waits_.erase(id);
}

// One that failed on several ranks of a host at the same time has failed once there. A host on which every job fails,
// perhaps because it lacks their files, is not to use up all jobs of the queue.
void Desk::note_fault(JobChannelHeader& rank, const QueuePlace& place, const std::string& id) {
  if (const auto before = not_before_.find(id); before != not_before_.end() && now() < before->second) return;
  Refusal refusal{RefusalKind::fault, host_, place.why.get(), 1};
  std::uint32_t times = 1;
  if (const auto entry = queue_->find(id))
    for (const Refusal& before : entry->refusals) {
      if (before.kind != RefusalKind::fault) continue;
      times += before.times;
      if (before.by == host_) refusal.times += before.times;
    }
  not_before_[id] = now() + std::min<Duration>(after_fault * (1U << std::min(refusal.times - 1, 8U)), longest_pause);
  queue_->note_refusal(id, refusal);
  if (times >= most_faults) end_job(id, JobState::failed, refusal.why);
  faulty_.insert(id);
  if (faulty_.size() < most_faulty) return;
  faulty_.clear();
  rests_until_ = now() + rest;
  log(LogLevel::warn,
      "queue " + queue_->name() + ": " + std::to_string(most_faulty) +
          " jobs in a row have failed on this host, which gets none for ten minutes; the last one, on rank " +
          std::to_string(rank.rank) + ": " + refusal.why);
}

void Desk::leave(JobChannelHeader& rank) {
  for (std::uint32_t number = 0; number < places_of(rank); ++number) {
    QueuePlace& place = rank.place[number];
    const auto job = ranks_[&rank].jobs.find(&place);
    if (job == ranks_[&rank].jobs.end()) continue;
    // One that was killed says nothing.
    if (is_taken(place)) place.end = JobEnd::left;
    take_back(rank, place);
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
  for (auto& entry_and_work : work_) {
    const std::string& id = entry_and_work.first;
    Work& work = entry_and_work.second;
    guarded(id, [&] {
      if (work.lease != nullptr && !work.is_lost && !work.lease->renew(0)) {
        work.is_lost = true;
        withdraw(work, "another rank has it");
      }
      const JobEntry* const entry = entry_of(id);
      if (entry == nullptr || work.is_lost) return;
      work.samples.push_back({now(), count_of(*entry, work)});
      while (work.samples.size() > 2 && work.samples.back().time - work.samples.front().time > window)
        work.samples.pop_front();
      for (const QueuePlace* const place : work.places) note_units(id, work, *place);
      AtWork at_work;
      at_work.host = host_;
      at_work.ranks.assign(work.ranks.begin(), work.ranks.end());
      at_work.since = work.since;
      at_work.per_second = per_second(work);
      queue_->note_work(id, at_work);
    });
  }
}

}  // namespace weft
