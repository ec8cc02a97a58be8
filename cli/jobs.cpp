// weft jobs: submits fill jobs to a queue, lists them, ends them and writes their results. The trainings that work on
// them, `weft run --queue`, know of this command as little as it knows of them.
#include "cli/jobs.h"

#include <cstdlib>
#include <filesystem>
#include <stdexcept>
#include <utility>
#include <vector>

#include "cli/parse.h"

namespace weft::cli {
namespace {

// A change of the state of some jobs.
class Change final : public JobsCommand {
 public:
  using Move = bool (*)(JobQueue& queue, const JobEntry& entry);
  Change(Move move, const char* done) : move_(move), done_(done) {}

  void describe(CLI::App& app) override { app.add_option("ID", ids_, "Number of the job.")->required()->type_name(""); }
  int run(const std::string& name) override {
    const auto queue = open_queue(name, WhereNone::fail);
    int code = 0;
    for (const std::string& id : ids_) {
      const JobEntry entry = found_job(*queue, id);
      if (move_(*queue, entry)) {
        inform("job " + id + ", " + name_of(entry.job) + ", " + done_);
      } else {
        complain("job " + id + " is " + std::string(job_state_names[static_cast<std::size_t>(entry.state)]));
        code = failed;
      }
    }
    return code;
  }

 private:
  const Move move_;
  const char* const done_;
  std::vector<std::string> ids_;
};

bool cancel(JobQueue& queue, const JobEntry& entry) {
  return queue.move(entry.id, JobState::waiting, JobState::cancelled, "it was cancelled");
}

bool retry(JobQueue& queue, const JobEntry& entry) {
  return queue.move(entry.id, JobState::failed, JobState::waiting, "") ||
         queue.move(entry.id, JobState::cancelled, JobState::waiting, "");
}

struct Command {
  const char* name;
  const char* summary;
  std::unique_ptr<JobsCommand> command;
};

std::vector<Command> commands() {
  std::vector<Command> all;
  all.push_back({"submit", "put a fill job, or all of a job file, into the queue; prints its number", jobs_submit()});
  all.push_back({"list", "all jobs, how far they are, and when they will be done", jobs_list()});
  all.push_back({"show", "all about one job", jobs_show()});
  all.push_back({"cancel", "end jobs; the results so far are kept",
                 std::make_unique<Change>(&cancel, "is cancelled; what is at work on it stops within seconds")});
  all.push_back({"retry", "let jobs that have failed or were cancelled wait again",
                 std::make_unique<Change>(&retry, "waits again; it goes on where it was")});
  all.push_back({"results", "write the results of a job as JSON Lines", jobs_results()});
  return all;
}

}  // namespace

JobEntry found_job(JobQueue& queue, const std::string& id) {
  if (auto entry = queue.find(id)) return *std::move(entry);
  throw std::runtime_error("there is no job " + id + " in " + queue.name());
}

int jobs_verb(const Arguments& arguments) {
  CLI::App app(
      "Fill jobs wait in a queue until trainings have done them: 'weft run --queue QUEUE -- COMMAND' works on them. "
      "A queue is a folder that all hosts share, or a Redis server (docs/queue.md).",
      "weft jobs");
  std::string queue;
  if (const char* const named = std::getenv("WEFT_QUEUE")) queue = named;
  app.add_option("--queue", queue, "A folder, or redis://HOST:PORT/0. Not given: the variable WEFT_QUEUE.")
      ->type_name("QUEUE");
  app.require_subcommand(1);
  app.fallthrough();
  std::vector<Command> all = commands();
  std::vector<CLI::App*> described;
  for (const Command& command : all) {
    described.push_back(app.add_subcommand(command.name, command.summary));
    command.command->describe(*described.back());
  }
  if (const auto code = parse(app, arguments)) return *code;
  if (queue.empty()) {
    complain("no queue is named: --queue QUEUE, or the variable WEFT_QUEUE");
    return wrong_usage;
  }
  for (std::size_t i = 0; i < all.size(); ++i)
    if (described[i]->parsed()) return all[i].command->run(queue);
  return wrong_usage;
}

}  // namespace weft::cli
