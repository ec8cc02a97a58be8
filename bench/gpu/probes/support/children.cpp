// See children.h.
#include "children.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <mutex>
#include <stdexcept>

#include "driver.h"
#include "gpu.h"
#include "report.h"

namespace probe {
namespace {

constexpr int skipped_code = 77;
constexpr double least_for_part = 0.1, most_for_part = 8;  // seconds

std::mutex running_mutex;
std::vector<int> running;

// Between fork and exec only calls that are safe there.
[[noreturn]] void become(char* const* command, char* const* environment, int output, bool with_stderr) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  setpgid(0, 0);
  dup2(output, STDOUT_FILENO);
  if (with_stderr) dup2(output, STDERR_FILENO);
  execvpe(command[0], command, environment);
  _exit(127);
}

std::vector<std::string> merged(const Environment& additions) {
  std::vector<std::string> result;
  for (char** each = environ; *each != nullptr; ++each) {
    const std::string text = *each;
    const std::string name = text.substr(0, text.find('='));
    const bool replaced =
        std::any_of(additions.begin(), additions.end(), [&](const auto& other) { return other.first == name; });
    if (!replaced) result.push_back(text);
  }
  for (const auto& [name, value] : additions) result.push_back(name + "=" + value);
  return result;
}

std::vector<char*> pointers_of(std::vector<std::string>& texts) {
  std::vector<char*> result;
  for (std::string& text : texts) result.push_back(text.data());
  result.push_back(nullptr);
  return result;
}

std::string own_path() {
  char path[4096];
  const ssize_t length = readlink("/proc/self/exe", path, sizeof path);
  if (length <= 0) throw std::runtime_error("/proc/self/exe cannot be read");
  return {path, static_cast<std::size_t>(length)};
}

}  // namespace

Child::Child(const std::vector<std::string>& part, const Environment& environment) {
  std::vector<std::string> command{own_path(), "--part"};
  command.insert(command.end(), part.begin(), part.end());
  start(std::move(command), environment, false);
}

Child::Child(const std::vector<std::string>& command, const Environment& environment, bool with_stderr) {
  start(command, environment, with_stderr);
}

void Child::start(std::vector<std::string> command, const Environment& environment, bool with_stderr) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) throw std::runtime_error("no pipe");
  std::vector<std::string> variables = merged(environment);
  const std::vector<char*> command_pointers = pointers_of(command), variable_pointers = pointers_of(variables);
  const std::lock_guard lock(running_mutex);
  process_ = fork();
  if (process_ == 0) become(command_pointers.data(), variable_pointers.data(), ends[1], with_stderr);
  close(ends[1]);
  output_ = ends[0];
  if (process_ < 0) throw std::runtime_error("no process can be started");
  running.push_back(process_);
}

Child::Result Child::wait(double seconds) {
  Result result{-1, {}, false};
  const int64_t limit = now() + static_cast<int64_t>(seconds * 1e9);
  pollfd readable{output_, POLLIN, 0};
  char buffer[4096];
  bool over = false;
  while (!over) {
    const int64_t left = std::max<int64_t>(0, (limit - now()) / 1'000'000);
    if (poll(&readable, 1, static_cast<int>(left)) <= 0) break;
    const ssize_t count = read(output_, buffer, sizeof buffer);
    over = count <= 0;
    if (!over) result.output.append(buffer, static_cast<std::size_t>(count));
  }
  close(output_);
  if (!over) kill(-process_, SIGKILL);
  int status = 0;
  const std::lock_guard lock(running_mutex);
  waitpid(process_, &status, 0);
  std::erase(running, process_);
  if (over && WIFEXITED(status)) result.code = WEXITSTATUS(status);
  result.too_slow = !over;
  return result;
}

std::vector<double> numbers_of(const Child::Result& result, const std::string& what, double seconds) {
  if (result.code == skipped_code) throw Skipped(result.output);
  if (result.too_slow)
    throw TooSlow(format("%s: too slow: no answer within %.3g s ", what.c_str(), seconds) + result.output);
  if (result.code != 0) {
    const std::string text = what + ": " + (result.code < 0 ? "ended by a signal " : "") + result.output;
    throw std::runtime_error(text.substr(0, text.find_last_not_of(" \n") + 1));
  }
  // The last line: a library (NCCL's warnings) may have written before.
  const std::string text = result.output.substr(0, result.output.find_last_not_of('\n') + 1);
  const char* place = text.c_str() + text.rfind('\n') + 1;
  std::vector<double> numbers;
  for (char* end = nullptr;; place = end) {
    const double number = std::strtod(place, &end);
    if (end == place) return numbers;
    numbers.push_back(number);
  }
}

std::vector<double> numbers_of_part(const std::vector<std::string>& part, const Environment& environment,
                                    double seconds) {
  return numbers_of(Child(part, environment).wait(seconds), "part " + part.front(), seconds);
}

TimeForParts::TimeForParts(double seconds) : end_(now() + static_cast<int64_t>(seconds * 1e9)) {}

bool TimeForParts::over() const {
  return now() > end_;
}

double TimeForParts::for_next() const {
  return std::clamp(static_cast<double>(end_ - now()) / 1e9, least_for_part, most_for_part);
}

std::string join(const std::vector<double>& numbers) {
  std::string text;
  for (const double each : numbers) text += (text.empty() ? "" : " ") + format("%.9g", each);
  return text;
}

void end_children() {
  const std::lock_guard lock(running_mutex);
  for (const int process : running) kill(-process, SIGKILL);
}

}  // namespace probe
