// See asking.h.
#include "runner/options/asking.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <vector>

namespace weft {
namespace {

constexpr int cannot_be_asked = 77;  // of the probe
constexpr int did_not_start = 127;

// Between fork and exec only calls that are safe there. stderr goes where ours does.
[[noreturn]] void become(const char* program, char* const* environment, int output) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  ::dup2(output, STDOUT_FILENO);
  char* const arguments[] = {const_cast<char*>(program), nullptr};
  ::execve(program, arguments, environment);
  ::_exit(did_not_start);
}

struct ProbeResult {
  int code = -1;
  nlohmann::json line;
};

ProbeResult run_probe(const std::string& program, const Variables& variables) {
  std::vector<std::string> texts;
  for (const auto& [name, value] : variables) texts.push_back(name + "=" + value);
  std::vector<char*> environment;
  for (std::string& text : texts) environment.push_back(text.data());
  environment.push_back(nullptr);
  int ends[2] = {};
  if (::pipe2(ends, O_CLOEXEC) != 0) throw std::runtime_error(std::string("no pipe: ") + std::strerror(errno));
  const pid_t process = ::fork();
  if (process == 0) become(program.c_str(), environment.data(), ends[1]);
  ::close(ends[1]);
  const std::string output = process > 0 ? read_all(ends[0]) : "";
  ::close(ends[0]);
  if (process < 0) throw std::runtime_error(std::string("no process for it: ") + std::strerror(errno));
  int status = 0;
  while (::waitpid(process, &status, 0) < 0 && errno == EINTR) continue;
  return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, nlohmann::json::parse(output, nullptr, false)};
}

}  // namespace

std::string read_all(int file) {
  std::string text;
  char part[4096];
  for (ssize_t size = 0; (size = ::read(file, part, sizeof part)) > 0 || (size < 0 && errno == EINTR);)
    if (size > 0) text.append(part, static_cast<std::size_t>(size));
  return text;
}

Answers ask_machine(const std::string& program, const Variables& variables) {
  if (::access(program.c_str(), X_OK) != 0)
    throw std::runtime_error(program + " is missing: this Weft was built without nvcc or without WEFT_BUILD_BENCH");
  const ProbeResult probe = run_probe(program, variables);
  if (probe.code == did_not_start) throw std::runtime_error(program + " does not start");
  if (probe.code == cannot_be_asked) {
    const std::string why = probe.line.is_object() ? probe.line.value("skipped", "") : "";
    throw std::runtime_error("the GPU cannot be asked" + (why.empty() ? "" : ": " + why));
  }
  if (probe.code != 0 || !probe.line.is_object() || !probe.line.contains("values"))
    throw std::runtime_error("the probe gave no answer (exit code " + std::to_string(probe.code) + ")");
  const nlohmann::json& values = probe.line.at("values");
  Answers answers;
  answers.machine = machine_of(probe.line.at("device"), values.at("driver_version"), variables);
  for (std::size_t i = 0; i < asked_names.size(); ++i) {
    const auto value = values.find(std::string(asked_names[i]) + "_passes");
    if (value != values.end() && value->is_boolean())
      answers.found[i] = value->get<bool>() ? Found::passes : Found::holds;
    answers.why[i] = values.value(std::string(asked_names[i]) + "_why", "");
  }
  return answers;
}

}  // namespace weft
