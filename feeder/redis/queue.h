// A queue of fill jobs in a Redis server. Keys, with the prefix of its address in front:
//
//   next                                the last number
//   waiting, done, failed, cancelled    sets of numbers: the state of each job
//   job:N                               as it was submitted (text), why and when it ended, what is known of it
//   work:N, refusals:N                  by feeder, by rank
//   claims:N:*                          who has which of its records, see claims.h; of a job without records
//   claims:N-lease:*
//
// Results are in files, never here. See ../queue/job_queue.h.
#pragma once

#include "feeder/queue/job_queue.h"
#include "feeder/redis/client.h"

namespace weft {

class RedisQueue final : public JobQueue {
 public:
  explicit RedisQueue(const std::string& address);

  std::string submit(QueuedJob job) override;
  std::vector<std::string> ids(JobState state) override;
  std::optional<JobEntry> find(const std::string& id) override;
  bool move(const std::string& id, JobState from, JobState to, const std::string& why) override;
  void note_work(const std::string& id, const AtWork& work) override;
  void end_work(const std::string& id) override;
  void note_refusal(const std::string& id, const Refusal& refusal) override;
  void note_need(const std::string& id, const JobNeed& need) override;
  void note_units(const std::string& id, std::uint64_t units) override;
  std::string folder_of(const std::string& id) const override;
  std::string claims_of(const std::string& id) const override { return text_ + "#" + id; }
  std::unique_ptr<Claims> lease_of(const std::string& id) override;

 private:
  std::string new_id();
  std::string set_of(JobState state) const;
  std::int64_t server_seconds();
  std::vector<AtWork> at_work(const std::string& id);
  std::vector<Refusal> refusals(const std::string& id);

  const std::string text_, owner_;
  RedisClient client_;
};

}  // namespace weft
