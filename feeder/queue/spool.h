// A queue of fill jobs in a folder, which any number of processes share, also on several hosts:
//
//   queue.json              what this folder is
//   waiting/N, done/N, failed/N, cancelled/N      the state of job N: empty files
//   last                    the highest number so far
//   jobs/N/job.json         as it was submitted
//   jobs/N/ended.json       why it is no longer waiting
//   jobs/N/need.json        what ranks have found out
//   jobs/N/units.json       units that are done, of a job without records
//   jobs/N/lease/           on such a job, see folder_claims.h
//   jobs/N/at-work/OWNER    a feeder that serves it; renewed, and gone when that has ended
//   jobs/N/refusals/RANK    why a rank does not run it
//   jobs/N/results...       where the user named no other place
//
// A job appears whole by rename(), with the first number that is free, and changes its state by rename(), so one of
// several wins. See job_queue.h.
#pragma once

#include "feeder/queue/job_queue.h"

namespace weft {

class Spool final : public JobQueue {
 public:
  Spool(const std::string& folder, WhereNone where_none);

  bool is_new() const override { return is_new_; }
  std::string submit(QueuedJob job) override;
  std::vector<std::string> ids(JobState state) override;
  std::optional<JobEntry> find(const std::string& id) override;
  bool move(const std::string& id, JobState from, JobState to, const std::string& why) override;
  void note_work(const std::string& id, const AtWork& work) override;
  void end_work(const std::string& id) override;
  void note_refusal(const std::string& id, const Refusal& refusal) override;
  void note_need(const std::string& id, const JobNeed& need) override;
  void note_units(const std::string& id, std::uint64_t units) override;
  std::string folder_of(const std::string& id) const override { return folder_ + "/jobs/" + id; }
  std::string claims_of(const std::string&) const override { return ""; }
  std::unique_ptr<Claims> lease_of(const std::string& id) override;

 private:
  void make() const;
  std::string place_of(JobState state, const std::string& id) const;
  std::optional<JobState> state_of(const std::string& id) const;
  void write(const std::string& path, const std::string& text) const;
  std::vector<AtWork> at_work(const std::string& id) const;
  std::vector<Refusal> refusals(const std::string& id) const;

  const std::string folder_, owner_;
  bool is_new_ = false;
};

}  // namespace weft
