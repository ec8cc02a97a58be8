// weft check: asks the machine, through a child process of its own, what the driver promises nowhere; prints the
// answers in ten lines, keeps them for runs on the same GPU with the same driver and environment, and ends with an exit
// code.
#include <cstdio>
#include <nlohmann/json.hpp>
#include <string>

#include "cli/colours.h"
#include "cli/found_libraries.h"
#include "cli/locate.h"
#include "cli/parse.h"
#include "runner/options/answers.h"
#include "runner/options/asking.h"
#include "runner/options/marking.h"
#include "trace/formatted.h"

namespace weft::cli {
namespace {

constexpr std::size_t name_width = 34;

std::string word_of(Found answer, const std::string& why) {
  if (answer == Found::unknown) return "no answer";
  if (!why.empty()) return "no: " + why;
  return answer == Found::passes ? "yes" : "no, it waits";
}

const char* name_of(Marks marks) {
  return marks == Marks::writes ? "writes" : marks == Marks::events ? "events" : "none";
}

// Of the answers, for a run with this environment.
std::string idle_time(const Marking& marking) {
  if (marking.marks == Marks::none) return std::string("idle time is not measured: ") + marking.because;
  const bool writes = marking.marks == Marks::writes;
  return std::string("idle time is measured, by ") + (writes ? "stream-ordered writes" : "recorded events") +
         (marking.one_queue ? "; some may be uncertain: one hardware queue" : "");
}
std::string filling(const Marking& marking) {
  if (marking.stream == FillStream::green_context)
    return "bubbles are filled, in a hardware queue of its own: a green context's";
  if (marking.stream == FillStream::above)
    return "bubbles are filled, in a hardware queue of its own: that of a higher priority";
  if (marking.fillable == Fillable::any) return "bubbles are filled";
  if (marking.fillable == Fillable::host_waits)
    return "bubbles are filled while the host waits for the GPU and has enqueued nothing to compute";
  if (marking.fillable == Fillable::host_waits_alone)
    return "bubbles are filled while the host waits for the GPU, and no stream does";
  return std::string("nothing is filled: ") + marking.unfillable;
}
bool can_fill(const Marking& marking) {
  return marking.fillable != Fillable::nothing;
}
const char* name_of(Fillable fillable) {
  if (fillable == Fillable::any) return "any";
  if (fillable == Fillable::host_waits) return "host_waits";
  return fillable == Fillable::host_waits_alone ? "host_waits_alone" : "none";
}

struct Outcome {
  Answers answers;
  Marking marking;
  FoundLibrary nccl, cupti;
  bool has_decided = true;  // these answers, or kept ones, decide how a run marks
  std::string path;         // where the answers are kept
  std::string fault;        // why they are not

  bool is_complete() const {
    for (const Found answer : answers.found)
      if (answer == Found::unknown) return false;
    return marking.marks != Marks::none;
  }
};

// Of WEFT_ONE_QUEUE: why it changes nothing, or that it could.
std::string of_the_wish(const Outcome& outcome) {
  const Marking& marking = outcome.marking;
  const bool could = marking.one_queue && marking.marks != Marks::none && marking.stream == FillStream::plain &&
                     outcome.answers[Asked::above] == Found::passes;
  return could ? "with WEFT_ONE_QUEUE=above all bubbles are: fill work goes before the training then, for a slice"
               : marking.unheeded;
}

std::string with_version(const char* name, const FoundLibrary& library, const std::string& version) {
  return library.fault.empty() ? std::string(name) + " " + version + ": " + library.path
                               : std::string("no ") + name + ": " + library.fault;
}
// NCCL's from 2.9 on are 10000 major + 100 minor + patch; older ones are too old for Weft.
std::string nccl_version(int version) {
  return std::to_string(version / 10000) + "." + std::to_string(version / 100 % 100) + "." +
         std::to_string(version % 100);
}

// In one line: how the questions were answered, and those that were not by name.
std::string folded(const Answers& answers) {
  std::size_t yes = 0;
  std::string unanswered;
  for (std::size_t i = 0; i < asked_words.size(); ++i) {
    yes += answers.found[i] == Found::passes;
    if (answers.found[i] == Found::unknown) unanswered += std::string(unanswered.empty() ? "" : "; ") + asked_words[i];
  }
  if (!unanswered.empty()) return "no answer to: " + unanswered;
  return std::to_string(yes) + " yes, " + std::to_string(asked_words.size() - yes) + " no (weft check --verbose)";
}

std::string questions(const Answers& answers) {
  std::string text = "beside a running kernel, does one of another stream run that is launched after\n";
  for (std::size_t i = 0; i < asked_words.size(); ++i)
    text += formatted("  %-*s", static_cast<int>(name_width), asked_words[i]) +
            word_of(answers.found[i], answers.why[i]) + "\n";
  return text;
}

std::string text_of(const Machine& machine) {
  return machine.gpu + formatted(", driver %d.%d, %u hardware queue%s%s\n", machine.driver_version / 1000,
                                 machine.driver_version % 1000 / 10, machine.queues, machine.queues == 1 ? "" : "s",
                                 machine.mps ? ", under MPS" : "");
}

// Ten lines at most, but for the questions.
std::string text_of(const Outcome& outcome, bool verbose) {
  const Machine& machine = outcome.answers.machine;
  const std::string indent(8, ' '), more = of_the_wish(outcome);
  std::string text = text_of(machine) + with_version("NCCL", outcome.nccl, nccl_version(outcome.nccl.version)) + "\n" +
                     with_version("CUPTI", outcome.cupti, std::to_string(outcome.cupti.version)) + "\n";
  text += verbose ? questions(outcome.answers) : "questions about hardware queues: " + folded(outcome.answers) + "\n";
  text += "so here " + idle_time(outcome.marking) + "\n" + indent + filling(outcome.marking) + "\n";
  if (!more.empty()) text += indent + more + "\n";
  if (outcome.fault.empty()) text += "kept in " + outcome.path + "\n";
  if (machine.queues == 1) return text;
  return text + "a run decides by the answers that were found with one hardware queue, " +
         (outcome.has_decided ? "which are kept\n"
                              : "of which none are kept: CUDA_DEVICE_MAX_CONNECTIONS=1 weft check\n");
}

nlohmann::ordered_json as_json(const FoundLibrary& library) {
  if (!library.fault.empty()) return {{"version", nullptr}, {"path", nullptr}, {"why", library.fault}};
  return {{"version", library.version}, {"path", library.path}, {"why", ""}};
}

void print_json(const Outcome& outcome) {
  const Machine& machine = outcome.answers.machine;
  nlohmann::ordered_json result{{"gpu", machine.gpu},
                                {"driver_version", machine.driver_version},
                                {"hardware_queues", machine.queues},
                                {"mps", machine.mps},
                                {"nccl", as_json(outcome.nccl)},
                                {"cupti", as_json(outcome.cupti)},
                                {"passes", nlohmann::ordered_json::object()},
                                {"decided", outcome.has_decided},
                                {"marks", name_of(outcome.marking.marks)},
                                {"because", outcome.marking.because},
                                {"can_fill", can_fill(outcome.marking)},
                                {"fillable", name_of(outcome.marking.fillable)},
                                {"fill_stream", name_of(outcome.marking.stream)},
                                {"why", nlohmann::ordered_json::object()}};
  for (std::size_t i = 0; i < asked_names.size(); ++i) {
    nlohmann::ordered_json& value = result["passes"][asked_names[i]];
    if (outcome.answers.found[i] != Found::unknown) value = outcome.answers.found[i] == Found::passes;
    if (!outcome.answers.why[i].empty()) result["why"][asked_names[i]] = outcome.answers.why[i];
  }
  result["kept"] = outcome.fault.empty() ? nlohmann::ordered_json(outcome.path) : nlohmann::ordered_json(nullptr);
  std::printf("%s\n", result.dump(2, ' ', false, nlohmann::json::error_handler_t::replace).c_str());
}

// False: nobody has asked with one queue.
bool take_deciding_answers(const std::string& folder, Answers& answers) {
  std::string fault;
  return answers.machine.queues == 1 || read_deciding_answers(folder, answers.machine, answers, fault);
}

// As the core does.
void refuse_filling(Marking& marking) {
  marking.stream = FillStream::plain;
  marking.fillable = Fillable::nothing;
  marking.unfillable = "under MPS a fault of the fill job's trial would end the training (WEFT_MPS)";
}

Outcome ask(const std::string& folder, const Variables& variables, const Options& options) {
  Outcome outcome;
  outcome.answers = ask_machine(library_directory() / asking_program, variables);
  Answers deciding = outcome.answers;
  outcome.has_decided = take_deciding_answers(folder, deciding);
  outcome.marking = marking_for({variables, variables}, outcome.has_decided ? &deciding : nullptr, Purpose::observe,
                                options.one_queue);
  if (outcome.answers.machine.mps && !options.mps) refuse_filling(outcome.marking);
  outcome.nccl = find_nccl();
  outcome.cupti = find_cupti(options.cupti, variables);
  outcome.path = answers_file(folder, outcome.answers.machine);
  outcome.fault = keep_answers(folder, outcome.answers);
  return outcome;
}

}  // namespace

int check_verb(const Arguments& arguments) {
  bool json = false, verbose = false;
  std::string folder;
  CLI::App app(
      "Asks the GPU, under the present environment, who holds up its hardware queues, and keeps the answers for runs "
      "on the same GPU, driver and environment.\n\n"
      "Takes up to 20 s and a context on the first GPU, which should be idle.",
      "weft check");
  app.add_flag("--json", json, "One JSON object.");
  app.add_flag("--verbose", verbose, "List each question and its answer.");
  app.add_option("--answers", folder, "Folder of the answers, in place of WEFT_ANSWERS.")->type_name("DIR");
  if (const auto code = parse(app, arguments)) return *code;
  const Variables variables = environment_variables();
  const Options options = parse_options(variables).options;
  if (folder.empty()) folder = answers_folder(options.answers, variables);
  const Outcome outcome = ask(folder, variables, options);
  if (json)
    print_json(outcome);
  else
    print_inked(text_of(outcome, verbose));
  if (!outcome.fault.empty()) {
    complain("the answers cannot be kept: " + outcome.fault);
    return check_failed;
  }
  return outcome.is_complete() ? succeeded : check_incomplete;
}

}  // namespace weft::cli
