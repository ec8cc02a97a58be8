// weft jobs submit: checks a fill job and its files as `weft run` does, and puts it into the queue.
#include <pwd.h>
#include <unistd.h>

#include <cmath>
#include <cstdio>
#include <ctime>
#include <filesystem>
#include <optional>
#include <stdexcept>
#include <vector>

#include "cli/fill_spec.h"
#include "cli/jobs.h"
#include "cli/locate.h"
#include "cli/quantities.h"
#include "feeder/files/results_folder.h"
#include "feeder/ledger.h"
#include "feeder/owner.h"
#include "runner/policy/variants.h"

namespace weft::cli {
namespace {

std::string user_name() {
  const passwd* const user = ::getpwuid(::geteuid());
  return user != nullptr ? user->pw_name : std::to_string(::geteuid());
}

// Pictures may go into an empty folder.
bool are_there(const std::string& results) {
  namespace fs = std::filesystem;
  if (results.empty() || !fs::exists(path_of_results(results))) return false;
  return !is_results_folder(results) || !fs::is_directory(results) || !fs::is_empty(results);
}

std::optional<double> parse_weight(const std::string& text) {
  double weight = 0;
  const bool is_one = CLI::detail::lexical_cast(text, weight) && weight > 0 && std::isfinite(weight);
  return is_one ? std::optional(weight) : std::nullopt;
}

class Submit final : public JobsCommand {
 public:
  void describe(CLI::App& app) override {
    app.add_option("JOB", fill_,
                   "FILE[:ARGUMENTS], the name of a job of Weft's, or @FILE. The last one is all jobs of a job file "
                   "(docs/fill-jobs.md).")
        ->required()
        ->type_name("");
    app.add_option("--input", files_.input, "File of records, or folder of images.")->type_name("PATH");
    app.add_option("--weights", files_.weights, "File of weights.")->type_name("FILE");
    app.add_option("--results", files_.results,
                   "File for a result of each record, or FOLDER/. The folder is for pictures. Not given: in the queue, "
                   "for weft jobs results.")
        ->type_name("FILE");
    app.add_option("--units", job_.terms.units, "Of a job without records: it is done after so many.")
        ->type_name("N")
        ->check(CLI::Range(std::uint64_t{1}, std::uint64_t{1} << 62));
    app.add_option("--name", job_.name, "Its name in lists and traces.")->type_name("NAME");
    app.add_option("--memory", bytes_into(job_.memory),
                   "Device memory that it needs. Not given: WEFT_MEMORY of the rank.")
        ->type_name("BYTES");
    app.add_option("--priority", job_.terms.priority, "Larger goes first. Default: 0.")
        ->type_name("N")
        ->check(CLI::Range(-1'000'000, 1'000'000));
    app.add_option("--weight", quantity_into(job_.terms.weight, parse_weight, "weight; numbers above 0 are"),
                   "Its share of what equal jobs get. Default: 1.")
        ->type_name("NUMBER");
    app.add_option("--deadline", duration_into(job_.terms.deadline, "duration; 90s, 3600s are"),
                   "Counts from now, and orders the jobs.")
        ->type_name("TIME");
    app.add_option("--variant", job_.variants, "Arguments of one size, best first; may be repeated.")
        ->type_name("ARGUMENTS")
        ->expected(1)
        ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
        ->allow_extra_args(false);
    app_ = &app;
  }

  int run(const std::string& name) override {
    std::vector<JobPlan> plans = parse_job_list(fill_, library_directory().string(), files_).jobs;
    const bool is_file = fill_.starts_with('@');
    if (!is_file && plans.size() != 1) throw std::runtime_error("a list of jobs: submit each, or a job file (@FILE)");
    for (const CLI::Option* const option : app_->get_options())
      if (is_file && option->count() > 0 && option->get_name() != "JOB")
        throw std::runtime_error(option->get_name() + ": the jobs of a job file have their own");
    if (job_.variants.size() > most_variants)
      throw std::runtime_error("at most " + std::to_string(most_variants) + " variants are possible");
    std::vector<QueuedJob> jobs;
    for (JobPlan& plan : plans) jobs.push_back(queued(is_file ? plan : with_flags(plan)));
    const auto queue = open_queue(name, WhereNone::make);
    if (queue->is_new())
      inform("a new queue was made in " + std::filesystem::absolute(queue->name()).lexically_normal().string());
    for (const QueuedJob& job : jobs) {
      const std::string id = queue->submit(job);
      std::printf("%s\n", id.c_str());
      std::fflush(stdout);
      inform("job " + id + ", " + name_of(job) + ", waits in " + queue->name());
    }
    return 0;
  }

 private:
  JobPlan with_flags(const JobPlan& plan) const {
    JobPlan job = job_;
    job.spec = plan.spec;
    job.arguments = plan.arguments;
    job.files = plan.files;
    return job;
  }

  static QueuedJob queued(const JobPlan& plan) {
    QueuedJob job{checked_job(plan, library_directory()), user_name(), host_name(),
                  static_cast<std::int64_t>(std::time(nullptr))};
    if (const std::string& results = job.plan.files.results; are_there(results))
      throw std::runtime_error("the results " + results + " are there already; name another file, or take away " +
                               (Ledger::exists(results) ? Ledger::all_of(results) : results));
    if (const std::string why = why_not_queued(job); !why.empty())
      throw std::runtime_error("fill job " + name_of(job) + ": " + why);
    return job;
  }

  std::string fill_;
  JobFiles files_;
  JobPlan job_;
  const CLI::App* app_ = nullptr;
};

}  // namespace

std::unique_ptr<JobsCommand> jobs_submit() {
  return std::make_unique<Submit>();
}

}  // namespace weft::cli
