// See cluster.h.
#include "bench/placement/cluster.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

namespace weft::bench {
namespace {

constexpr double never = std::numeric_limits<double>::infinity();
constexpr double first_pause = 600, longest_pause = 6 * 3600;        // of a job on a GPU whose bubbles have no room for it
constexpr int iterations = 64;       // after which that is found out
constexpr double least_rate = 1e-3;  // seconds of fill work per second: below, there is no room

struct Job {
  double left = 0, ended = never;
  bool is_known = false;  // how long its slices are
  std::uint32_t gpus = 0;
};

struct Asker {
  std::optional<std::size_t> job;
  double gives_back = never;
  std::vector<double> not_before, pauses;
};

class Cluster {
 public:
  Cluster(const std::vector<Gpu>& gpus, const std::vector<Submitted>& submitted, std::optional<JobPolicy> policy)
      : gpus_(gpus), submitted_(submitted), policy_(policy), jobs_(submitted.size()), askers_(gpus.size()) {
    for (std::size_t job = 0; job < jobs_.size(); ++job) jobs_[job].left = submitted[job].work;
    for (Asker& asker : askers_) {
      asker.not_before.assign(jobs_.size(), 0);
      asker.pauses.assign(jobs_.size(), first_pause);
    }
  }

  Outcome run() {
    while (!all_have_ended()) {
      ask();
      const double next = next_event();
      if (next == never) break;  // no GPU ever takes what is left
      for (std::size_t job = 0; job < jobs_.size(); ++job) jobs_[job].left -= rate_of(job) * (next - now_);
      now_ = next;
      settle();
    }
    return outcome();
  }

 private:
  bool is_there(std::size_t job) const { return submitted_[job].at <= now_ && jobs_[job].ended == never; }
  bool all_have_ended() const {
    return std::ranges::none_of(jobs_, [](const Job& job) { return job.ended == never; });
  }
  double rate(std::size_t gpu, std::size_t job) const { return gpus_[gpu].per_second[submitted_[job].kind]; }
  double rate_of(std::size_t job) const {
    double sum = 0;
    for (std::size_t gpu = 0; gpu < gpus_.size(); ++gpu)
      if (askers_[gpu].job == job) sum += rate(gpu, job);
    return sum;
  }

  // Each GPU without a job, in their order.
  void ask() {
    for (std::size_t gpu = 0; gpu < gpus_.size(); ++gpu) {
      if (askers_[gpu].job) continue;
      std::vector<std::size_t> numbers;
      std::vector<WaitingJob> waiting;
      for (std::size_t job = 0; job < jobs_.size(); ++job) {
        const bool is_taken = !submitted_[job].has_records && jobs_[job].gpus > 0;
        if (!is_there(job) || is_taken || now_ < askers_[gpu].not_before[job]) continue;
        numbers.push_back(job);
        waiting.push_back(waiting_job(job));
      }
      const auto chosen = choose(gpu, waiting);
      if (!chosen) continue;
      const std::size_t job = numbers[*chosen];
      askers_[gpu].job = job;
      ++jobs_[job].gpus;
      jobs_[job].is_known = true;
      if (rate(gpu, job) < least_rate) askers_[gpu].gives_back = now_ + iterations * gpus_[gpu].iteration;
    }
  }

  std::optional<std::size_t> choose(std::size_t gpu, const std::vector<WaitingJob>& waiting) const {
    const RankOffer offer{gpus_[gpu].memory, gpus_[gpu].bubbles};
    if (policy_) return placed(waiting, offer, *policy_);
    for (std::size_t number = 0; number < waiting.size(); ++number)
      if (waiting[number].memory <= offer.memory) return number;
    return std::nullopt;
  }

  WaitingJob waiting_job(std::size_t number) const {
    const Submitted& job = submitted_[number];
    WaitingJob made;
    made.terms.priority = job.priority;
    made.terms.weight = job.weight;
    const double left = job.at + job.deadline - now_;
    if (job.deadline > 0) made.terms.deadline = Duration{static_cast<Duration::rep>(std::max(left, 1e-9) * 1e9)};
    made.memory = kinds_[job.kind].memory;
    if (jobs_[number].is_known) made.slice = kinds_[job.kind].kernel;
    made.work_left = jobs_[number].left;
    made.had = made.ranks = jobs_[number].gpus;
    return made;
  }

  double next_event() const {
    double next = never;
    for (std::size_t job = 0; job < jobs_.size(); ++job) {
      if (submitted_[job].at > now_) next = std::min(next, submitted_[job].at);
      if (const double per_second = rate_of(job); is_there(job) && per_second > 0)
        next = std::min(next, now_ + jobs_[job].left / per_second);
    }
    for (std::size_t gpu = 0; gpu < gpus_.size(); ++gpu) {
      next = std::min(next, askers_[gpu].gives_back);
      for (std::size_t job = 0; job < jobs_.size() && !askers_[gpu].job; ++job)
        if (is_there(job) && askers_[gpu].not_before[job] > now_) next = std::min(next, askers_[gpu].not_before[job]);
    }
    return next;
  }

  void settle() {
    for (std::size_t job = 0; job < jobs_.size(); ++job)
      if (is_there(job) && jobs_[job].left <= 1e-6) jobs_[job].ended = now_;
    for (Asker& asker : askers_) {
      const bool gives_back = asker.gives_back <= now_;
      if (!asker.job || (!gives_back && jobs_[*asker.job].ended == never)) continue;
      if (gives_back) {
        double& pause = asker.pauses[*asker.job];
        asker.not_before[*asker.job] = now_ + pause;
        pause = std::min(2 * pause, longest_pause);
        ++given_back_;
      }
      --jobs_[*asker.job].gpus;
      asker.job.reset();
      asker.gives_back = never;
    }
  }

  Outcome outcome() const {
    Outcome made;
    std::vector<double> times, important;
    std::vector<int> priorities;
    for (const Submitted& job : submitted_) priorities.push_back(job.priority);
    std::ranges::sort(priorities, std::greater<>());
    const int high = priorities[priorities.size() / 10];
    double deadlines = 0, missed = 0;
    for (std::size_t job = 0; job < jobs_.size(); ++job) {
      const bool is_done = jobs_[job].ended != never;
      if (!is_done) ++made.unfinished;
      const double took = is_done ? jobs_[job].ended - submitted_[job].at : now_;
      times.push_back(took);
      if (submitted_[job].priority >= high) important.push_back(took);
      if (submitted_[job].deadline > 0) ++deadlines;
      if (submitted_[job].deadline > 0 && took > submitted_[job].deadline) ++missed;
      if (is_done) made.makespan = std::max(made.makespan, jobs_[job].ended);
    }
    std::ranges::sort(times);
    const auto mean = [](const std::vector<double>& values) {
      double sum = 0;
      for (const double value : values) sum += value;
      return sum / static_cast<double>(values.size());
    };
    made.mean = mean(times);
    made.late_tenth = times[times.size() * 9 / 10];
    made.important = mean(important);
    made.missed = missed / deadlines;
    made.given_back = given_back_;
    return made;
  }

  const std::vector<Gpu>& gpus_;
  const std::vector<Submitted>& submitted_;
  const std::optional<JobPolicy> policy_;
  const std::vector<Kind> kinds_ = kinds();
  std::vector<Job> jobs_;
  std::vector<Asker> askers_;
  double now_ = 0;
  std::size_t given_back_ = 0;
};

}  // namespace

// As many of each kind; work with a long tail; half of them with records; every other one has a deadline.
std::vector<Submitted> some_jobs(std::uint64_t seed, std::size_t count, double load) {
  std::mt19937_64 dice(seed);
  std::lognormal_distribution<double> work(std::log(300.0), 1.0);
  std::exponential_distribution<double> gap(load / std::exp(std::log(300.0) + 0.5));
  std::uniform_real_distribution<double> tightness(4, 40);
  std::vector<Submitted> jobs;
  double at = 0;
  for (std::size_t number = 0; number < count; ++number) {
    Submitted job;
    at += gap(dice);
    job.at = at;
    job.kind = dice() % kinds().size();
    job.work = work(dice);
    job.has_records = dice() % 2 == 0;
    job.weight = static_cast<double>(1 + dice() % 3);
    job.priority = static_cast<int>(dice() % 10);
    if (dice() % 2 == 0) job.deadline = job.work * tightness(dice);
    jobs.push_back(job);
  }
  return jobs;
}

Outcome simulate(const std::vector<Gpu>& gpus, const std::vector<Submitted>& jobs, std::optional<JobPolicy> policy) {
  return Cluster(gpus, jobs, policy).run();
}

}  // namespace weft::bench
