// See the header.
#include "cli/tried_job.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <stdexcept>
#include <string_view>
#include <vector>

#include "runner/options/asking.h"
#include "runner/options/probe_request.h"
#include "runner/options/variables.h"

namespace weft::cli {
namespace {

constexpr int transcript = 3;  // of the probe
constexpr int did_not_start = 127;

std::vector<char*> pointers_to(std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  for (std::string& text : texts) pointers.push_back(text.data());
  pointers.push_back(nullptr);
  return pointers;
}

// Between fork and exec only calls that are safe there. The job may print; its lines go to stderr.
[[noreturn]] void become(char* const* arguments, char* const* environment, int output) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (output == transcript)
    ::fcntl(transcript, F_SETFD, 0);
  else
    ::dup2(output, transcript);
  ::dup2(STDERR_FILENO, STDOUT_FILENO);
  ::execve(arguments[0], arguments, environment);
  ::_exit(did_not_start);
}

std::string seconds_of(Duration limit) {
  return std::to_string(std::chrono::ceil<std::chrono::seconds>(limit).count());
}

struct Ended {
  std::string transcript;
  int status = 0;
};

Ended run(std::vector<std::string> texts) {
  std::vector<std::string> variables;
  for (const auto& [name, value] : environment_variables())
    if (name != "WEFT") variables.push_back(name + "=" + value);
  variables.emplace_back("WEFT=off");
  const std::vector<char*> arguments = pointers_to(texts), environment = pointers_to(variables);
  int ends[2] = {};
  if (::pipe2(ends, O_CLOEXEC) != 0) throw std::runtime_error(std::string("no pipe: ") + std::strerror(errno));
  const pid_t process = ::fork();
  if (process == 0) become(arguments.data(), environment.data(), ends[1]);
  ::close(ends[1]);
  Ended ended;
  if (process > 0) ended.transcript = read_all(ends[0]);
  ::close(ends[0]);
  if (process < 0) throw std::runtime_error(std::string("no process for the job: ") + std::strerror(errno));
  while (::waitpid(process, &ended.status, 0) < 0 && errno == EINTR) continue;
  return ended;
}

// The lines that runner/fill/fill_trial.h describes, and the report.
TriedJob parse(const Ended& ended, const TryRequest& request) {
  TriedJob tried;
  std::string step = "before init", verdict;
  std::string_view rest = ended.transcript;
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find('\n'), rest.size());
    const std::string line(rest.substr(0, end));
    if (line.starts_with("at ")) step = "in " + line.substr(3);
    if (line == "ok" || line.starts_with("failed ")) verdict = line;
    if (line.starts_with("report ")) tried.report = nlohmann::ordered_json::parse(line.substr(7), nullptr, false);
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  if (verdict.starts_with("failed ")) tried.fault = verdict.substr(7);
  if (!verdict.empty()) return tried;
  const bool late = WIFSIGNALED(ended.status) && WTERMSIG(ended.status) == SIGALRM;
  tried.fault = "fill job " + request.path + (late ? " hung " : " crashed ") + step +
                (late ? ": it took longer than " + seconds_of(request.limit) + " s (--limit)" : "");
  return tried;
}

}  // namespace

TriedJob try_job(const std::filesystem::path& probe, const TryRequest& request, const Options& options) {
  ProbeRequest wanted;
  wanted.device = static_cast<std::uint64_t>(request.device);
  wanted.path = request.path;
  wanted.arguments = request.arguments;
  wanted.input = request.files.input;
  wanted.results = request.files.results;
  wanted.weights = request.files.weights;
  wanted.memory = options.memory;
  wanted.reserved = options.reserve_sms;
  wanted.slice_cap = static_cast<std::uint64_t>(options.slice.count());
  wanted.limit = static_cast<std::uint64_t>(std::chrono::ceil<std::chrono::seconds>(request.limit).count());
  wanted.units = request.units;
  wanted.confine = confine_names[static_cast<std::size_t>(options.confine)];
  wanted.stream = "plain";
  std::vector<std::string> command = arguments_of(wanted);
  command.insert(command.begin(), probe.string());
  const Ended ended = run(std::move(command));
  if (WIFEXITED(ended.status) && WEXITSTATUS(ended.status) == did_not_start)
    throw std::runtime_error(probe.string() + " does not start");
  return parse(ended, request);
}

}  // namespace weft::cli
