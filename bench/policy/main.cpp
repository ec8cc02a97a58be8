// bench_policy: what Weft makes of whole pipelines in virtual time. Deterministic: equal arguments, equal tables.
//   bench_policy schedules|budgets|policies|scenarios|pipefill|freeride [--seed N] [--threads N] [--interference SHARE]
//   bench_policy frontier [--seed N] [--threads N] [--csv]
#include <CLI/CLI.hpp>

#include <algorithm>
#include <cstdio>
#include <thread>

#include "bench/policy/changes.h"
#include "bench/policy/frontier.h"
#include "bench/policy/grounds.h"
#include "bench/policy/scenarios.h"
#include "bench/policy/tables.h"
#include "sim/pipeline/schedules.h"

int main(int argc, char** argv) {
  std::setvbuf(stdout, nullptr, _IOLBF, 0);
  CLI::App app{"What Weft's planner makes of whole pipelines in virtual time, as Markdown tables"};
  weft::bench::TableOptions options;
  options.threads = std::max(1U, std::thread::hardware_concurrency());
  app.add_option("--seed", options.seed, "Of the lengths of all pieces")->capture_default_str();
  app.add_option("--threads", options.threads)->capture_default_str()->check(CLI::PositiveNumber);
  app.add_option("--interference", options.interference,
                 "By so much pieces next to fill work take longer, 0.02 for 2 %")
      ->capture_default_str();
  app.add_option("--schedule", options.schedule, "Only this one, with schedules, budgets and policies")
      ->check(CLI::IsMember(
          std::vector<std::string>(weft::pipeline::schedule_names.begin(), weft::pipeline::schedule_names.end())));
  app.require_subcommand(1);
  app.fallthrough();
  app.add_subcommand("schedules", "All schedules, stages, lengths and jitters")->callback([&] {
    print_schedules(options);
  });
  app.add_subcommand("budgets", "All schedules, and what a budget buys")->callback([&] { print_budgets(options); });
  app.add_subcommand("policies", "Weft beside other systems")->callback([&] { print_policies(options); });
  app.add_subcommand("scenarios", "200 random trainings with hidden slowdowns, drift and steps: is the budget kept?")
      ->callback([&] { print_scenarios(options); });
  app.add_subcommand("changes", "Evaluations, checkpoints, changing numbers of microbatches, copies to the host")
      ->callback([&] { print_changes(options); });
  app.add_subcommand("pipefill", "PipeFill's clusters, up to 8,192 GPUs")->callback([&] {
    print_pipefill_ground(options);
  });
  app.add_subcommand("freeride", "FreeRide's server and its six side tasks")->callback([&] {
    print_freeride_ground(options);
  });
  bool csv = false;
  CLI::App* const frontier =
      app.add_subcommand("frontier", "Conversion against slowdown: Weft's budgets and the settings of other systems")
          ->callback([&] { print_frontier(options, csv); });
  frontier->add_flag("--csv", csv, "Comma-separated, for bench/policy/plot.py");
  CLI11_PARSE(app, argc, argv);
  return 0;
}
