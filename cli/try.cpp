// weft try: one fill job alone, without a training: made ready as in its trial, timed, and run for some units. Prints
// its memory, its unit, its longest kernels and whether and why a training would refuse it.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "cli/fill_spec.h"
#include "cli/locate.h"
#include "cli/parse.h"
#include "cli/quantities.h"
#include "cli/tried_job.h"
#include "runner/options/options.h"
#include "trace/formatted.h"

namespace weft::cli {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t most_kernels = 8;  // that are listed

std::string length(double nanoseconds) {
  if (nanoseconds >= 1e9) return formatted("%.2f s", nanoseconds / 1e9);
  return nanoseconds >= 1e6 ? formatted("%.2f ms", nanoseconds / 1e6) : formatted("%.0f us", nanoseconds / 1e3);
}

std::string size(const Json& bytes) {
  const double count = bytes.get<double>();
  return count < (1 << 20) ? formatted("%.0f KiB", std::ceil(count / (1 << 10)))
                           : formatted("%.1f MiB", count / (1 << 20));
}

// Nodes of the same name and grid.
struct Kind {
  std::string name;
  std::uint64_t blocks = 0, count = 0;
  double longest = 0;
};

std::vector<Kind> kinds_of(const Json& nodes) {
  std::map<std::pair<std::string, std::uint64_t>, Kind> kinds;
  for (const Json& node : nodes) {
    std::string name = node["name"];
    if (name.empty()) name = "(" + node["kind"].get<std::string>() + ")";
    const auto blocks = node["blocks"].get<std::uint64_t>();
    Kind& found = kinds[{name, blocks}];
    found.name = name;
    found.blocks = blocks;
    ++found.count;
    found.longest = std::max(found.longest, node["alone"].get<double>());
  }
  std::vector<Kind> sorted;
  for (const auto& [key, kind] : kinds) sorted.push_back(kind);
  std::ranges::sort(sorted, std::greater{}, &Kind::longest);
  return sorted;
}

// How many nodes take how long, in steps of the slices that are made of them.
std::string histogram(const Json& nodes, double slice) {
  const std::array<double, 4> limits{slice / 12, slice / 4, slice, 16 * slice};
  std::array<std::size_t, 5> counts{};
  for (const Json& node : nodes)
    ++counts[static_cast<std::size_t>(std::ranges::lower_bound(limits, node["alone"].get<double>()) - limits.begin())];
  std::string text;
  for (std::size_t step = 0; step < counts.size(); ++step) {
    if (counts[step] == 0) continue;
    const std::string limit = length(limits[std::min(step, limits.size() - 1)]);
    text += (text.empty() ? "" : ", ") + std::to_string(counts[step]) + (step < limits.size() ? " up to " : " over ") +
            limit;
  }
  return text;
}

std::string confinement(const Json& report) {
  const std::string how = report["confinement"];
  if (how == "job") return "by its own small grids";
  if (how == "green")
    return "by a green context of " + std::to_string(report["multiprocessors"].get<int>()) + " multiprocessors";
  return "by nothing: " + report["why_not_green"].get<std::string>();
}

std::string passes_of(const Json& report) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.1f", report["passes"].get<double>() / report["units"].get<double>());
  return text.data();
}

void print_units(const Json& report) {
  const auto units = report["units"].get<std::uint64_t>(), right = report["units_right"].get<std::uint64_t>();
  const auto wrong = report["units_wrong"].get<std::uint64_t>();
  std::printf("units     %llu run, %llu right, %llu wrong, %llu not checked; the quickest took %s\n",
              static_cast<unsigned long long>(units), static_cast<unsigned long long>(right),
              static_cast<unsigned long long>(wrong), static_cast<unsigned long long>(units - right - wrong),
              length(report["unit_seen"].get<double>()).c_str());
}

void print_text(const TriedJob& tried, const Options& options) {
  if (tried.report.is_object()) {
    const Json& report = tried.report;
    const double slice = static_cast<double>(options.slice.count()), longest = report["longest"].get<double>();
    std::printf("job       %s%s\n", report["job"].get<std::string>().c_str(),
                report["keeps_progress"].get<bool>() ? ", keeps its progress" : ", keeps no progress");
    std::printf("memory    %s of %s on the device, %s pinned\n", size(report["memory"]).c_str(),
                size(report["memory_cap"]).c_str(), size(report["pinned"]).c_str());
    if (report["movable"] != 0)
      std::printf("          %s of it may go to the host between two bubbles\n", size(report["movable"]).c_str());
    std::printf("ready in  %s\n", length(report["preparation"].get<double>()).c_str());
    std::printf("unit      %s in %zu slices of at most %s, where kernels are not longer\n",
                length(report["unit"].get<double>()).c_str(), report["slices"].get<std::size_t>(),
                length(slice).c_str());
    if (report["passes"] > report["units"]) std::printf("passes    %s of it for a unit\n", passes_of(report).c_str());
    print_units(report);
    std::printf("confined  %s\n", confinement(report).c_str());
    std::printf("lengths   of %zu kernels, copies and sets: %s\n", report["nodes"].size(),
                histogram(report["nodes"], slice).c_str());
    std::vector<Kind> kinds = kinds_of(report["nodes"]);
    if (kinds.size() > most_kernels) kinds.resize(most_kernels);
    for (const Kind& kind : kinds)
      std::printf("  %9s %6llu x %6llu blocks  %s\n", length(kind.longest).c_str(),
                  static_cast<unsigned long long>(kind.count), static_cast<unsigned long long>(kind.blocks),
                  kind.name.c_str());
    if (longest > slice)
      std::printf(
          "note      a kernel or copy takes %s, more than WEFT_SLICE: it runs only in bubbles that are expected "
          "to outlast it\n",
          length(longest).c_str());
  }
  if (tried.fault.empty())
    std::puts("sound     a training would run it");
  else
    std::printf("refused   %s\n", tried.fault.c_str());
}

void print_json(const TriedJob& tried) {
  Json result{{"sound", tried.fault.empty()}, {"fault", tried.fault}};
  if (tried.report.is_object()) result.update(tried.report);
  std::printf("%s\n", result.dump(2, ' ', false, Json::error_handler_t::replace).c_str());
}

struct Flags {
  std::string job;
  std::map<std::string, std::string> values;  // of options, by their variable; "": as in the environment
  bool json = false;
  TryRequest request;
};

void describe(CLI::App& app, Flags& flags) {
  app.add_option("JOB", flags.job, "FILE[:ARGUMENTS], or the name of a job of Weft's (docs/fill-jobs.md).")
      ->type_name("")
      ->required();
  app.add_option("--units", flags.request.units, "Units to run and check.")
      ->type_name("N")
      ->check(CLI::Range(1, 1000000));
  app.add_option("--device", flags.request.device, "Number of the GPU.")->type_name("N")->check(CLI::Range(0, 1023));
  app.add_option("--limit", duration_into(flags.request.limit), "Time after which it counts as hung.")
      ->type_name("DURATION")
      ->default_str("60s");
  for (const char* const name : {"memory", "slice", "reserve_sms", "confine", "input", "weights"})
    for (const OptionInfo& option : option_table())
      if (option.name == std::string_view(name))
        app.add_option(flag_of(option), flags.values[option.variable], help_of(option))
            ->default_str(option.fallback)
            ->type_name(value_name_of(option));
  app.add_flag("--json", flags.json, "One JSON object, with every kernel, copy and set of the unit.");
}

}  // namespace

int try_verb(const Arguments& arguments) {
  Flags flags;
  CLI::App app(
      "Runs a fill job alone on a GPU that is idle, without any training, and checks it as its trial does.\n\n"
      "Shown are memory, time, slices, confinement, longest kernels and results. Options of Weft hold as in the "
      "environment.",
      "weft try");
  describe(app, flags);
  if (const auto code = parse(app, arguments)) return *code;
  Variables variables = environment_variables();
  for (const auto& [variable, value] : flags.values)
    if (!value.empty()) variables[variable] = value;
  const ParsedOptions parsed = parse_options(variables);
  if (!parsed.mistakes.empty()) {
    complain(parsed.mistakes.front());
    return wrong_usage;
  }
  const std::filesystem::path libraries = library_directory();
  const JobFiles files{parsed.options.input, "", parsed.options.weights};
  const std::string spec = checked_fill_spec(flags.job, parsed.options.memory, libraries, files).spec;
  if (flags.job.starts_with('@') || spec.find(';') != std::string::npos) {
    complain("weft try takes one job, not a list or a file of them");
    return wrong_usage;
  }
  const FillSpec parts = parse_fill_spec(spec);
  flags.request.path = parts.path;
  flags.request.arguments = parts.arguments;
  for (const auto& [from, to] :
       {std::pair{&files.input, &flags.request.files.input}, std::pair{&files.weights, &flags.request.files.weights}})
    if (!from->empty()) *to = std::filesystem::absolute(*from).string();
  const TriedJob tried = try_job(libraries / "weft-fill-probe", flags.request, parsed.options);
  flags.json ? print_json(tried) : print_text(tried, parsed.options);
  return tried.fault.empty() ? try_sound : try_refused;
}

}  // namespace weft::cli
