// The queue of fill jobs that users submit and that trainings work on, whatever keeps it: a folder (spool.h) or Redis
// (../redis/queue.h).
//
// Any number of processes on any number of hosts use it at the same time: `weft jobs`, and each weft-feeder. A job
// waits until all of its work is done, also while trainings work on it; how its records, or the job as a whole, are
// shared out is the ledger's business. Throws std::runtime_error, one line that names the queue. One thread at a time.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "detector/time.h"
#include "feeder/claims.h"
#include "feeder/queue/queued_job.h"

namespace weft {

enum class JobState : std::uint8_t { waiting, done, failed, cancelled };
inline constexpr std::array<std::string_view, 4> job_state_names{"waiting", "done", "failed", "cancelled"};

// A feeder that serves ranks which work on a job.
struct AtWork {
  std::string owner;  // see own_name()
  std::string host;
  std::vector<std::int32_t> ranks;
  std::int64_t since = 0;  // seconds since 1970
  double per_second = 0;   // records, or units of a job without records, lately
};

// Why it was not run, or ended early, on a rank.
enum class RefusalKind : std::uint8_t { fault, passing, lacks_memory, no_room };
inline constexpr std::array<std::string_view, 4> refusal_kind_names{"fault", "passing", "lacks_memory", "no_room"};
struct Refusal {
  RefusalKind kind = RefusalKind::fault;
  std::string by;   // host and rank: of each the latest counts
  std::string why;  // one line
  std::uint32_t times = 1;
};

// Found out by ranks that have tried it. 0: not known yet.
struct JobNeed {
  std::uint64_t memory = 0;  // it did not fit in so many bytes
  Duration slice{};          // its longest one
};

struct JobEntry {
  std::string id;
  QueuedJob job;
  JobState state = JobState::waiting;
  std::string why;         // of one that is no longer waiting; "": nobody said
  std::int64_t ended = 0;  // likewise, when; seconds since 1970
  std::vector<AtWork> at_work;
  std::vector<Refusal> refusals;
  JobNeed need{};
  std::uint64_t units = 0;  // of a job without records, that are done for good
};

class JobQueue {
 public:
  // How long a feeder counts as at work that says nothing more.
  static constexpr Duration lease = std::chrono::seconds(60);

  virtual ~JobQueue() = default;
  const std::string& name() const { return name_; }

  // It was made when it was opened. Whoever has mistyped its name learns it that way.
  virtual bool is_new() const { return false; }

  // Its number. Results that have no place get one, where the queue has any.
  virtual std::string submit(QueuedJob job) = 0;
  // In the order in which they were submitted.
  virtual std::vector<std::string> ids(JobState state) = 0;
  // Nothing: there is none.
  virtual std::optional<JobEntry> find(const std::string& id) = 0;
  // False: it was not in that state (any more).
  virtual bool move(const std::string& id, JobState from, JobState to, const std::string& why) = 0;

  // Again and again while it is so.
  virtual void note_work(const std::string& id, const AtWork& work) = 0;
  virtual void end_work(const std::string& id) = 0;  // of this process
  virtual void note_refusal(const std::string& id, const Refusal& refusal) = 0;
  virtual void note_need(const std::string& id, const JobNeed& need) = 0;
  virtual void note_units(const std::string& id, std::uint64_t units) = 0;
  // For results and progress of jobs whose users name no other place; "": there is none.
  virtual std::string folder_of(const std::string& id) const = 0;
  // Where its ledger is to keep claims, see LedgerPlan.
  virtual std::string claims_of(const std::string& id) const = 0;
  // On a job without records as a whole: number 0 of one.
  virtual std::unique_ptr<Claims> lease_of(const std::string& id) = 0;

 protected:
  explicit JobQueue(std::string name) : name_(std::move(name)) {}

 private:
  const std::string name_;
};

// By its name, WEFT_QUEUE: a folder, or redis://... . `make`: where there is none yet.
enum class WhereNone : std::uint8_t { make, fail };
std::unique_ptr<JobQueue> open_queue(const std::string& name, WhereNone where_none);

// Nothing else gets near a path or a key.
bool is_job_number(const std::string& id);

// An empty text, or why a queue cannot have this job.
std::string why_not_queued(const QueuedJob& job);

}  // namespace weft
