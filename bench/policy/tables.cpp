// See tables.h. Rows come in the order of the cases.
#include "bench/policy/tables.h"

#include <algorithm>
#include <cstdio>
#include <string>
#include <vector>

#include "bench/policy/cases.h"
#include "runner/model/policies.h"

namespace weft::bench {
namespace {

using model::Simulation;

std::string three_digits(double number) {
  char text[32];
  std::snprintf(text, sizeof text, "%.3f", number);
  return text;
}

std::string signed_percent(double percent) {
  char text[32];
  std::snprintf(text, sizeof text, "%+.2f %%", percent);
  return text;
}

void print_row(const Case& one, const Simulation& result) {
  const pipeline::WorldOptions& world = one.options.run.world;
  std::printf(
      "| %s | %s | %d | %g ms | %g %% | %.3f s | %.1f %% | %g %% | %.3f | %.3f | %.3f | %.3f | %.3f | %+.3f %% | %.3f "
      "|\n",
      one.schedule.c_str(), one.options.policy.c_str(), world.schedule.ranks,
      std::chrono::duration<double, std::milli>(world.forward).count(), 100 * world.jitter, result.iteration_seconds,
      100 * result.idle_share, 100 * one.options.slowdown_budget, result.conversion, result.conversion_of_class[3],
      result.conversion_of_class[2], result.conversion_of_class[1], result.conversion_of_all, 100 * result.slowdown,
      result.as_forecast);
}

void print(const std::vector<Case>& cases, unsigned threads) {
  std::printf(
      "| schedule | policy | stages | forward | jitter | iteration | idle | budget | filled | from 5 ms | 1 to 5 ms | "
      "0.5 to 1 ms | "
      "with control iterations | slowdown | as forecast "
      "|\n|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|\n");
  const std::vector<Simulation> results = simulate_all(cases, threads);
  for (std::size_t i = 0; i < cases.size(); ++i) print_row(cases[i], results[i]);
}

std::vector<const char*> schedules_of(const TableOptions& options) {
  std::vector<const char*> made;
  for (const char* const name : pipeline::schedule_names)
    if (options.schedule.empty() || options.schedule == name) made.push_back(name);
  return made;
}

struct Range {
  double least = 1e9, most = -1e9;
  void add(double value) {
    least = std::min(least, value);
    most = std::max(most, value);
  }
};

void print_worst(const char* schedule, double jitter, double budget, const TableOptions& options) {
  std::vector<Case> cases;
  for (const int stages : {4, 8, 16})
    for (const int forward : {10, 20, 40}) {
      Case made = case_of(options, schedule, stages);
      pipeline::WorldOptions& world = made.options.run.world;
      world.forward = world.input_gradient = world.weight_gradient = std::chrono::milliseconds(forward);
      world.jitter = jitter;
      made.options.slowdown_budget = budget;
      cases.push_back(made);
    }
  Range idle, long_ones, middle, short_ones, all, of_long, of_short, hold;
  for (const Simulation& each : simulate_all(cases, options.threads)) {
    idle.add(100 * each.idle_share);
    long_ones.add(each.conversion_of_class[3]);
    // Of hardly any, one says nothing.
    if (each.share_of_class[2] > 0.001) middle.add(each.conversion_of_class[2]);
    if (each.share_of_class[1] > 0.0001) short_ones.add(each.conversion_of_class[1]);
    all.add(each.conversion);
    (each.iteration_seconds >= 1 ? of_long : of_short).add(100 * each.slowdown);
    hold.add(each.as_forecast);
  }
  const auto least = [](const Range& range) {
    return range.least > 1e8 ? std::string("none") : three_digits(range.least);
  };
  const auto most = [](const Range& range) {
    return range.least > 1e8 ? std::string("none") : signed_percent(range.most);
  };
  std::printf("| %s | %g %% | %g %% | %.0f to %.0f %% | %s | %s | %s | %s | %s | %s | %.2f to %.2f |\n", schedule,
              100 * jitter, 100 * budget, idle.least, idle.most, least(long_ones).c_str(), least(middle).c_str(),
              least(short_ones).c_str(), least(all).c_str(), most(of_long).c_str(), most(of_short).c_str(), hold.least,
              hold.most);
}

}  // namespace

// Worst of all stages, microbatches and forward passes.
void print_schedules(const TableOptions& options) {
  std::printf(
      "| schedule | jitter | budget | idle | filled, from 5 ms | 1 to 5 ms | 0.5 to 1 ms | of all | slowdown, "
      "iterations from 1 s | shorter ones | 80 %% intervals hold |\n|---|---|---|---|---|---|---|---|---|---|---|\n");
  for (const char* const schedule : schedules_of(options))
    for (const double jitter : {0.01, 0.05, 0.15})
      for (const double budget : {0.001, 0.003, 0.01, 0.03}) print_worst(schedule, jitter, budget, options);
}

void print_budgets(const TableOptions& options) {
  std::vector<Case> cases;
  for (const char* const schedule : schedules_of(options))
    for (const double budget : {0.0, 0.0003, 0.001, 0.003, 0.01}) {
      Case made = case_of(options, schedule, 8);
      made.options.slowdown_budget = budget;
      made.options.run.world.iterations = 200;
      cases.push_back(made);
    }
  print(cases, options.threads);
}

void print_policies(const TableOptions& options) {
  std::vector<Case> cases;
  for (const char* const schedule : schedules_of(options)) {
    cases.push_back(case_of(options, schedule, 8));
    for (const std::string& baseline : model::baselines()) {
      cases.push_back(case_of(options, schedule, 8));
      cases.back().options.policy = baseline;
    }
  }
  print(cases, options.threads);
}

}  // namespace weft::bench
