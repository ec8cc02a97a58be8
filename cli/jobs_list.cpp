// weft jobs list and show: how far the jobs of a queue are, who works on them, and when they will be done.
#include <algorithm>
#include <cstdio>
#include <ctime>
#include <nlohmann/json.hpp>
#include <set>
#include <stdexcept>
#include <vector>

#include "cli/jobs.h"
#include "cli/progress.h"
#include "cli/verb.h"
#include "feeder/ledger_progress.h"
#include "runner/options/quantity.h"
#include "trace/formatted.h"
#include "trace/read/printable.h"

namespace weft::cli {
namespace {

using Json = nlohmann::ordered_json;

// Of a job and of what its files say about it.
struct Standing {
  JobEntry entry;
  bool is_known = false;            // somebody has begun
  std::uint64_t all = 0, done = 0;  // records, or units
  double per_second = 0;
  std::size_t ranks = 0;

  bool has_records() const { return !entry.job.plan.files.input.empty(); }
  double share() const { return all == 0 ? 0 : static_cast<double>(done) / static_cast<double>(all); }
  // 0: it is done, or nothing is known.
  double seconds_left() const { return per_second > 0 ? static_cast<double>(all - done) / per_second : 0; }
  std::string state() const {
    const bool works = entry.state == JobState::waiting && ranks > 0;
    return works ? "working" : std::string(job_state_names[static_cast<std::size_t>(entry.state)]);
  }
};

Standing standing_of(JobEntry entry) {
  Standing made;
  made.entry = std::move(entry);
  const JobPlan& plan = made.entry.job.plan;
  if (made.has_records()) {
    if (const auto progress = progress_of(plan.files.results)) {
      made.is_known = true;
      made.all = progress->records;
      made.done = progress->done;
    }
  } else {
    made.is_known = true;
    made.all = plan.terms.units;
    made.done = std::min(made.entry.units, made.all);
  }
  for (const AtWork& work : made.entry.at_work) {
    made.per_second += work.per_second;
    made.ranks += work.ranks.size();
  }
  return made;
}

std::string length(double seconds) {
  if (seconds >= 172800) return formatted("%.1f d", seconds / 86400);
  if (seconds >= 7200) return formatted("%.1f h", seconds / 3600);
  return seconds >= 120 ? formatted("%.1f min", seconds / 60) : formatted("%.0f s", seconds);
}

std::string rate(double per_second) {
  if (per_second <= 0) return "-";
  return per_second >= 10000 ? formatted("%.1fk/s", per_second / 1000)
                             : formatted(per_second >= 10 ? "%.0f/s" : "%.2f/s", per_second);
}

std::string time_text(std::int64_t seconds) {
  const std::time_t time = static_cast<std::time_t>(seconds);
  std::tm local{};
  ::localtime_r(&time, &local);
  char text[64];
  return std::strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S", &local) == 0 ? "" : text;
}

std::string done_text(const Standing& job) {
  if (!job.is_known) return bar(0, 10) + "     -";
  return bar(job.share(), 10) + formatted(" %4.1f %%", 100 * job.share());
}

Json json_of(const Standing& job) {
  const JobEntry& entry = job.entry;
  const JobPlan& plan = entry.job.plan;
  Json made{{"id", entry.id},
            {"name", name_of(entry.job)},
            {"state", job.state()},
            {"fill", plan.spec},
            {"input", plan.files.input},
            {"results", plan.files.results},
            {"weights", plan.files.weights},
            {"memory", plan.memory},
            {"priority", plan.terms.priority},
            {"weight", plan.terms.weight},
            {"deadline_ns", plan.terms.deadline.count()},
            {"units", plan.terms.units},
            {"variants", plan.variants},
            {"user", entry.job.user},
            {"host", entry.job.host},
            {"submitted", entry.job.submitted},
            {"ended", entry.ended},
            {"why", entry.why},
            {"of", job.has_records() ? "records" : "units"},
            {"all", job.is_known ? Json(job.all) : Json(nullptr)},
            {"done", job.is_known ? Json(job.done) : Json(nullptr)},
            {"per_second", job.per_second},
            {"seconds_left", job.per_second > 0 ? Json(job.seconds_left()) : Json(nullptr)},
            {"longest_slice_ns", entry.need.slice.count()},
            {"lacked_memory", entry.need.memory}};
  made["at_work"] = Json::array();
  for (const AtWork& work : entry.at_work)
    made["at_work"].push_back({{"host", work.host}, {"ranks", work.ranks}, {"since", work.since}});
  made["refusals"] = Json::array();
  for (const Refusal& refusal : entry.refusals)
    made["refusals"].push_back({{"by", refusal.by},
                                {"kind", refusal_kind_names[static_cast<std::size_t>(refusal.kind)]},
                                {"why", refusal.why}});
  return made;
}

void print_json(const Json& json) {
  std::printf("%s\n", json.dump(2, ' ', false, Json::error_handler_t::replace).c_str());
}

std::vector<JobState> states_of(const std::vector<std::string>& names) {
  std::vector<JobState> states;
  for (std::size_t state = 0; state < job_state_names.size(); ++state)
    if (names.empty() || std::ranges::find(names, job_state_names[state]) != names.end())
      states.push_back(static_cast<JobState>(state));
  return states;
}

class List final : public JobsCommand {
 public:
  void describe(CLI::App& app) override {
    app.add_option("--state", states_, "Only these: waiting, done, failed, cancelled; may be repeated.")
        ->type_name("STATE")
        ->check(CLI::IsMember(std::set<std::string>(job_state_names.begin(), job_state_names.end())));
    app.add_flag("--json", json_, "A JSON array.");
  }

  int run(const std::string& name) override {
    const auto queue = open_queue(name, WhereNone::fail);
    std::vector<std::string> ids;
    for (const JobState state : states_of(states_))
      for (std::string& id : queue->ids(state)) ids.push_back(std::move(id));
    std::ranges::sort(ids, {}, [](const std::string& id) { return std::pair(id.size(), id); });
    ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
    std::vector<Standing> jobs;
    for (const std::string& id : ids) {
      try {
        if (auto entry = queue->find(id)) jobs.push_back(standing_of(*std::move(entry)));
      } catch (const NotNow&) {
        throw;
      } catch (const std::exception& error) {
        warn(error.what());
      }
    }
    json_ ? print_all(jobs) : print_table(jobs, queue->name());
    return 0;
  }

 private:
  static void print_all(const std::vector<Standing>& jobs) {
    Json all = Json::array();
    for (const Standing& job : jobs) all.push_back(json_of(job));
    print_json(all);
  }

  static void print_table(const std::vector<Standing>& jobs, const std::string& queue) {
    if (jobs.empty()) return void(std::printf("no jobs in %s\n", queue.c_str()));
    std::printf("%6s  %-20s %-9s  %-19s %9s %9s %5s\n", "id", "name", "state", "done", "rate", "left", "ranks");
    for (const Standing& job : jobs)
      std::printf("%6s  %-20.20s %-9s  %-19s %9s %9s %5zu\n", job.entry.id.c_str(),
                  printable(name_of(job.entry.job)).c_str(), job.state().c_str(), done_text(job).c_str(),
                  rate(job.per_second).c_str(), job.per_second > 0 ? length(job.seconds_left()).c_str() : "-",
                  job.ranks);
  }

  std::vector<std::string> states_;
  bool json_ = false;
};

class Show final : public JobsCommand {
 public:
  void describe(CLI::App& app) override {
    app.add_option("ID", id_, "Number of the job.")->required()->type_name("");
    app.add_flag("--json", json_, "A JSON object.");
  }

  int run(const std::string& name) override {
    const auto queue = open_queue(name, WhereNone::fail);
    const Standing job = standing_of(found_job(*queue, id_));
    json_ ? print_json(json_of(job)) : print(job);
    return 0;
  }

 private:
  static void line(const char* key, const std::string& value) {
    if (!value.empty()) std::printf("%-10s %s\n", key, printable(value).c_str());
  }

  static void print(const Standing& job) {
    const JobEntry& entry = job.entry;
    const JobPlan& plan = entry.job.plan;
    line("job", entry.id + ", " + name_of(entry.job));
    line("state", job.state() + (entry.why.empty() ? "" : ": " + entry.why) +
                      (entry.ended == 0 || entry.state == JobState::waiting ? "" : ", " + time_text(entry.ended)));
    const char* const what = job.has_records() ? " records" : " units";
    line("done", job.is_known ? done_text(job) + formatted(", %llu of %llu%s", number(job.done), number(job.all), what)
                 : job.ranks > 0 ? "nothing yet: the ranks that have it are making it ready"
                                 : "nothing yet: no rank has begun with its records");
    if (job.per_second > 0)
      line("rate", rate(job.per_second) + ", " + length(job.seconds_left()) + " left, done at " +
                       time_text(static_cast<std::int64_t>(std::time(nullptr)) +
                                 static_cast<std::int64_t>(job.seconds_left())));
    line("fill", plan.spec);
    for (const std::string& variant : plan.variants) line("variant", variant);
    line("input", plan.files.input);
    line("weights", plan.files.weights);
    line("results", plan.files.results);
    line("memory", plan.memory == 0 ? "WEFT_MEMORY of the rank" : mebibytes(plan.memory));
    line("terms", terms_of(job));
    line("submitted", time_text(entry.job.submitted) + " by " + entry.job.user + " on " + entry.job.host);
    if (entry.need.slice > Duration{})
      line("slice", formatted("%.0f us, its longest", static_cast<double>(entry.need.slice.count()) / 1e3));
    for (const AtWork& work : entry.at_work) {
      std::string ranks;
      for (const std::int32_t rank : work.ranks) ranks += (ranks.empty() ? "rank " : ", ") + std::to_string(rank);
      line("at work", work.host + ", " + ranks + ", since " + time_text(work.since));
    }
    for (const Refusal& refusal : entry.refusals) line("not run", "on " + refusal.by + ": " + refusal.why);
  }

  static std::string terms_of(const Standing& job) {
    const JobTerms& terms = job.entry.job.plan.terms;
    std::string text = "priority " + std::to_string(terms.priority) + formatted(", weight %g", terms.weight);
    if (terms.deadline > Duration{})
      text += ", deadline " +
              time_text(job.entry.job.submitted + std::chrono::floor<std::chrono::seconds>(terms.deadline).count());
    return text;
  }

  std::string id_;
  bool json_ = false;
};

}  // namespace

std::unique_ptr<JobsCommand> jobs_list() {
  return std::make_unique<List>();
}

std::unique_ptr<JobsCommand> jobs_show() {
  return std::make_unique<Show>();
}

}  // namespace weft::cli
