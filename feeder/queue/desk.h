// The feeder's side of one queue: gives jobs to the ranks of this node that ask, looks after what they work on, and
// takes back how it ended.
//
// A job with records goes to any number of ranks at the same time; its records are shared out by its ledger. A job
// without records goes to one rank at a time, which has a lease on it. All functions are called by one thread of
// weft-feeder. Throws std::runtime_error where the queue cannot be used; what was given stays given then.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "detector/time.h"
#include "feeder/claims.h"
#include "feeder/queue/job_queue.h"
#include "runner/feed/job_channel.h"
#include "runner/policy/placement.h"

namespace weft {

class Desk {
 public:
  // How many results this process has written into that file since it began.
  using Committed = std::function<std::uint64_t(const std::string& results)>;
  Desk(std::unique_ptr<JobQueue> queue, Committed committed);
  ~Desk();

  // From time to time.
  void serve(JobChannelHeader& rank);
  void renew();
  // It has gone, perhaps without a word.
  void leave(JobChannelHeader& rank);

 private:
  struct Known {
    JobEntry entry;
    TimePoint read{};
  };
  struct Sample {
    TimePoint time{};
    std::uint64_t count = 0;
  };
  // A job that ranks of this node work on.
  struct Work {
    std::set<QueuePlace*> places;
    std::set<std::int32_t> ranks;
    std::int64_t since = 0;
    std::unique_ptr<Claims> lease;  // on a job without records
    std::uint64_t units_before = 0;
    std::deque<Sample> samples;
  };
  struct Rank {
    std::map<std::string, TimePoint> not_before;    // jobs that it does not take again so soon
    std::map<const QueuePlace*, std::string> jobs;  // that it has
    std::set<std::string> faulty;                   // jobs in a row that failed on it
    TimePoint rests_until{};
  };

  void look_at_queue();
  JobEntry* entry_of(const std::string& id);
  void serve_place(JobChannelHeader& rank, QueuePlace& place);
  void take_up(JobChannelHeader& rank, QueuePlace& place);
  void look_after(JobChannelHeader& rank, QueuePlace& place);
  const JobEntry* more_important(const JobEntry& entry, const JobChannelHeader& rank);
  void give(JobChannelHeader& rank, QueuePlace& place);
  bool give_one(JobChannelHeader& rank, QueuePlace& place, const JobEntry& entry);
  void take_back(JobChannelHeader& rank, QueuePlace& place);
  void end(JobChannelHeader& rank, const QueuePlace& place, const std::string& id, Work& work);
  void end_if_over(const JobEntry& entry, Work& work, std::uint64_t units);
  void end_job(const std::string& id, JobState state, const std::string& why);
  void note_fault(JobChannelHeader& rank, const QueuePlace& place, const std::string& id);
  void drop(JobChannelHeader& rank, QueuePlace& place, const std::string& id);
  bool begin_work(const JobEntry& entry, JobChannelHeader& rank, QueuePlace& place);
  static void withdraw(const Work& work, const char* why);
  WaitingJob waiting(const JobEntry& entry) const;
  std::vector<const JobEntry*> candidates(const Rank& rank) const;
  std::uint64_t count_of(const JobEntry& entry, const Work& work) const;
  double per_second(const Work& work) const;

  const std::unique_ptr<JobQueue> queue_;
  const Committed committed_;
  const std::string host_;
  TimePoint looked_{}, renewed_{};
  std::map<std::string, Known> known_;  // jobs that wait
  std::vector<std::string> waiting_;    // their numbers, in order
  std::map<std::string, Work> work_;
  std::map<std::string, TimePoint> gave_way_;  // when a rank did, for which job
  std::map<const JobChannelHeader*, Rank> ranks_;
};

}  // namespace weft
