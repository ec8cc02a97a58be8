// See job_queue.h.
#include "feeder/queue/job_queue.h"

#include "feeder/files/folder.h"
#include "feeder/queue/spool.h"
#include "feeder/redis/queue.h"

namespace weft {

std::unique_ptr<JobQueue> open_queue(const std::string& name, WhereNone where_none) {
  if (is_redis(name)) return std::make_unique<RedisQueue>(name);
  return std::make_unique<Spool>(name, where_none);
}

bool is_job_number(const std::string& id) {
  return id.size() < 19 && number_of(id).has_value();
}

std::string why_not_queued(const QueuedJob& job) {
  const JobFiles& files = job.plan.files;
  if (job.plan.spec.size() > 8000) return "its arguments are too long";
  if (!files.input.empty() && job.plan.terms.units != 0)
    return "it has units and an input; a job with an input is over when all records have their results";
  if (files.input.empty() && job.plan.terms.units == 0)
    return "it never ends: a job of a queue has an input, or a number of units";
  return "";
}

}  // namespace weft
