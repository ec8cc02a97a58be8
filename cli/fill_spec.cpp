// Finding and checking a fill job's file; see the header.
#include "cli/fill_spec.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <stdexcept>
#include <system_error>
#include <vector>

#include "cli/elf_symbols.h"
#include "feeder/files/results_folder.h"
#include "runner/options/fill_plan.h"

namespace weft::cli {
namespace {

namespace fs = std::filesystem;

std::string list_of_own_jobs(const fs::path& jobs) {
  std::string list;
  for (const std::string& name : own_jobs(jobs)) list += (list.empty() ? "" : ", ") + name;
  return list.empty() ? "none" : list;
}

fs::path find_job(const std::string& name, const fs::path& jobs) {
  if (fs::is_regular_file(name)) return fs::absolute(name);
  const bool bare = name.find('/') == std::string::npos;
  if (bare && fs::is_regular_file(jobs / name)) return jobs / name;
  if (bare && fs::is_regular_file(jobs / ("fill_" + name + ".so"))) return jobs / ("fill_" + name + ".so");
  if (fs::exists(name)) throw std::runtime_error("fill job '" + name + "' is not a file");
  throw std::runtime_error("fill job '" + name + "': no such file" +
                           (bare ? ", and none of Weft's own, which are: " + list_of_own_jobs(jobs) : ""));
}

std::string checked_path(const std::string& spec, const fs::path& jobs) {
  const std::size_t colon = spec.find(':');
  const std::string name = spec.substr(0, colon);
  const fs::path file = find_job(name, jobs);
  const std::string fault = why_not_exported(file, "weft_fill_job_v2");
  if (!fault.empty() && !why_not_exported(file, "weft_fill_job_v1").empty())
    throw std::runtime_error("fill job '" + name + "' " + fault);
  const std::string path = file.string();
  for (const char end : {':', ';'})
    if (path.find(end) != std::string::npos)
      throw std::runtime_error("fill job '" + name + "': a '" + end + "' in its path " + path + " would end the path");
  return path + (colon == std::string::npos ? "" : spec.substr(colon));
}

// Whether it can be read; what is in it the feeder looks at. Records may be a folder of images.
void check_readable(const std::string& path, const char* what, bool may_be_folder) {
  if (path.empty()) return;
  if (!fs::exists(path)) throw std::runtime_error(std::string("the ") + what + " " + path + ": no such file");
  if (may_be_folder && fs::is_directory(path)) return;
  if (!fs::is_regular_file(path)) throw std::runtime_error(std::string("the ") + what + " " + path + " is not a file");
}

// A training would find these faults out only when its jobs begin.
void check_writable(const JobFiles& files) {
  if (files.results.empty()) return;
  const auto fail = [&](const std::string& why) {
    throw std::runtime_error("the results " + files.results + " cannot be written: " + why);
  };
  const std::string path = path_of_results(files.results);
  const fs::path folder = fs::path(path).parent_path();
  if (!fs::is_directory(folder)) fail("there is no folder " + folder.string());
  std::error_code error;
  if (fs::equivalent(path, files.input, error)) fail("they are the input");
  if (fs::equivalent(path, files.weights, error)) fail("they are the weights");
  if (::faccessat(AT_FDCWD, folder.c_str(), W_OK | X_OK, AT_EACCESS) != 0)
    fail("the folder " + folder.string() + ": " + std::strerror(errno));
}

}  // namespace

std::vector<std::string> own_jobs(const fs::path& jobs) {
  std::vector<std::string> names;
  std::error_code unreadable;
  for (const fs::directory_entry& entry : fs::directory_iterator(jobs, unreadable)) {
    const std::string stem = entry.path().stem();
    if (stem.starts_with("fill_") && entry.path().extension() == ".so") names.push_back(stem.substr(5));
  }
  std::ranges::sort(names);
  return names;
}

JobPlan checked_job(JobPlan job, const fs::path& jobs) {
  constexpr std::uint64_t least_memory = 1 << 20;  // as that of WEFT_MEMORY: less is a number without its unit
  if (job.memory != 0 && job.memory < least_memory)
    throw std::runtime_error("a memory of " + std::to_string(job.memory) +
                             " bytes is less than the 1MiB that is the least: is its unit missing, as in 512MiB?");
  job.spec = checked_path(job.spec, jobs);
  check_readable(job.files.input, "input", true);
  check_readable(job.files.weights, "weights", false);
  check_writable(job.files);
  return job;
}

CheckedFill checked_fill_spec(const std::string& fill, std::uint64_t memory, const fs::path& jobs,
                              const JobFiles& files) {
  const FillPlan plan = parse_fill_plan(fill, memory, jobs.string(), files);
  CheckedFill checked;
  for (const JobPlan& job : plan.jobs) {
    checked.spec += (checked.spec.empty() ? "" : ";") + checked_job(job, jobs).spec;
    checked.needs_feeder = checked.needs_feeder || job.files.are_any();
  }
  if (fill.starts_with('@')) checked.spec = "@" + fs::absolute(fill.substr(1)).string();
  return checked;
}

}  // namespace weft::cli
