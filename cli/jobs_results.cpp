// weft jobs results: the results of a job of the queue, as JSON Lines.
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <stdexcept>

#include "cli/jobs.h"
#include "cli/verb.h"
#include "feeder/files/results_lines.h"
#include "feeder/ledger_progress.h"

namespace weft::cli {
namespace {

class Results final : public JobsCommand {
 public:
  void describe(CLI::App& app) override {
    app.add_option("ID", id_, "Number of the job.")->required()->type_name("");
    app.add_option("--output", output_, "File to write. Not given: standard output.")->type_name("FILE");
  }

  int run(const std::string& name) override {
    const auto queue = open_queue(name, WhereNone::fail);
    const JobEntry entry = found_job(*queue, id_);
    const std::string& results = entry.job.plan.files.results;
    if (results.empty()) throw std::runtime_error("job " + id_ + " has no records, so no results for each");
    const auto progress = progress_of(results);
    if (!progress || !progress->is_published)
      throw std::runtime_error(
          "job " + id_ + " has not all of its results yet" +
          (progress ? ": " + std::to_string(progress->done) + " of " + std::to_string(progress->records) : ""));
    std::FILE* const out = output_.empty() ? stdout : std::fopen(output_.c_str(), "we");
    if (out == nullptr) throw std::runtime_error(output_ + ": " + std::strerror(errno));
    bool is_written = true;
    read_results_as_lines(results, [&](std::string_view lines) {
      is_written = is_written && std::fwrite(lines.data(), 1, lines.size(), out) == lines.size();
    });
    is_written = std::fflush(out) == 0 && is_written;
    const int error = errno;
    if (out != stdout) std::fclose(out);
    if (is_written) return 0;
    throw std::runtime_error((output_.empty() ? "standard output" : output_) + ": " + std::strerror(error));
  }

 private:
  std::string id_, output_;
};

}  // namespace

std::unique_ptr<JobsCommand> jobs_results() {
  return std::make_unique<Results>();
}

}  // namespace weft::cli
