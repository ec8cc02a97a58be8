// See simulated_traces.h.
#include "cli/simulated_traces.h"

#include <algorithm>
#include <filesystem>

#include "runner/options/quantity.h"
#include "trace/formatted.h"
#include "trace/write/writer.h"

namespace weft::cli {
namespace {

TraceHeader header_of(int rank, int ranks, const std::vector<JobLengths>& jobs) {
  TraceHeader header;
  header.ranks = ranks;
  header.mode = jobs.empty() ? "observe" : "fill";
  std::string names;
  for (const JobLengths& job : jobs) names += (names.empty() ? "" : ", ") + job.name;
  header.fill_job = names;
  header = completed(header);
  // Each rank is a process of its own.
  header.rank = rank;
  header.host = "simulated";
  header.process = rank + 1;
  header.started = TimePoint{};
  return header;
}

}  // namespace

SimulatedTraces::SimulatedTraces(const std::string& directory, int ranks, const std::vector<JobLengths>& jobs)
    : jobs_(jobs) {
  if (directory.empty()) return;
  make_trace_folder(directory);
  for (int rank = 0; rank < ranks; ++rank) {
    const std::string name = formatted("rank%d.%d.jsonl", rank, rank + 1);
    traces_.emplace_back((std::filesystem::path(directory) / name).string(), header_of(rank, ranks, jobs));
  }
}

void SimulatedTraces::begin(const std::vector<model::StageMemory>& stages) {
  for (std::size_t rank = 0; rank < traces_.size(); ++rank) traces_[rank].begin(jobs_, stages[rank % stages.size()]);
}

model::TraceOf SimulatedTraces::of_rank() {
  if (traces_.empty()) return {};
  return [this](int rank) { return &traces_[static_cast<std::size_t>(rank)]; };
}

SimulatedTraces::Trace::Trace(const std::string& path, const TraceHeader& header)
    : file_(path), rank_(header.rank), device_(header.device) {
  file_.begin(header);
}

void SimulatedTraces::Trace::begin(const std::vector<JobLengths>& jobs, const model::StageMemory& stage) {
  jobs_ = jobs;
  variants_.resize(jobs.size());
  for (std::size_t number = 0; number < jobs.size(); ++number) {
    const JobLengths& job = jobs[number];
    const bool is_refused = std::ranges::find(stage.jobs, number) == stage.jobs.end();
    // With variants it begins when the first of them does.
    if (!job.smaller.empty() && !is_refused) continue;
    JobRecord begins;
    begins.job = static_cast<std::uint32_t>(number);
    begins.memory = job.smaller.empty() ? job.memory : job.smaller.back().memory;
    if (!job.smaller.empty()) begins.variant = job.smaller.back().name;
    if (is_refused) {
      begins.event = JobEvent::refused;
      std::string why = "it needs ";
      why.append(mebibytes(begins.memory)).append(", the training leaves ").append(mebibytes(stage.free));
      begins.why = why;
    }
    push(Record(device_, TimePoint{}, begins));
  }
}

void SimulatedTraces::Trace::push(const Record& record) noexcept {
  if (record.kind != RecordKind::job) return file_.push(record);
  Record named = record;
  const JobLengths& job = jobs_[record.job.job];
  named.device = device_;
  named.job.name = job.name;
  named.job.terms = job.terms;
  if (record.job.event == JobEvent::ready) variants_[record.job.job] = record.job.variant;
  file_.push(named);
}

void SimulatedTraces::Trace::finish(const TraceSummary& summary) {
  TraceSummary own = summary;
  own.rank = rank_;
  own.device = device_;
  for (JobTotals& job : own.jobs) {
    job.name = jobs_[job.job].name;
    job.variant = variants_[job.job];
  }
  file_.end(own);
}

}  // namespace weft::cli
