// Do several ranks of NCCL work on one GPU when each claims to be another host; how long does a message take round all
// of them, and how much slower is one rank's work while another's receive spins; without and with the Multi-Process
// Service?
//
// Run by scripts/gpu-proof; decides how the many-process tests can be run on one GPU. Each rank is a process of its
// own.
#include <cmath>

#include "ranks.h"
#include "report.h"
#include "statistics.h"
#include "work.h"

namespace probe {
namespace {

constexpr int round_count = 20;
constexpr std::size_t message_bytes = 64 << 10;
constexpr double work_microseconds = 5000;
constexpr unsigned blocks_per_multiprocessor = 4;

// Rank 0 sends a message round the ring and waits for it each time; the others pass it on.
std::vector<double> rounds(const Rank& rank) {
  const int next = (rank.number() + 1) % rank.count(), previous = (rank.number() + rank.count() - 1) % rank.count();
  std::vector<double> times;
  for (int index = 0; index < round_count; ++index) {
    const int64_t begin = now();
    if (rank.number() == 0) {
      rank.send(message_bytes, next);
      rank.receive(message_bytes, previous);
      check(driver().cuStreamSynchronize(rank.stream()));
      times.push_back(static_cast<double>(now() - begin) / 1e3);
    } else {
      rank.receive(message_bytes, previous);
      rank.send(message_bytes, next);
    }
  }
  check(driver().cuStreamSynchronize(rank.stream()));
  return times;
}

double time_of(const Work& work, CUstream stream) {
  const int64_t begin = now();
  for (int index = 0; index < 4; ++index) work.launch(stream);
  check(driver().cuStreamSynchronize(stream));
  return static_cast<double>(now() - begin) / 4e3;
}

std::string measure_rank(Rank rank) {
  // Before the ranks meet: nobody else uses the GPU much.
  const CUstream working = make_stream();
  double alone = std::nan(""), beside = std::nan("");
  const Work work(Work::Kind::compute, static_cast<unsigned>(gpu().multiprocessors) * blocks_per_multiprocessor,
                  rank.number() == 0 ? work_microseconds : 0, working);
  if (rank.number() == 0) alone = time_of(work, working);
  rank.connect();
  rounds(rank);  // connections are made on first use
  const std::vector<double> times = rounds(rank);
  // Rank 1's receive spins until rank 0 has worked.
  if (rank.number() == 1) {
    rank.receive(message_bytes, 0);
    check(driver().cuStreamSynchronize(rank.stream()));
  } else if (rank.number() == 0) {
    sleep_milliseconds(50);
    beside = time_of(work, working);
    rank.send(message_bytes, 1);
    check(driver().cuStreamSynchronize(rank.stream()));
  }
  if (rank.number() != 0) Rank::stay();
  return join({median(times), quantile(times, 0), quantile(times, 0.99), alone, beside});
}

std::string try_ranks(int count, const std::string& key, const Environment& environment, Report& report) {
  try {
    const std::vector<double> numbers = Ranks(count, "ring", environment).numbers_of_first();
    const char* names[] = {"_round_us", "_round_least_us", "_round_p99_us", "_work_us", "_work_next_to_receive_us"};
    report.add(key + "_works", true);
    for (std::size_t index = 0; index < std::size(names); ++index) report.add(key + names[index], numbers.at(index));
    return format("a message goes round in %.0f us (least %.0f), work of %.0f us takes %.0f next to a spinning receive",
                  numbers[0], numbers[1], numbers[3], numbers[4]);
  } catch (const Skipped&) {
    throw;
  } catch (const TooSlow& slow) {
    report.add(key + "_error", slow.what());
    return std::string("not known: ") + slow.what();
  } catch (const std::runtime_error& error) {
    report.add(key + "_works", false);
    report.add(key + "_error", error.what());
    return std::string("refused: ") + error.what();
  }
}

std::string measure(const Options& options, Report& report) {
  if (!options.part.empty()) return measure_rank(Rank(options.part));
  gpu();
  int version = 0;
  check(nccl().ncclGetVersion(&version));
  report.add("nccl_version", version);
  std::string fact = "2 ranks on one GPU: " + try_ranks(2, "ranks_2", {}, report);
  fact += "; 3 ranks: " + try_ranks(3, "ranks_3", {}, report);
  const Mps mps;
  report.add("mps_runs", mps.runs());
  if (!mps.runs()) {
    report.add("mps_why_not", mps.why_not());
    return fact + "; " + mps.why_not();
  }
  return fact + "; 2 ranks with MPS: " + try_ranks(2, "mps_ranks_2", mps.environment(), report);
}

}  // namespace
}  // namespace probe

int main(int argc, char** argv) {
  return probe::run_probe(argc, argv, "ranks_on_one_gpu", probe::measure, probe::longest_probe_with_ranks);
}
