// weft run: checks what is asked for, sets the variables, and becomes the command. Prints nothing on stdout, but for
// the variables with --print-env.
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <map>
#include <stdexcept>
#include <string_view>
#include <system_error>

#include "cli/feeder_process.h"
#include "cli/fill_spec.h"
#include "cli/locate.h"
#include "cli/parse.h"
#include "cli/print_env.h"
#include "feeder/queue/job_queue.h"
#include "feeder/redis/address.h"
#include "runner/options/launcher.h"
#include "runner/options/nearest.h"
#include "runner/options/options.h"
#include "runner/options/output_path.h"
#include "runner/options/quantity.h"
#include "runner/options/queue_name.h"
#include "trace/read/below.h"

namespace weft::cli {
namespace {

struct Request {
  std::map<std::string, std::string> flags;    // what the command line has for each option, by its name in the table
  std::map<std::string, std::string> options;  // those that are asked for; an empty value: as if it were not set
  std::vector<std::string> settings;           // NAME=VALUE of --set
  bool observe = false, validate = false, nvtx = false, strict = false, quiet = false;
  std::string print_env;  // the form in which the variables are printed, in place of running anything; "": they are not
  std::vector<std::string> command;

  const std::string& asked(const std::string& name) const {
    static const std::string nothing;
    const auto found = options.find(name);
    return found == options.end() ? nothing : found->second;
  }
};

class UsageError : public std::runtime_error {
  using std::runtime_error::runtime_error;
};

// By its variable or by its name, in any case and with '-' for '_'.
const OptionInfo* find_option(std::string name) {
  for (char& c : name) c = c == '-' ? '_' : static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  for (const OptionInfo& option : option_table()) {
    std::string own = option.name;
    for (char& c : own) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
    if (name == option.variable || name == own) return &option;
  }
  return nullptr;
}

std::string no_option(std::string name) {
  std::ranges::replace(name, '-', '_');
  std::vector<std::string> names;
  for (const OptionInfo& option : option_table()) names.emplace_back(option.name);
  return "there is no such option" + did_you_mean(nearest(name, names)) + "; 'weft config' lists them";
}

void describe(CLI::App& app, Request& request) {
  app.prefix_command();
  for (const OptionInfo& option : option_table()) {
    if (option.name == std::string_view("validate")) continue;  // a flag without a value, below
    app.add_option(flag_of(option), request.flags[option.name], help_of(option))
        ->default_str(option.fallback)
        ->type_name(value_name_of(option))
        ->group(option.standing == Standing::stable     ? "Options"
                : option.standing == Standing::advanced ? advanced_options
                                                        : "")  // not in the help
        ->allow_extra_args(false);
  }
  app.add_flag("--validate", request.validate,
               "Keep CUPTI's records as well, for weft validate. The same as --set validate=on.");
  app.add_flag("--nvtx", request.nvtx, "Let NVTX ranges name call sites. Implies --call-sites on.");
  app.add_flag("--observe", request.observe, "The same as --mode observe.");
  app.add_option("--set", request.settings, "Set an option by its name or variable. May be repeated.")
      ->type_name("NAME=VALUE")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
      ->allow_extra_args(false);
  app.add_option("--print-env", request.print_env,
                 "Print the variables for another launcher; run nothing. docs/launchers.md has examples. " +
                     env_forms_help() + ".")
      ->type_name("[=FORM]")
      ->expected(1)
      ->check(CLI::IsMember(env_forms()));
  app.add_flag("--strict", request.strict, "Refuse to run with a malformed or unknown variable.");
  app.add_flag("-q,--quiet", request.quiet, "Do not say where the traces will be.");
}

// In front of "--", which CLI11 would take for the value. A folder of that name is "--output=--".
void refuse_missing_value(const std::string& flag) {
  const OptionInfo* const option = find_option(flag.substr(flag.find_first_not_of('-')));
  const bool is_folder = option != nullptr && option->type == std::string_view("Path");
  throw UsageError("'" + flag + "' needs a " + (is_folder ? "folder" : "value") + ", and '--' follows");
}

// CLI11 would take the next word, "--" or the command, for the value of "--fill=" with nothing behind it.
Arguments with_empty_values(const CLI::App& app, Arguments arguments) {
  if (asks_for_description(arguments)) return arguments;
  for (std::size_t i = 0; i < arguments.size() && arguments[i].starts_with("-") && arguments[i] != "--"; ++i) {
    if (arguments[i] == "--print-env") arguments[i] += "=" + env_forms().front();
    const std::size_t equals = arguments[i].find('=');
    const CLI::Option* const option = app.get_option_no_throw(arguments[i].substr(0, equals));
    const bool takes_value = option != nullptr && option->get_expected_max() > 0;
    if (!takes_value || (equals != std::string::npos && equals + 1 < arguments[i].size())) continue;
    const bool is_last = i + 1 == arguments.size();
    if (equals == std::string::npos && !is_last && arguments[i + 1] == "--") refuse_missing_value(arguments[i]);
    if (equals != std::string::npos) {
      arguments[i].pop_back();
      arguments.insert(arguments.begin() + static_cast<std::ptrdiff_t>(i) + 1, "");
    }
    ++i;  // its value
  }
  return arguments;
}

void take_command(const CLI::App& app, Request& request) {
  request.command = app.remaining();
  if (!request.command.empty() && request.command.front() == "--")
    request.command.erase(request.command.begin());
  else if (!request.command.empty() && request.command.front().starts_with("-"))
    throw UsageError(unknown_flag_text(app, request.command.front()));
  if (!request.print_env.empty() && !request.command.empty())
    throw UsageError("--print-env runs nothing, and '" + request.command.front() + "' is a command");
  if (request.command.empty() && request.print_env.empty())
    throw UsageError("'weft run' needs a command: weft run [OPTIONS] -- COMMAND");
}

bool is_mode(const std::string& text, const char* mode) {
  return lower(text) == mode;
}

// All ways to ask for an option.
void merge_settings(const CLI::App& app, Request& request) {
  for (const auto& [name, value] : request.flags)
    if (app.get_option(flag_of(*find_option(name)))->count() > 0) request.options[name] = value;
  for (const std::string& setting : request.settings) {
    const std::size_t equals = setting.find('=');
    if (equals == std::string::npos)
      throw UsageError("--set " + (setting.empty() ? "''" : setting) + ": NAME=VALUE is wanted");
    const OptionInfo* const option = find_option(setting.substr(0, equals));
    if (option == nullptr) throw UsageError("--set " + setting + ": " + no_option(setting.substr(0, equals)));
    request.options[option->name] = setting.substr(equals + 1);
  }
  if (request.observe) request.options["mode"] = "observe";
  // A job of the environment gives way; two wishes of one command line contradict each other.
  for (const char* const work : {"fill", "queue"})
    if (is_mode(request.asked("mode"), "observe") && !request.asked(work).empty())
      throw UsageError("--" + std::string(work) + " " + request.asked(work) + " and " +
                       (request.observe ? "--observe" : "mode observe") +
                       " contradict each other: bubbles are filled, or only observed");
  if (request.nvtx) request.options.try_emplace("call_sites", "on");
  if (app.get_option("--validate")->count() > 0) request.options["validate"] = request.validate ? "on" : "off";
}

// The variables of the environment as they will be: what is asked for wins over what is there.
Variables with_request(const Request& request, Variables variables) {
  for (const auto& [name, value] : request.options) variables[find_option(name)->variable] = value;
  // A job on the command line is meant to run, whatever an older WEFT=observe says; WEFT=off stays off.
  const bool has_work = !request.asked("fill").empty() || !request.asked("queue").empty();
  if (has_work && request.asked("mode").empty() && !is_mode(variables["WEFT"], "off")) variables["WEFT"] = "fill";
  return variables;
}

// Says what is wrong, once in a job: not on the other ranks when the command stands behind a launcher, and
// WEFT_WARNED tells what runs below that it was said.
void report(const ParsedOptions& parsed, bool strict, Variables& variables) {
  if (parsed.warnings.empty()) return;
  if (strict) throw UsageError(parsed.mistakes.front());
  if (!parsed.options.warned && launcher_rank(variables).value_or(0) == 0)
    for (const std::string& warning : parsed.warnings) warn(warning);
  variables["WEFT_WARNED"] = "on";
}

// A path may need a variable that a launcher below sets for its ranks. There the core looks whether it is set.
Variables with_ranks_to_come(const Variables& present) {
  Variables variables = present;
  for (const OptionInfo& option : option_table()) {
    if (option.type != std::string_view("Path")) continue;
    for (const std::string& name : sequences_in(variables[option.variable]).variables)
      if (may_come_from_launcher(name, present)) variables.emplace(name, "of the rank");
  }
  return variables;
}

// One job id for all ranks below. Under a launcher the ranks share its process; else they will share this one, as it
// becomes the command.
std::string choose_job(const Options& options, const Variables& variables) {
  std::string job = job_id(options.job, variables);
  if (!launcher_rank(variables) && job == std::to_string(::getppid())) job = std::to_string(::getpid());
  return job;
}

// As far as it is known here: sequences of a rank stay in it.
std::string output_folder(const Options& options, const Variables& variables) {
  OutputNames names;
  names.job = options.job;
  names.variables = &variables;
  return expand_output(options.output, names);
}

// The training would run to its end and leave no trace.
void refuse_file_for_traces(const std::string& folder) {
  std::error_code error;
  for (std::filesystem::path path = folder; path.has_relative_path(); path = path.parent_path())
    if (std::filesystem::exists(path, error) && !std::filesystem::is_directory(path, error))
      throw UsageError("traces cannot be written to " + folder + ": " + path.string() + " is no folder");
}

bool has_traces(const std::string& folder) {
  std::error_code error;
  for (std::filesystem::directory_iterator entry(folder, error);
       !error && entry != std::filesystem::directory_iterator(); entry.increment(error))
    if (is_trace_name(entry->path().filename().string())) return true;
  return false;
}

void say_where(const Options& options, const Variables& variables) {
  if (launcher_rank(variables).value_or(0) != 0) return;
  if (options.mode == Mode::off) {
    inform("WEFT=off: the command runs as if Weft were not there");
    return;
  }
  // This process becomes the command: nobody is there afterwards to say that there are none.
  const std::string folder = output_folder(options, variables);
  inform("traces will be in " + folder + "/ if the command uses NCCL" +
         (has_traces(folder) ? "; some are there already, and 'weft summary' takes the newest run" : ""));
}

void set_variable(const std::string& name, const std::string& value) {
  if (value.empty())
    ::unsetenv(name.c_str());
  else if (::setenv(name.c_str(), value.c_str(), 1) != 0)
    throw std::runtime_error(name + " cannot be set");
}

// As the shell names it, which other hosts may know better than what its links lead to; empty: it is gone.
std::string current_folder(const Variables& variables) {
  std::error_code error;
  const auto named = variables.find("PWD");
  if (named != variables.end() && named->second.starts_with('/') &&
      std::filesystem::equivalent(named->second, ".", error))
    return named->second;
  return std::filesystem::current_path(error).string();
}

// A folder of this shell's: the command may go to another one before Weft opens its files. The value of a variable may
// begin with '/'.
std::string from_here(const std::string& folder, const Variables& variables) {
  std::string here = current_folder(variables);
  if (folder.empty() || folder.front() == '/' || folder.starts_with("%q{") || here.empty()) return folder;
  here += "/";
  for (std::size_t at = 0; (at = here.find('%', at)) != std::string::npos; at += 2) here.insert(at, 1, '%');
  return here + folder;
}

// Made where there is none, and that is said: jobs may come later, and so may a server. As all hosts know it.
std::string checked_queue(const std::string& name, const Variables& variables) {
  const std::string queue = is_redis(name) ? name : from_here(name, variables);
  try {
    const auto opened = open_queue(queue, WhereNone::make);
    if (opened->is_new())
      warn("there was no queue in " + queue + "; an empty one was made there, for jobs that come later");
    else if (opened->ids(JobState::waiting).empty())
      inform("no job waits yet in the queue " + shown_queue(queue));
  } catch (const NotNow& error) {
    warn("the queue gives no jobs before it answers: " + std::string(error.what()));
  }
  return queue;
}

// Nobody would read or write them. Those of the environment may be meant for other commands.
void refuse_files_without_job(const Request& request, const Options& options) {
  if (options.mode == Mode::off || !options.fill.empty()) return;
  for (const std::string file : {"input", "results", "weights"})
    if (!request.asked(file).empty())
      throw UsageError("--" + file + " " + request.asked(file) + ": it is for a fill job, and " +
                       (options.queue.empty()
                            ? "there is none (--fill JOB)"
                            : "jobs of a queue have their own (weft jobs submit JOB --" + file + ")"));
}

int become(const std::vector<std::string>& command) {
  std::vector<char*> values;
  for (const std::string& word : command) values.push_back(const_cast<char*>(word.c_str()));
  values.push_back(nullptr);
  ::execvp(values.front(), values.data());
  const int error = errno;
  complain("cannot run '" + command.front() + "': " + std::strerror(error));
  return error == ENOENT ? run_not_found : run_not_runnable;
}

// It lives as long as the command does, and there is none.
[[noreturn]] void refuse_without_feeder() {
  throw UsageError(
      "--print-env: a queue, and a job that reads files, need weft-feeder beside the ranks, which only 'weft run' "
      "starts: use 'weft run -- COMMAND' on each host, or --feeder FOLDER where one runs");
}

// Each copy of NVTX in a process asks the library that the variable names; one tool can have it.
void offer_nvtx(SetVariables& set) {
  constexpr const char* name = "NVTX_INJECTION64_PATH";
  const char* const other = std::getenv(name);
  if (other != nullptr && *other != '\0')
    warn(std::string(name) + " is set, so another tool has NVTX: call sites have no ranges");
  else
    set.emplace_back(name, (library_directory() / "libweft-nvtx.so").string());
}

// The additions to the environment of the command. A variable that is set to nothing counts as not set.
SetVariables variables_to_set(const Variables& variables, const Variables& before, bool nvtx) {
  SetVariables set;
  for (const OptionInfo& option : option_table())
    if (const auto found = variables.find(option.variable);
        found != variables.end() && (!found->second.empty() || before.contains(found->first)))
      set.emplace_back(found->first, found->second);
  set.emplace_back("LD_PRELOAD", prepended(preloadable_library(), std::getenv("LD_PRELOAD")));
  if (nvtx) offer_nvtx(set);
  return set;
}

int run(const Request& request) {
  const Variables before = environment_variables();
  Variables variables = with_request(request, before);
  ParsedOptions parsed = parse_options(with_ranks_to_come(variables));
  bool beside_feeder = false;
  report(parsed, request.strict, variables);
  if (request.nvtx && !parsed.options.call_sites)
    throw UsageError("--nvtx and --call-sites " + request.asked("call_sites") +
                     " contradict each other: ranges are part of call sites");
  refuse_files_without_job(request, parsed.options);
  if (parsed.options.mode == Mode::fill) {
    const std::string& queue = parsed.options.queue;
    if (parsed.options.fill.empty() && queue.empty())
      throw UsageError("mode fill needs a fill job: --fill PATH[:ARGUMENTS], or --queue QUEUE");
    const JobFiles files{parsed.options.input, parsed.options.results, parsed.options.weights};
    const CheckedFill fill = checked_fill_spec(parsed.options.fill, parsed.options.memory, library_directory(), files);
    variables["WEFT_FILL"] = fill.spec;
    beside_feeder = (fill.needs_feeder || !queue.empty()) && parsed.options.feeder.empty();
    if (beside_feeder && !request.print_env.empty()) refuse_without_feeder();
    if (!queue.empty()) variables["WEFT_QUEUE"] = checked_queue(queue, variables);
    for (const char* const file : {"WEFT_INPUT", "WEFT_RESULTS", "WEFT_WEIGHTS"})
      if (std::string& path = variables[file]; !path.empty()) path = std::filesystem::absolute(path).string();
  }
  variables["WEFT_JOB"] = parsed.options.job = choose_job(parsed.options, variables);
  for (const char* const folder : {"output", "checkpoint"})
    if (const std::string& asked = request.asked(folder); !asked.empty())
      variables[find_option(folder)->variable] = from_here(asked, variables);
  if (parsed.options.mode != Mode::off && !request.asked("output").empty() && request.print_env.empty())
    refuse_file_for_traces(output_folder(parsed.options, variables));
  if (beside_feeder) variables["WEFT_FEEDER"] = start_feeder_beside(library_directory() / "weft-feeder");
  const SetVariables to_set = variables_to_set(variables, before, request.nvtx);
  if (!request.print_env.empty()) {
    std::fputs(env_text(request.print_env, to_set).c_str(), stdout);
    return succeeded;
  }
  for (const auto& [name, value] : to_set) set_variable(name, value);
  if (!request.quiet) say_where(parsed.options, variables);
  return become(request.command);
}

}  // namespace

int run_verb(const Arguments& arguments) {
  Request request;
  CLI::App app(
      "Runs a command with Weft preloaded. Options that are not given come from the WEFT variables of the "
      "environment.\n\n"
      "The command may end with one of the exit codes below, too: a line 'weft: error: ...' on stderr says that it "
      "was not run.",
      "weft run");
  describe(app, request);
  try {
    if (const auto code = parse(app, with_empty_values(app, arguments))) return *code;
    take_command(app, request);
    merge_settings(app, request);
    return run(request);
  } catch (const UsageError& error) {
    complain(error.what());
    return run_wrong_usage;
  }
}

}  // namespace weft::cli
