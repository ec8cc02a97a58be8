// weft jobs: the queue of fill jobs. jobs.cpp has the verb; each of these is one of its commands, in a file of its own.
#pragma once

#include <CLI/CLI.hpp>
#include <memory>
#include <string>

#include "feeder/queue/job_queue.h"

namespace weft::cli {

// A command of `weft jobs`: its options, and what it does. `queue`: as the user named it.
struct JobsCommand {
  virtual ~JobsCommand() = default;
  virtual void describe(CLI::App& app) = 0;
  virtual int run(const std::string& queue) = 0;  // returns the exit code
};

std::unique_ptr<JobsCommand> jobs_submit();
std::unique_ptr<JobsCommand> jobs_list();
std::unique_ptr<JobsCommand> jobs_show();
std::unique_ptr<JobsCommand> jobs_results();

// Throws std::runtime_error where there is none of that number.
JobEntry found_job(JobQueue& queue, const std::string& id);

}  // namespace weft::cli
