// weft simulate: a pipeline in virtual time, with and without fill, and beside other systems.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "cli/config_file.h"
#include "cli/job_lengths.h"
#include "cli/parse.h"
#include "cli/price.h"
#include "cli/progress.h"
#include "cli/quantities.h"
#include "cli/simulated_iterations.h"
#include "cli/simulated_jobs.h"
#include "cli/simulated_memory.h"
#include "cli/simulated_traces.h"
#include "runner/model/policies.h"
#include "runner/model/simulation.h"

namespace weft::cli {
namespace {

using model::Simulation;
using model::SimulationOptions;

struct Wanted {
  SimulationOptions simulation;
  std::string schedule = "1f1b";
  int stages = 4, ranks = 0;
  IterationFlags iterations;
  Duration forward{10'000'000}, slice{300'000};
  std::vector<std::string> fill{"400x25us"};
  std::string job_policy = "throughput";
  Duration arrivals{};
  std::vector<JobLengths> jobs;
  PriceFlags price;
  std::optional<Duration> input_gradient, weight_gradient;
  bool baselines = false, observe = false, json = false;
  std::string output;
};

void add_pipeline_flags(CLI::App& app, Wanted& wanted) {
  pipeline::WorldOptions& world = wanted.simulation.run.world;
  const std::vector<std::string> schedules(pipeline::schedule_names.begin(), pipeline::schedule_names.end());
  app.add_option("--schedule", wanted.schedule, "The order of the pieces.")
      ->check(CLI::IsMember(schedules))
      ->capture_default_str();
  app.add_option("--stages", wanted.stages, "Stages of the pipeline, each on a GPU of its own.")
      ->check(CLI::Range(1, 1024))
      ->capture_default_str();
  app.add_option("--ranks", wanted.ranks,
                 "GPUs in all, a multiple of the stages: so many pipelines. As many as stages.")
      ->check(CLI::Range(1, 65536));
  app.add_option("--chunks", world.schedule.chunks, "Stages of each GPU; with interleaved and pipeoffload only.")
      ->check(CLI::Range(1, 64))
      ->capture_default_str();
  app.add_option("--iterations", world.iterations, "How many, with the first ones. See --warm-up.")
      ->check(CLI::Range(1, 1'000'000))
      ->capture_default_str();
  const auto lengths = [&](const char* name, const CLI::callback_t& into, const char* text, const char* usual) {
    app.add_option(name, into, text)->type_name("DURATION")->default_str(usual);
  };
  const auto sizes = [&](const char* name, const CLI::callback_t& into, const char* text, const char* usual) {
    app.add_option(name, into, text)->type_name("BYTES")->default_str(usual);
  };
  lengths("--forward", duration_into(wanted.forward), "Forward pass of a microbatch in a stage.", "10ms");
  lengths("--input-gradient", duration_into(wanted.input_gradient),
          "Backward pass of a microbatch: gradients of inputs.", "--forward");
  lengths("--weight-gradient", duration_into(wanted.weight_gradient),
          "Backward pass of a microbatch: gradients of weights.", "--forward");
  lengths("--optimizer", duration_into(world.optimizer), "Optimizer step of a stage.", "5ms");
  app.add_option("--jitter", world.jitter, "Of each piece: standard deviation of the logarithm of its length.")
      ->check(CLI::Range(0.0, 2.0))
      ->capture_default_str();
  app.add_option("--interference", share_into(world.interference), "By so much pieces next to fill work take longer.")
      ->type_name("PERCENT")
      ->default_str("0%");
  sizes("--message", bytes_into(world.message_bytes), "Between two stages, of a microbatch.", "16MiB");
  sizes("--gradients", bytes_into(world.gradient_bytes), "Of a stage, summed up over the pipelines.", "64MiB");
  lengths("--latency", duration_into(world.latency), "Of a message.", "20us");
  sizes("--bandwidth", rate_into(world.bandwidth), "Of a link, in a second.", "50GB");
  app.add_option("--threads", world.threads, "That run pipelines beside each other; the numbers are the same.")
      ->check(CLI::Range(1, 1024))
      ->default_str("one per processor");
  app.add_option("--seed", world.seed, "Of the lengths of all pieces.")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
}

void add_fill_flags(CLI::App& app, Wanted& wanted) {
  app.add_option("--fill", wanted.fill,
                 "A job by the kernels of its unit, and its terms. [NAME=]COUNTxLENGTH[,...][;TERM=VALUE...], with the "
                 "terms priority, weight, deadline, units, memory, arrives and variant. May be given again.")
      ->type_name("KERNELS")
      ->expected(1)
      ->take_all()
      ->default_str("400x25us");
  const std::vector<std::string> policies(job_policy_names.begin(), job_policy_names.end());
  app.add_option("--job-policy", wanted.job_policy, "Which of several jobs gets a slice.")
      ->check(CLI::IsMember(policies))
      ->capture_default_str();
  app.add_option("--arrivals", duration_into(wanted.arrivals),
                 "Jobs without 'arrives' come one after the other, with random gaps of this mean. All at the begin.")
      ->type_name("DURATION");
  app.add_option("--slice", duration_into(wanted.slice), "Longest slice. As WEFT_SLICE.")
      ->type_name("DURATION")
      ->default_str("300us");
  app.add_option("--slowdown-budget", budget_into(wanted.simulation.slowdown_budget),
                 "By so much filling may slow down an iteration. As WEFT_SLOWDOWN_BUDGET.")
      ->type_name("PERCENT")
      ->default_str("1%");
  app.add_option("--spin", spin_into(wanted.simulation.spin), "Share of a core for looks without sleep. As WEFT_SPIN.")
      ->type_name("PERCENT")
      ->default_str("5%");
  app.add_option("--warm-up", wanted.simulation.run.warm_up, "First iterations that do not count.")
      ->check(CLI::Range(0, 1'000'000))
      ->capture_default_str();
}

// Throws std::invalid_argument where the numbers do not go together.
void complete(Wanted& wanted) {
  pipeline::WorldOptions& world = wanted.simulation.run.world;
  if (wanted.ranks == 0) wanted.ranks = wanted.stages;
  if (wanted.ranks % wanted.stages != 0)
    throw std::invalid_argument("--ranks " + std::to_string(wanted.ranks) + " is no multiple of --stages " +
                                std::to_string(wanted.stages));
  if (wanted.simulation.run.warm_up >= world.iterations)
    throw std::invalid_argument("no iteration is left behind --warm-up");
  if (wanted.schedule == "dag" && wanted.stages < 4)
    throw std::invalid_argument("a graph with a branch and a join has 4 stages at least");
  if (wanted.forward <= Duration{} || wanted.slice <= Duration{})
    throw std::invalid_argument("--forward and --slice have to be more than 0");
  world.replicas = wanted.ranks / wanted.stages;
  world.schedule.schedule = model::schedule_of(wanted.schedule);
  world.schedule.ranks = wanted.stages;
  world.schedule.followers = model::branching(wanted.stages);
  const bool wants_more = world.schedule.schedule == pipeline::Schedule::dualpipe_v;
  set_iterations(wanted.iterations, 2 * wanted.stages + (wants_more ? 2 : 0), world);
  world.forward = wanted.forward;
  world.input_gradient = wanted.input_gradient.value_or(wanted.forward);
  world.weight_gradient = wanted.weight_gradient.value_or(wanted.forward);
  wanted.jobs = parse_jobs(wanted.fill, wanted.arrivals, world.seed);
  wanted.simulation.run.jobs.clear();
  for (const JobLengths& job : wanted.jobs) wanted.simulation.run.jobs.push_back(job_options(job));
  wanted.simulation.run.job_policy =
      static_cast<JobPolicy>(std::ranges::find(job_policy_names, wanted.job_policy) - job_policy_names.begin());
  const auto slices = slice_lengths(wanted.slice);
  wanted.simulation.run.slices.assign(slices.begin(), slices.end());
}

model::RunResult simulate_without_fill(const model::RunOptions& options) {
  ProgressBar bar;
  bar.begin_steps("simulating without fill", static_cast<std::uint64_t>(options.world.iterations));
  return model::without_fill(options, [&](int iteration) { bar.reach(static_cast<std::uint64_t>(iteration)); });
}

Simulation simulate(const model::RunResult& without, SimulationOptions options, const std::string& policy,
                    const model::TraceOf& traces) {
  options.policy = policy;
  const std::string what = "simulating " + policy;
  ProgressBar bar;
  bar.begin_steps(what.c_str(), static_cast<std::uint64_t>(options.run.world.iterations));
  return model::simulate(
      without, options, [&](int iteration) { bar.reach(static_cast<std::uint64_t>(iteration)); }, traces);
}

// Nothing without a price.
std::optional<model::Saving> saving_of(const Wanted& wanted, const Simulation& result) {
  const std::optional<model::Prices> prices = wanted.price.prices();
  if (!prices) return std::nullopt;
  return model::saving_of(result.ranks, result.gpu_equivalents, result.slowdown, *prices);
}

nlohmann::ordered_json json_of_reported(const std::optional<SlowdownRecord>& reported) {
  if (!reported) return nullptr;
  return {{"estimate", reported->estimate}, {"low", reported->low}, {"high", reported->high}};
}

nlohmann::ordered_json json_of(const Wanted& wanted, const Simulation& result) {
  const pipeline::WorldOptions& world = wanted.simulation.run.world;
  nlohmann::ordered_json microbatches = world.schedule.microbatches;
  if (!world.kinds.microbatches.empty()) microbatches = world.kinds.microbatches;
  return {{"schedule", wanted.schedule},
          {"stages", wanted.stages},
          {"microbatches", microbatches},
          {"ranks", result.ranks},
          {"iterations", result.iterations},
          {"iteration_seconds", result.iteration_seconds},
          {"idle_share", result.idle_share},
          {"conversion", result.conversion},
          {"conversion_with_control_iterations", result.conversion_of_all},
          {"slowdown", result.slowdown},
          {"reported_slowdown", json_of_reported(result.reported)},
          {"gpu_equivalents", result.gpu_equivalents},
          {"spin_share", result.spun},
          {"utilisation_gain", result.utilisation_gain},
          {"coverage", result.coverage},
          {"precision", result.precision},
          {"forecasts_that_held", result.as_forecast},
          {"filling_stopped",
           result.stopped == 0 ? nlohmann::ordered_json(nullptr) : nlohmann::ordered_json(result.why_stopped)},
          {"saving", json_of_saving(saving_of(wanted, result))}};
}

void print_row(const std::string& name, const Simulation& result) {
  std::printf("%-14s %6.1f %%  %6.1f %%  %+8.3f %%  %10.2f  %+7.1f %%\n", name.c_str(), 100 * result.conversion,
              100 * result.conversion_of_all, 100 * result.slowdown, result.gpu_equivalents,
              100 * result.utilisation_gain);
}

void print_table(const Wanted& wanted, const Simulation& weft,
                 const std::vector<std::pair<std::string, Simulation>>& others) {
  const pipeline::WorldOptions& world = wanted.simulation.run.world;
  std::printf("%s, %d stages, %s microbatches, %d GPUs, %d iterations (%d count) of %.3f s, idle for %.1f %%\n\n",
              wanted.schedule.c_str(), wanted.stages, list_of_microbatches(world).c_str(), weft.ranks, weft.iterations,
              weft.iterations - wanted.simulation.run.warm_up, weft.iteration_seconds, 100 * weft.idle_share);
  std::printf("                 filled  with control    slowdown        GPUs  more work\n");
  print_row(wanted.observe ? "observe" : "weft", weft);
  for (const auto& [name, result] : others) print_row(name, result);
  print_jobs(wanted.jobs, weft.jobs);
  if (wanted.simulation.memory.gpu != 0) print_memory(weft.stages, wanted.jobs);
  if (const std::optional<model::Saving> saving = saving_of(wanted, weft)) {
    std::printf("\n");
    print_saving(*saving, false);
  }
  if (weft.stopped > 0) std::printf("\nWeft stopped filling on %d GPUs: %s\n", weft.stopped, weft.why_stopped.c_str());
  std::printf(
      "\nfilled: of the idle time of iterations that may be filled; with control: of all of it\n"
      "slowdown: against the same pieces without fill; GPUs: kept busy by fill work; more work: by that of the "
      "training\n"
      "reported idle time: %.1f %% of the true, %.1f %% of it true; %.1f %% of the bubbles as forecast\n",
      100 * weft.coverage, 100 * weft.precision, 100 * weft.as_forecast);
  if (weft.reported)
    std::printf("reported slowdown: %+.3f %% (95 %% interval %+.3f to %+.3f %%), of iterations that are filled%s\n",
                100 * weft.reported->estimate, 100 * weft.reported->low, 100 * weft.reported->high,
                weft.reported->is_of_something_else() ? "; not the doing of fill work, whose price is not known" : "");
  if (!wanted.output.empty())
    std::printf("traces in %s\nnext: weft %s %s\n", wanted.output.c_str(), wanted.observe ? "estimate" : "summary",
                wanted.output.c_str());
}

// On the long page only: what a first simulation does not need.
void make_advanced(CLI::App& app) {
  for (const char* const flag : {"--ranks",
                                 "--chunks",
                                 "--input-gradient",
                                 "--weight-gradient",
                                 "--optimizer",
                                 "--jitter",
                                 "--interference",
                                 "--message",
                                 "--gradients",
                                 "--latency",
                                 "--bandwidth",
                                 "--threads",
                                 "--seed",
                                 "--ramp-up",
                                 "--evaluate-every",
                                 "--evaluation-microbatches",
                                 "--checkpoint-every",
                                 "--checkpoint-time",
                                 "--parameter-bytes",
                                 "--activation-bytes",
                                 "--memory-reserve",
                                 "--offload-bandwidth",
                                 "--job-policy",
                                 "--arrivals",
                                 "--slice",
                                 "--spin",
                                 "--warm-up",
                                 "--fill-price"})
    app.get_option(flag)->group(advanced_options);
}

}  // namespace

int simulate_verb(const Arguments& arguments) {
  Wanted wanted;
  wanted.simulation.run.world.iterations = 40;
  wanted.simulation.run.world.threads = static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
  wanted.simulation.run.world.jitter = 0.05;
  wanted.simulation.run.warm_up = 8;
  CLI::App app(
      "Runs a pipeline in virtual time, without fill and with it: how much of the idle time Weft fills, and what it "
      "costs. No GPU is needed.\n\n"
      "The same flags and seed give the same numbers. 'filled' is of the iterations that may be filled; some go "
      "without, for comparison.",
      "weft simulate");
  add_pipeline_flags(app, wanted);
  add_iteration_flags(app, wanted.iterations);
  add_memory_flags(app, wanted.simulation);
  add_fill_flags(app, wanted);
  CLI::Option* const baselines = app.add_flag(
      "--baselines", wanted.baselines,
      "Also with the policies of other systems. These are first-planner (Weft's own before), pipefill, freeride, "
      "gating, mps (co-location), low-priority (a stream that is never empty).");
  wanted.price.add_to(app);
  app.add_flag("--observe", wanted.observe, "Without a fill job. With --output: traces for weft estimate.")
      ->excludes(baselines)
      ->excludes("--fill")
      ->excludes("--gpu-memory")
      ->excludes("--job-policy")
      ->excludes("--arrivals")
      ->excludes("--price");
  app.add_option("--output", wanted.output, "A folder for the trace of every rank. It is as a run would leave it.")
      ->type_name("FOLDER");
  app.add_flag("--json", wanted.json, "One JSON object.");
  add_config_file(app, "A TOML file with these flags as keys. They have no dashes in front there.");
  make_advanced(app);
  if (const auto code = parse(app, arguments)) return *code;
  try {
    complete(wanted);
    SimulatedTraces traces(wanted.output, wanted.ranks, wanted.observe ? std::vector<JobLengths>{} : wanted.jobs);
    const model::RunResult without = simulate_without_fill(wanted.simulation.run);
    traces.begin(model::memory_of(wanted.simulation.memory, without, wanted.simulation.run.jobs));
    const Simulation weft = simulate(without, wanted.simulation, wanted.observe ? "observe" : "weft", traces.of_rank());
    std::vector<std::pair<std::string, Simulation>> others;
    if (wanted.baselines)
      for (const std::string& name : model::baselines())
        others.emplace_back(name, simulate(without, wanted.simulation, name, {}));
    if (!wanted.json) return print_table(wanted, weft, others), 0;
    nlohmann::ordered_json json = json_of(wanted, weft);
    json["jobs"] = json_of_jobs(wanted.jobs, weft.jobs);
    json["mean_completion"] = json_of_mean_completion(weft.jobs);
    json["stage_memory"] = json_of_memory(weft.stages, wanted.jobs, wanted.simulation.memory.gpu != 0);
    json["baselines"] = nlohmann::ordered_json::object();
    for (const auto& [name, result] : others) json["baselines"][name] = json_of(wanted, result);
    std::printf("%s\n", json.dump(2).c_str());
    return 0;
  } catch (const std::invalid_argument& error) {
    complain(error.what());
    return wrong_usage;
  } catch (const std::runtime_error& error) {
    complain(error.what());
    return failed;
  }
}

}  // namespace weft::cli
