// The feeder's side of one queue: gives jobs to the ranks of this node that ask, looks after what they work on, and
// takes back how it ended.
//
// A job with records goes to any number of ranks at the same time; its records are shared out by its ledger. A job
// without records goes to one rank at a time, which has a lease on it. All functions are called by one thread of
// weft-feeder. Throws std::runtime_error where the queue as a whole cannot be used; a fault of one job is said once,
// and that job is left alone for a while. Jobs that were given stay given then, and leases are kept.
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

  // From time to time: first for all ranks what they have, then what they want.
  void look_after(JobChannelHeader& rank);
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
    bool is_lost = false;           // the lease
    std::uint64_t units_before = 0;
    std::deque<Sample> samples;
  };
  struct Rank {
    std::map<std::string, TimePoint> not_before;    // jobs that it does not take again so soon
    std::map<std::string, int> times;               // how often it has given them back for that
    std::map<const QueuePlace*, std::string> jobs;  // that it has
  };

  void look_at_queue();
  void read_some();
  JobEntry* entry_of(const std::string& id);
  JobEntry* read_entry(const std::string& id);
  void take_up(JobChannelHeader& rank, QueuePlace& place);
  void look_after(JobChannelHeader& rank, QueuePlace& place);
  bool has_ended_in_queue(const std::string& id);
  const JobEntry* more_important(const JobEntry& entry, const JobChannelHeader& rank);
  void give(JobChannelHeader& rank, QueuePlace& place);
  bool give_one(JobChannelHeader& rank, QueuePlace& place, const std::string& id);
  void take_back(JobChannelHeader& rank, QueuePlace& place);
  void end(JobChannelHeader& rank, const QueuePlace& place, const std::string& id, Work& work);
  void end_if_over(const JobEntry& entry, const Work& work, const QueuePlace& place);
  void end_job(const std::string& id, JobState state, const std::string& why);
  void note_fault(JobChannelHeader& rank, const QueuePlace& place, const std::string& id);
  void note_units(const std::string& id, const Work& work, const QueuePlace& place);
  void put_off(JobChannelHeader& rank, const std::string& id, Duration first, Duration most);
  void drop(JobChannelHeader& rank, QueuePlace& place, const std::string& id);
  bool begin_work(const std::string& id, JobChannelHeader& rank, QueuePlace& place);
  static void withdraw(const Work& work, const char* why);
  WaitingJob waiting(const JobEntry& entry) const;
  std::vector<const JobEntry*> candidates(const Rank& rank) const;
  std::uint64_t count_of(const JobEntry& entry, const Work& work) const;
  double per_second(const Work& work) const;
  template <class Call>
  void guarded(const std::string& id, Call call);

  const std::unique_ptr<JobQueue> queue_;
  const Committed committed_;
  const std::string host_;
  TimePoint looked_{}, renewed_{};
  std::map<std::string, Known> known_;  // jobs that wait
  std::vector<std::string> waiting_;    // their numbers, in order
  std::set<std::string> waits_;         // likewise
  std::size_t next_reading_ = 0;
  std::map<std::string, Work> work_;
  std::map<std::string, TimePoint> looked_for_;  // jobs that ranks have and that do not wait
  std::map<std::string, TimePoint> gave_way_;    // when a rank did, for which job
  std::map<std::string, TimePoint> not_before_;  // jobs that have failed here, for all ranks
  std::set<std::string> faulty_;                 // jobs in a row that failed here, with none that ran between
  TimePoint rests_until_{};
  std::set<std::string> said_;  // jobs about which something was said
  std::map<const JobChannelHeader*, Rank> ranks_;
};

}  // namespace weft
