// The weft command: finds the verb and calls it. Exit codes: exit_codes.def.
#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <exception>
#include <string>
#include <vector>

#include "cli/manual.h"
#include "cli/parse.h"
#include "cli/verb.h"
#include "runner/options/nearest.h"

namespace weft::cli {
namespace {

int help_verb(const Arguments& arguments);

constexpr std::array verbs{
    Verb{"run", "run a command with Weft preloaded", &run_verb},
    Verb{"lib", "print the path of libweft.so, for LD_PRELOAD", &lib_verb},
    Verb{"config", "list every option: value, default, source, meaning", &config_verb},
    Verb{"check", "ask the GPU what its driver and environment allow", &check_verb},
    Verb{"try", "run a fill job alone, and say whether a training would", &try_verb},
    Verb{"new-job", "write a small project for a fill job of your own", &new_job_verb},
    Verb{"jobs", "fill jobs that wait until trainings have done them", &jobs_verb},
    Verb{"top", "watch the ranks of a running job", &top_verb},
    Verb{"summary", "add up the traces of all ranks", &summary_verb},
    Verb{"report", "one HTML file that shows a run: where time is lost, and why", &report_verb},
    Verb{"diff", "compare two runs, with intervals", &diff_verb},
    Verb{"export", "write the traces for Perfetto and other tools", &export_verb},
    Verb{"validate", "hold the traces against what CUPTI recorded", &validate_verb},
    Verb{"estimate", "from an observed run: what filling it would have given", &estimate_verb},
    Verb{"simulate", "fill a pipeline in virtual time: how much, at which cost", &simulate_verb},
    Verb{"replay", "the recording of a run through the decisions of this Weft", &replay_verb},
    Verb{"completion", "the script for completion in bash, zsh or fish", &completion_verb},
    Verb{"version", "print the version", &version_verb},
    Verb{help_name, "the long page of a verb; or: weft help exit-codes", &help_verb},
};

const Verb* find_verb(const std::string& name) {
  const auto found = std::find_if(verbs.begin(), verbs.end(), [&](const Verb& verb) { return name == verb.name; });
  return found == verbs.end() ? nullptr : &*found;
}

int list_verbs(std::FILE* out) {
  std::fputs("Usage: weft VERB ...\nFills the bubbles of pipeline-parallel training.\n\n", out);
  for (const Verb& verb : verbs) std::fprintf(out, "  %-12s%s\n", verb.name, verb.summary);
  std::fputs("\nFirst: weft run -- COMMAND. More: weft VERB --help, weft help VERB\n", out);
  return succeeded;
}

// `names`: of what else may have been meant.
int unknown_verb(const std::string& name, std::vector<std::string> names = {}) {
  for (const Verb& verb : verbs) names.emplace_back(verb.name);
  complain("'" + name + "' is not a verb" + did_you_mean(nearest(name, names)) + "; 'weft --help' lists them");
  return wrong_usage;
}

// The long page of a verb, or of one of its commands: weft help jobs submit. The flag stands in front: behind it
// parse() takes all words for names of commands, so that none of them is run.
int help_verb(const Arguments& arguments) {
  if (arguments.empty() || arguments.front() == help_name || arguments.front().starts_with("-"))
    return list_verbs(stdout);
  if (arguments.front() == exit_codes_name && arguments.size() == 1) {
    std::fputs(exit_codes_page().c_str(), stdout);
    return succeeded;
  }
  if (arguments.front() == exit_codes_name) {
    complain("'weft help exit-codes' takes no more words; '" + arguments[1] + "' is one");
    return wrong_usage;
  }
  const Verb* const verb = find_verb(arguments.front());
  if (verb == nullptr) return unknown_verb(arguments.front(), {exit_codes_name});
  Arguments of_verb(arguments);
  of_verb.front() = long_help_flag;
  return verb->run(of_verb);
}

int dispatch(const Arguments& arguments) {
  if (arguments.empty()) {
    complain("a verb is missing; 'weft --help' lists them");
    return wrong_usage;
  }
  const std::string& name = arguments.front();
  if (name == "--help" || name == "-h") return list_verbs(stdout);
  if (name == "--version") return version_verb({});
  const Arguments behind(arguments.begin() + 1, arguments.end());
  if (name == "__man") return print_man_page(verbs, behind);
  if (name == "__complete") return print_candidates(verbs, behind);
  const Verb* const verb = find_verb(name);
  return verb == nullptr ? unknown_verb(name) : verb->run(behind);
}

// Of whichever verb: a pipe or a redirection must not take half of an answer for all of it.
int with_all_written(int code) {
  if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return code;
  complain(std::string("the output cannot be written: ") + std::strerror(errno));
  return failed;
}

}  // namespace

}  // namespace weft::cli

int main(int count, char** values) {
  try {
    return weft::cli::with_all_written(weft::cli::dispatch({values + std::min(count, 1), values + count}));
  } catch (const std::exception& error) {
    weft::cli::complain(error.what());
    return weft::cli::failed;
  }
}
