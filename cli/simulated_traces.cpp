// See simulated_traces.h.
#include "cli/simulated_traces.h"

#include <algorithm>
#include <filesystem>
#include <stdexcept>

#include "runner/options/quantity.h"
#include "trace/write/lines.h"
#include "trace/write/writer.h"

namespace weft::cli {
namespace {

constexpr std::size_t enough = 1 << 16;  // bytes, to write them

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
  std::error_code error;
  std::filesystem::create_directories(directory, error);
  if (error) throw std::runtime_error(directory + " cannot be made: " + error.message());
  for (const auto& entry : std::filesystem::directory_iterator(directory, error))
    if (entry.path().extension() == ".jsonl")
      throw std::runtime_error(directory + " has traces already; each run has a folder of its own");
  for (int rank = 0; rank < ranks; ++rank) {
    const std::string name = "rank" + std::to_string(rank) + "." + std::to_string(rank + 1) + ".jsonl";
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
    : path_(path), file_(path, std::ios::trunc), rank_(header.rank), device_(header.device) {
  append_header(text_, header);
  write();
}

void SimulatedTraces::Trace::begin(const std::vector<JobLengths>& jobs, const model::StageMemory& stage) {
  for (const JobLengths& job : jobs) {
    JobRecord begins;
    begins.job = static_cast<std::uint32_t>(names_.size());
    begins.name = job.name;
    begins.terms = job.terms;
    begins.memory = job.memory;
    if (std::ranges::find(stage.jobs, begins.job) == stage.jobs.end()) {
      begins.event = JobEvent::refused;
      begins.why = "it needs " + mebibytes(job.memory) + ", the training leaves " + mebibytes(stage.free);
    }
    append_record(text_, Record(device_, TimePoint{}, begins));
    names_.push_back(job.name);
  }
  write();
}

void SimulatedTraces::Trace::push(const Record& record) noexcept {
  append_record(text_, record);
  if (text_.size() < enough) return;
  file_ << text_;
  text_.clear();
}

void SimulatedTraces::Trace::finish(const TraceSummary& summary) {
  TraceSummary own = summary;
  own.rank = rank_;
  own.device = device_;
  for (JobTotals& job : own.jobs) job.name = names_[job.job];
  append_summary(text_, own);
  write();
}

void SimulatedTraces::Trace::write() {
  file_ << text_ << std::flush;
  text_.clear();
  if (!file_) throw std::runtime_error(path_ + " cannot be written");
}

}  // namespace weft::cli
