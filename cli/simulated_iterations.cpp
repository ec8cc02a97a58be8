// See simulated_iterations.h.
#include "cli/simulated_iterations.h"

#include <stdexcept>

#include "cli/quantities.h"

namespace weft::cli {
namespace {

constexpr int most_microbatches = 65536;

}  // namespace

void add_iteration_flags(CLI::App& app, IterationFlags& flags) {
  app.add_option(
         "--microbatches", flags.microbatches,
         "How many an iteration has. Several, as in 8,16, are gone through again and again, or once with --ramp-up. "
         "Without it twice as many as stages, and 2 more with dualpipev.")
      ->delimiter(',')
      ->expected(1, CLI::detail::expected_max_vector_size)
      ->check(CLI::Range(1, most_microbatches));
  app.add_option("--ramp-up", flags.ramp_up,
                 "So many iterations with each of --microbatches, and all further ones with the last.")
      ->check(CLI::Range(1, 1'000'000));
  CLI::Option* const evaluates =
      app.add_option("--evaluate-every", flags.evaluate_every,
                     "After so many iterations comes one of forward passes only, with a sum over all GPUs at its end.")
          ->check(CLI::Range(1, 1'000'000));
  app.add_option("--evaluation-microbatches", flags.evaluation_microbatches,
                 "Of an evaluation. As many as the first of --microbatches.")
      ->check(CLI::Range(1, most_microbatches))
      ->needs(evaluates);
  CLI::Option* const saves =
      app.add_option("--checkpoint-every", flags.checkpoint_every,
                     "After so many iterations all hosts wait for --checkpoint-time; evaluations count.")
          ->check(CLI::Range(1, 1'000'000));
  app.add_option("--checkpoint-time", duration_into(flags.checkpoint_time), "Of a checkpoint.")
      ->type_name("DURATION")
      ->default_str("1s")
      ->needs(saves);
}

void set_iterations(const IterationFlags& flags, int usual, pipeline::WorldOptions& world) {
  if (flags.ramp_up > 0 && flags.microbatches.size() < 2)
    throw std::invalid_argument("--ramp-up goes through several --microbatches, as in 8,16,32");
  world.schedule.microbatches = flags.microbatches.empty() ? usual : flags.microbatches.front();
  pipeline::IterationOptions& kinds = world.kinds;
  if (flags.microbatches.size() > 1) kinds.microbatches = flags.microbatches;
  kinds.ramp_up = flags.ramp_up;
  kinds.evaluate_every = flags.evaluate_every;
  kinds.evaluation_microbatches = flags.evaluation_microbatches.value_or(world.schedule.microbatches);
  if (flags.checkpoint_every > 0)
    world.changes.push_back({.first = flags.checkpoint_every,
                             .count = world.iterations,
                             .every = flags.checkpoint_every,
                             .stall = flags.checkpoint_time});
}

std::string list_of_microbatches(const pipeline::WorldOptions& world) {
  if (world.kinds.microbatches.empty()) return std::to_string(world.schedule.microbatches);
  std::string text;
  for (const int each : world.kinds.microbatches) text += (text.empty() ? "" : ", ") + std::to_string(each);
  return text;
}

}  // namespace weft::cli
