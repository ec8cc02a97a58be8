// How long does a small message of NCCL take, and how many bytes may a sender be ahead of its receiver? Two ranks on
// one GPU take turns unless the Multi-Process Service runs, so only then is the time that of a link.
//
// Run by scripts/gpu-proof. Each rank is a process of its own; rank 1 answers, then never receives again.
#include <cmath>

#include "ranks.h"
#include "report.h"
#include "statistics.h"

namespace probe {
namespace {

constexpr int round_count = 50;
constexpr std::size_t small = 8, piece = 64 << 10;
constexpr std::size_t most_ahead = std::size_t{64} << 20;
constexpr double patience = 300;  // milliseconds after which a send counts as blocked

double message_nanoseconds(const Rank& rank) {
  const int peer = 1 - rank.number();
  std::vector<double> times;
  for (int index = 0; index < round_count; ++index) {
    const int64_t begin = now();
    if (rank.number() == 0) rank.send(small, peer);
    rank.receive(small, peer);
    if (rank.number() == 1) rank.send(small, peer);
    if (rank.number() == 0) check(driver().cuStreamSynchronize(rank.stream()));
    times.push_back(static_cast<double>(now() - begin) / 2);
  }
  check(driver().cuStreamSynchronize(rank.stream()));
  return median(times);
}

// Bytes that were sent when a send did not end for the first time.
double bytes_ahead(const Rank& rank) {
  const CUevent sent = make_event();
  for (std::size_t bytes = 0; bytes < most_ahead; bytes += piece) {
    rank.send(piece, 1);
    check(driver().cuEventRecord(sent, rank.stream()));
    if (!wait_for([&] { return is_done(sent); }, patience)) return static_cast<double>(bytes);
  }
  return std::nan("");
}

std::string measure_rank(Rank rank) {
  rank.connect();
  message_nanoseconds(rank);  // connections are made on first use
  const double message = message_nanoseconds(rank);
  if (rank.number() != 0) Rank::stay();
  const double ahead = bytes_ahead(rank);
  rank.abort();
  return join({message, ahead});
}

std::string measure(const Options& options, Report& report) {
  if (!options.part.empty()) return measure_rank(Rank(options.part));
  gpu();
  const Mps mps;
  const std::vector<double> numbers =
      Ranks(2, "links", mps.runs() ? mps.environment() : Environment{}).numbers_of_first();
  report.add("mps_runs", mps.runs());
  // A time that includes the other rank's turn is not the latency of a link.
  report.add(mps.runs() ? "nccl_latency" : "message_and_time_slice_ns", numbers.at(0));
  report.add("nccl_fifo", numbers.at(1));
  return format("A message of %zu bytes takes %.1f us %s; a sender over sockets may be %.0f KiB ahead", small,
                numbers[0] / 1e3, mps.runs() ? "with MPS" : "with the ranks taking turns on the GPU (no MPS)",
                numbers[1] / 1024);
}

}  // namespace
}  // namespace probe

int main(int argc, char** argv) {
  return probe::run_probe(argc, argv, "nccl_links", probe::measure, probe::longest_probe_with_ranks);
}
