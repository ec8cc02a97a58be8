// bench_placement: the jobs of a queue on the GPUs of three trainings, by each policy and by first come, first served.
// Prints the tables of docs/bench.md in Markdown.
//
// The rates are those of Weft's own decisions in virtual time (rates.h); the queue is one of many jobs on top of them
// (cluster.h), with the placement that weft-feeder uses.
#include <array>
#include <cstdio>
#include <optional>
#include <string>
#include <vector>

#include "bench/placement/cluster.h"

namespace {

using weft::JobPolicy;
using weft::bench::Gpu;
using weft::bench::Outcome;

void print_rates(const std::vector<Gpu>& gpus) {
  std::puts("| training | GPU | memory | 25 us | 250 us | 3 ms | 20 ms |\n|---|---|---|---|---|---|---|");
  std::size_t number = 0;
  for (const Gpu& gpu : gpus) {
    std::printf("| %s | %zu | %.0f GiB |", gpu.training.c_str(), number++,
                static_cast<double>(gpu.memory) / (std::uint64_t{1} << 30));
    for (const double rate : gpu.per_second) std::printf(" %.3f |", rate);
    std::puts("");
  }
}

// The mean of several queues of the same kind.
Outcome mean_of(const std::vector<Gpu>& gpus, std::optional<JobPolicy> policy, double load, std::size_t count) {
  constexpr std::uint64_t seeds = 10;
  Outcome sum;
  for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
    const Outcome one = simulate(gpus, weft::bench::some_jobs(seed, count, load), policy);
    sum.makespan += one.makespan / seeds;
    sum.mean += one.mean / seeds;
    sum.late_tenth += one.late_tenth / seeds;
    sum.important += one.important / seeds;
    sum.missed += one.missed / seeds;
    sum.given_back += one.given_back;
    sum.unfinished += one.unfinished;
  }
  return sum;
}

void print_policies(const std::vector<Gpu>& gpus, double load, std::size_t count) {
  std::puts(
      "| policy | all done | mean | 9 of 10 | most important tenth | deadlines missed | given back | never done |");
  std::puts("|---|---|---|---|---|---|---|---|");
  for (int policy = -1; policy < static_cast<int>(weft::job_policy_names.size()); ++policy) {
    const std::optional<JobPolicy> wanted = policy < 0 ? std::nullopt : std::optional(static_cast<JobPolicy>(policy));
    const std::string name = policy < 0
                                 ? "first come, first served"
                                 : "`" + std::string(weft::job_policy_names[static_cast<std::size_t>(policy)]) + "`";
    const Outcome of = mean_of(gpus, wanted, load, count);
    std::printf("| %s | %.1f h | %.0f min | %.0f min | %.0f min | %.0f %% | %zu | %zu |\n", name.c_str(),
                of.makespan / 3600, of.mean / 60, of.late_tenth / 60, of.important / 60, 100 * of.missed, of.given_back,
                of.unfinished);
  }
}

}  // namespace

int main() {
  const std::vector<Gpu> gpus = weft::bench::gpus(1);
  print_rates(gpus);
  for (const double load : {2.0, 4.0, 6.0}) {
    std::printf("\n%.0f seconds of fill work arrive per second:\n\n", load);
    print_policies(gpus, load, 200);
  }
  return 0;
}
