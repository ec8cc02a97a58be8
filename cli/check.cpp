// weft check: asks the machine, through a child process of its own, what the driver promises nowhere; prints the
// answers, keeps them for runs on the same GPU with the same driver and environment, and ends with an exit code.
#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>

#include "cli/locate.h"
#include "cli/parse.h"
#include "runner/options/answers.h"
#include "runner/options/marking.h"

namespace weft::cli {
namespace {

constexpr int incomplete = 3;        // a question has no answer, or bubbles cannot be measured
constexpr int cannot_be_asked = 77;  // of the probe
constexpr std::size_t name_width = 34;

struct ProbeResult {
  int code = -1;
  nlohmann::json line;
};

std::string read_all(int file) {
  std::string text;
  char part[4096];
  for (ssize_t size = 0; (size = ::read(file, part, sizeof part)) > 0 || (size < 0 && errno == EINTR);)
    if (size > 0) text.append(part, static_cast<std::size_t>(size));
  return text;
}

// Its time is limited by the probe itself. stderr goes where ours does.
ProbeResult run_probe(const std::string& path) {
  int ends[2] = {};
  if (::pipe2(ends, O_CLOEXEC) != 0) throw std::runtime_error(std::string("no pipe: ") + std::strerror(errno));
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
  char* const arguments[] = {const_cast<char*>(path.c_str()), nullptr};
  pid_t process = 0;
  const int error = ::posix_spawn(&process, path.c_str(), &actions, nullptr, arguments, ::environ);
  posix_spawn_file_actions_destroy(&actions);
  ::close(ends[1]);
  const std::string output = error == 0 ? read_all(ends[0]) : "";
  ::close(ends[0]);
  if (error != 0) throw std::runtime_error(path + " does not start: " + std::strerror(error));
  int status = 0;
  while (::waitpid(process, &status, 0) < 0 && errno == EINTR) continue;
  return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, nlohmann::json::parse(output, nullptr, false)};
}

std::string probe_path() {
  const std::string path = library_directory() / "weft-check-probe";
  if (!std::filesystem::exists(path))
    throw std::runtime_error(path + " is missing: this Weft was built without nvcc or without WEFT_BUILD_BENCH");
  return path;
}

Answers answers_of(const nlohmann::json& line, const Variables& variables) {
  const nlohmann::json& values = line.at("values");
  Answers answers;
  answers.machine = machine_of(line.at("device"), values.at("driver_version"), variables);
  for (std::size_t i = 0; i < asked_names.size(); ++i) {
    const auto value = values.find(std::string(asked_names[i]) + "_passes");
    if (value != values.end() && value->is_boolean())
      answers.found[i] = value->get<bool>() ? Found::passes : Found::holds;
  }
  return answers;
}

std::string word_of(Found answer) {
  if (answer == Found::unknown) return "no answer";
  return answer == Found::passes ? "yes" : "no, it waits";
}

const char* name_of(Marks marks) {
  return marks == Marks::writes ? "writes" : marks == Marks::events ? "events" : "none";
}

// Of the answers, for a run with this environment.
std::string consequence(const Marking& marking) {
  if (marking.marks == Marks::none)
    return std::string("idle time is not measured: ") + marking.because + "; nothing is filled";
  const std::string measured = std::string("idle time is measured, by ") +
                               (marking.marks == Marks::writes ? "stream-ordered writes" : "recorded events");
  if (!marking.one_queue) return measured + "; bubbles can be filled";
  return measured + "; some may be uncertain and nothing is filled: one hardware queue";
}

struct Outcome {
  Answers answers;
  Marking marking;
  std::string path;   // where the answers are kept
  std::string fault;  // why they are not

  bool is_complete() const {
    for (const Found answer : answers.found)
      if (answer == Found::unknown) return false;
    return marking.marks != Marks::none;
  }
};

void print_text(const Outcome& outcome) {
  const Machine& machine = outcome.answers.machine;
  std::printf("%s, driver %d.%d, %u hardware queue%s%s\n", machine.gpu.c_str(), machine.driver_version / 1000,
              machine.driver_version % 1000 / 10, machine.queues, machine.queues == 1 ? "" : "s",
              machine.mps ? ", under MPS" : "");
  std::puts("beside a running kernel, does one of another stream run that is launched after");
  for (std::size_t i = 0; i < asked_words.size(); ++i)
    std::printf("  %-*s%s\n", static_cast<int>(name_width), asked_words[i], word_of(outcome.answers.found[i]).c_str());
  std::printf("so here %s\n", consequence(outcome.marking).c_str());
  if (outcome.fault.empty()) std::printf("kept in %s\n", outcome.path.c_str());
}

void print_json(const Outcome& outcome) {
  const Machine& machine = outcome.answers.machine;
  nlohmann::ordered_json result{{"gpu", machine.gpu},
                                {"driver_version", machine.driver_version},
                                {"hardware_queues", machine.queues},
                                {"mps", machine.mps},
                                {"passes", nlohmann::ordered_json::object()},
                                {"marks", name_of(outcome.marking.marks)},
                                {"because", outcome.marking.because},
                                {"can_fill", outcome.marking.marks != Marks::none && !outcome.marking.one_queue}};
  for (std::size_t i = 0; i < asked_names.size(); ++i) {
    nlohmann::ordered_json& value = result["passes"][asked_names[i]];
    if (outcome.answers.found[i] != Found::unknown) value = outcome.answers.found[i] == Found::passes;
  }
  result["kept"] = outcome.fault.empty() ? nlohmann::ordered_json(outcome.path) : nlohmann::ordered_json(nullptr);
  std::printf("%s\n", result.dump(2, ' ', false, nlohmann::json::error_handler_t::replace).c_str());
}

Outcome ask(const std::string& folder, const Variables& variables) {
  const ProbeResult probe = run_probe(probe_path());
  if (probe.code == cannot_be_asked) {
    const std::string why = probe.line.is_object() ? probe.line.value("skipped", "") : "";
    throw std::runtime_error("the GPU cannot be asked" + (why.empty() ? "" : ": " + why));
  }
  if (probe.code != 0 || !probe.line.is_object() || !probe.line.contains("values"))
    throw std::runtime_error("the probe gave no answer (exit code " + std::to_string(probe.code) + ")");
  Outcome outcome;
  outcome.answers = answers_of(probe.line, variables);
  outcome.marking = marking_for({variables, variables}, &outcome.answers);
  outcome.path = answers_file(folder, outcome.answers.machine);
  outcome.fault = keep_answers(folder, outcome.answers);
  return outcome;
}

}  // namespace

int check_verb(const Arguments& arguments) {
  bool json = false;
  std::string folder;
  CLI::App app(
      "Asks the GPU, under the present environment, who holds up its hardware queues, and keeps the answers for runs "
      "on\n"
      "the same GPU, driver and environment. Takes up to 20 s and a context on the first GPU, which should be idle.\n"
      "Exit code: 0, 3 when a question has no answer or idle time cannot be measured, 1 when nothing can be asked or "
      "kept.",
      "weft check");
  app.add_flag("--json", json, "One JSON object.");
  app.add_option("--answers", folder, "Directory of the answers, in place of WEFT_ANSWERS.")->type_name("DIR");
  if (const auto code = parse(app, arguments)) return *code;
  const Variables variables = environment_variables();
  if (folder.empty()) folder = answers_folder(parse_options(variables).options.answers, variables);
  const Outcome outcome = ask(folder, variables);
  json ? print_json(outcome) : print_text(outcome);
  if (!outcome.fault.empty()) {
    complain("the answers cannot be kept: " + outcome.fault);
    return failed;
  }
  return outcome.is_complete() ? 0 : incomplete;
}

}  // namespace weft::cli
