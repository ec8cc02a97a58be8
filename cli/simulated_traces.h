// The traces of all ranks of a pipeline in virtual time, in the format of a real run.
//
// Used by weft simulate; one thread.
#pragma once

#include <deque>
#include <string>
#include <vector>

#include "cli/job_lengths.h"
#include "cli/written_trace.h"
#include "runner/model/memory.h"
#include "runner/model/run.h"

namespace weft::cli {

class SimulatedTraces {
 public:
  // "": none are wanted. `jobs`: none, where nothing is filled. Throws std::runtime_error where the folder cannot be
  // made.
  SimulatedTraces(const std::string& directory, int ranks, const std::vector<JobLengths>& jobs);

  // Says which jobs run on which rank. Before the first record.
  void begin(const std::vector<model::StageMemory>& stages);

  // Valid as long as this object. Empty where none are wanted.
  model::TraceOf of_rank();

 private:
  class Trace final : public model::RankTrace {
   public:
    Trace(const std::string& path, const TraceHeader& header);
    void begin(const std::vector<JobLengths>& jobs, const model::StageMemory& stage);
    void push(const Record& record) noexcept override;
    void finish(const TraceSummary& summary) override;

   private:
    WrittenTrace file_;
    std::vector<JobLengths> jobs_;
    std::vector<JobName> variants_;  // of the jobs, the latest
    std::int32_t rank_, device_;
  };

  const std::vector<JobLengths> jobs_;
  std::deque<Trace> traces_;
};

}  // namespace weft::cli
