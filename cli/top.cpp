// weft top: the ranks of a running job on the terminal, as their pages beside the traces show them.
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <optional>
#include <stdexcept>
#include <string>
#include <system_error>
#include <vector>

#include "cli/colours.h"
#include "cli/parse.h"
#include "cli/quantities.h"
#include "cli/top/json.h"
#include "cli/top/screen.h"
#include "cli/top/terminal.h"
#include "runner/options/variables.h"
#include "trace/export/number_ranges.h"
#include "trace/live/live_run.h"
#include "trace/live/read_live.h"
#include "trace/read/printable.h"
#include "trace/read/same_file.h"

namespace weft::cli {
namespace {

namespace fs = std::filesystem;

constexpr Duration default_interval = std::chrono::seconds(1), shortest_interval = std::chrono::milliseconds(100);
constexpr std::size_t width_of_no_terminal = 200;

struct Wanted {
  std::vector<std::string> directories;
  bool once = false, json = false;
  std::optional<Duration> interval;
  TopView view;
};

// When a page there was written last; of a folder without one the first moment of all.
fs::file_time_type newest_page_in(const fs::path& folder) {
  fs::file_time_type newest = fs::file_time_type::min();
  std::error_code error;
  for (fs::directory_iterator entry(folder, error); !error && entry != fs::directory_iterator();
       entry.increment(error)) {
    std::error_code unreadable;
    const fs::file_time_type time = entry->last_write_time(unreadable);
    if (!unreadable && entry->path().extension() == live_extension) newest = std::max(newest, time);
  }
  return newest;
}

// Of the folders "weft-..." here, which are those of runs whose output nobody has named, the one with the newest page.
std::optional<std::string> newest_folder_here() {
  std::optional<std::string> newest;
  fs::file_time_type time = fs::file_time_type::min();
  std::error_code error;
  for (fs::directory_iterator entry(".", error); !error && entry != fs::directory_iterator(); entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    std::error_code unreadable;
    if (!name.starts_with("weft-") || !entry->is_directory(unreadable)) continue;
    const fs::file_time_type page = newest_page_in(entry->path());
    if (page > time) newest = name, time = page;
  }
  return newest;
}

// Where nobody has named a folder, decided anew at each look: a run may begin meanwhile.
std::vector<std::string> folders_of(const Wanted& wanted) {
  if (!wanted.directories.empty()) return wanted.directories;
  const Variables variables = environment_variables();
  const auto output = variables.find("WEFT_OUTPUT");
  if (output != variables.end() && !output->second.empty() && output->second.find('%') == std::string::npos)
    return {output->second};
  const std::optional<std::string> newest = newest_folder_here();
  return newest ? std::vector<std::string>{*newest} : std::vector<std::string>{};
}

std::string place_of(const std::vector<std::string>& folders) {
  if (folders.empty()) return "(no folder weft-* with a page here)";
  return printable(folders.front()) +
         (folders.size() > 1 ? " and " + std::to_string(folders.size() - 1) + " more" : "");
}

std::string no_pages(const std::vector<std::string>& folders) {
  if (folders.empty())
    return "there is no folder weft-* with a page (rank*.live) here; 'weft top DIR' names the output of a run";
  return "no rank has a page (rank*.live) in " + place_of(folders) +
         ": no NCCL communicator was opened there yet, the run has WEFT_LIVE=off, or its Weft is older; 'weft "
         "summary' " +
         "reads traces";
}

std::size_t width_of_stdout() {
  winsize size{};
  const bool is_known = ::isatty(STDOUT_FILENO) == 1 && ::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0;
  return is_known && size.ws_col > 0 ? size.ws_col : width_of_no_terminal;
}

int print_once(const Wanted& wanted) {
  const std::vector<std::string> folders = folders_of(wanted);
  const LiveRun run = folders.empty() ? LiveRun{} : read_live_run(folders, observer_here());
  if (run.ranks.empty()) {
    for (const std::string& note : run.notes) inform("note: " + note);
    complain(no_pages(folders));
    return failed;
  }
  if (!wanted.view.ranks.empty() && rows_of(run, wanted.view).empty()) {
    const auto rank = [](const LiveRank& each) { return each.rank(); };
    complain("none of the wanted ranks has a page here; the last one is rank " +
             std::to_string(std::ranges::max(run.ranks, {}, rank).rank()));
    return failed;
  }
  const std::string text = wanted.json ? top_json(run, wanted.view)
                                       : table_of(run, wanted.view, {place_of(folders), false}, width_of_stdout());
  std::fputs(text.c_str(), stdout);
  return succeeded;
}

// A folder that is not there yet may come.
LiveRun look(const std::vector<std::string>& folders) {
  try {
    return folders.empty() ? LiveRun{} : read_live_run(folders, observer_here());
  } catch (const std::runtime_error& error) {
    LiveRun none;
    none.notes.emplace_back(error.what());
    return none;
  }
}

int watch(Wanted& wanted) {
  using Clock = std::chrono::steady_clock;
  const Duration interval = wanted.interval.value_or(default_interval);
  TopTerminal terminal(has_colours(stdout));
  TopView& view = wanted.view;
  std::vector<std::string> folders = folders_of(wanted);
  LiveRun run = look(folders);
  Clock::time_point next = Clock::now() + interval;
  while (!terminal.is_asked_to_end()) {
    if (Clock::now() >= next) {
      if (!view.paused) run = look(folders = folders_of(wanted));
      next = Clock::now() + interval;
    }
    terminal.show(screen_of(run, view, {place_of(folders), terminal.is_utf8()}, terminal.size()));
    const TopPress press = terminal.wait_for_key(std::max(Duration{}, Duration(next - Clock::now())));
    if (press.key == TopKey::none) continue;
    const std::size_t rows = rows_of(run, view).size();
    if (!take(view, press, rows, page_of(run, terminal.size()))) break;
  }
  return succeeded;
}

void add_options(CLI::App& app, Wanted& wanted) {
  app.add_option(
         "DIR", wanted.directories,
         "Folder of a run's traces [WEFT_OUTPUT, or the newest weft-* here]. Several where each rank has its own.")
      ->type_name("");
  app.add_flag("--once", wanted.once, "Print the table once, as plain text, and end.");
  app.add_flag("--json", wanted.json, "Print one JSON object, and end.");
  app.add_option_function<std::string>(
         "--interval",
         [&](const std::string& text) {
           wanted.interval = parse_duration(text);
           if (!wanted.interval || *wanted.interval < shortest_interval)
             throw CLI::ValidationError("'" + text + "' is no time of 100 ms or more; 2s is");
         },
         "Between two looks [1s]. Ranks write their numbers once a second.")
      ->type_name("TIME");
  app.add_option_function<std::string>(
         "--ranks",
         [&](const std::string& text) {
           const auto ranks = parse_number_ranges(text);
           if (!ranks) throw CLI::ValidationError("'" + text + "' is no list of ranks; 0,4-7 is");
           wanted.view.ranks = *ranks;
         },
         "Only these: 0,4-7.")
      ->type_name("LIST");
  app.add_option_function<std::string>(
         "--sort",
         [&](const std::string& text) {
           const auto sort = top_sort_named(text);
           if (!sort) throw CLI::ValidationError("'" + text + "' is none of rank, idle, filled, slowdown, iteration");
           wanted.view.sort = *sort;
         },
         "By rank, idle, filled, slowdown or iteration [rank].")
      ->type_name("KEY");
  app.add_flag("--reverse", wanted.view.reverse, "The other way round.");
}

}  // namespace

int top_verb(const Arguments& arguments) {
  Wanted wanted;
  CLI::App app(
      "Shows the ranks of a running job: iterations, idle time and why, filling and its price.\n\n"
      "The numbers come from a page that each rank writes beside its trace (rank*.live), so they can be seen from any "
      "machine that sees the folder. Keys: q ends it, h shows the others. docs/top.md says what the columns mean.",
      "weft top");
  add_options(app, wanted);
  if (const auto code = parse(app, arguments)) return *code;
  wanted.directories = each_once(wanted.directories);
  if (wanted.once || wanted.json) {
    if (!wanted.interval) return print_once(wanted);
    complain("--interval does not go with --once and --json, which print one moment");
    return wrong_usage;
  }
  if (::isatty(STDIN_FILENO) == 1 && ::isatty(STDOUT_FILENO) == 1) return watch(wanted);
  complain(
      "input and output are not both a terminal; 'weft top --once' prints the table, 'weft top --json' the numbers");
  return wrong_usage;
}

}  // namespace weft::cli
