// Iterations of a training in which Weft observes, and in which it does not, in turn within one process: blocks in the
// order on, off, off, on, so that a drift of the machine is no difference. Rank 0 prints one line of JSON per block.
//
// Started by observing_cost.py, under `weft run` or, as a control, without it: then both kinds of block are the same.
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <stdexcept>
#include <string>
#include <vector>

#include "examples/trainer/process.h"
#include "stage.h"

namespace observing {
namespace {

struct Options {
  Load load;
  int ranks = 2;
  int rounds = 10;     // of four blocks
  int iterations = 4;  // that count, in a block; one before them does not
};

// Pairs of a name and a number; the one who starts this is observing_cost.py.
Options parse(int argc, char** argv) {
  Options options;
  for (int i = 1; i < argc; i += 2) {
    const std::string name = argv[i];
    const double value = i + 1 < argc ? std::atof(argv[i + 1]) : 0;
    if (value <= 0) throw std::invalid_argument(name + " wants a number above 0");
    if (name == "--forward")
      options.load.forward = value;
    else if (name == "--backward")
      options.load.backward = value;
    else if (name == "--microbatches")
      options.load.microbatches = static_cast<int>(value);
    else if (name == "--ranks")
      options.ranks = static_cast<int>(value);
    else if (name == "--rounds")
      options.rounds = static_cast<int>(value);
    else if (name == "--iterations")
      options.iterations = static_cast<int>(value);
    else
      throw std::invalid_argument("unknown option " + name);
  }
  return options;
}

void print_block(bool on, int groups, const std::vector<double>& milliseconds) {
  std::printf("{\"on\": %s, \"groups\": %d, \"milliseconds\": [", on ? "true" : "false", groups);
  for (std::size_t i = 0; i < milliseconds.size(); ++i) std::printf("%s%.6f", i == 0 ? "" : ", ", milliseconds[i]);
  std::printf("]}\n");
  std::fflush(stdout);
}

void run_block(Stage& stage, const Calls& calls, bool on, const Options& options, bool says) {
  std::vector<double> milliseconds;
  for (int iteration = 0; iteration <= options.iterations; ++iteration) {
    stage.iterate(calls);
    if (iteration > 0) milliseconds.push_back(stage.last_iteration());
  }
  if (says) print_block(on, stage.groups(), milliseconds);
}

int train(const Options& options) {
  const trainer::Place place = trainer::place_of_this_process();
  const Ways ways = find_ways();
  Stage stage(place, ways, options.load);
  if (place.rank == 0) std::printf("{\"hooks\": %s}\n", ways.differ ? "true" : "false");
  for (int round = 0; round < options.rounds; ++round)
    for (const bool outer : {true, false, false, true}) {  // and the reverse in the next round
      const bool on = outer == (round % 2 == 0);
      run_block(stage, on ? ways.hooked : ways.direct, on, options, place.rank == 0);
    }
  return 0;
}

}  // namespace
}  // namespace observing

int main(int argc, char** argv) {
  try {
    const observing::Options options = observing::parse(argc, argv);
    if (std::getenv("TRAINER_RENDEZVOUS") == nullptr) return trainer::launch(options.ranks, argv);
    return observing::train(options);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "observing_cost: %s\n", error.what());
    return 1;
  }
}
