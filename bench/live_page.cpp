// The price of the page that weft top shows, for the threads of Weft: what a bubble costs the dispatcher, what handing
// the numbers over costs it, and what one writing costs the writer thread. All in one run.
#include <benchmark/benchmark.h>
#include <unistd.h>

#include <cstdlib>
#include <string>

#include "runner/policy/live_accounts.h"
#include "trace/live/live_board.h"
#include "trace/write/live_file.h"

namespace {

weft::Bubble bubble_from(std::int32_t peer) {
  weft::Bubble bubble;
  bubble.opened = weft::TimePoint(weft::Duration(1'000'000));
  bubble.closed = weft::TimePoint(weft::Duration(9'000'000));
  bubble.cause = weft::Cause::receive;
  bubble.slot.communicator = 1;
  bubble.slot.receive_peer = peer;
  bubble.forecast = weft::Forecast{weft::Duration(7'000'000), weft::Duration(8'000'000), weft::Duration(9'000'000), 9};
  return bubble;
}

// As after an hour: all lists are in use.
void use(weft::LiveAccounts& accounts) {
  weft::CommunicatorRecord opened;
  opened.communicator = 1;
  opened.id = 1;
  accounts.push({0, {}, opened});
  weft::JobRecord job;
  job.name = "matmul";
  accounts.push({0, {}, job});
  for (int round = 0; round < 200; ++round) {
    accounts.push({0, {}, bubble_from(round % 2)});
    weft::Iteration iteration;
    iteration.number = static_cast<std::uint64_t>(round) + 1;
    iteration.ended = weft::TimePoint(weft::Duration(150'000'000));
    accounts.push({0, {}, iteration});
  }
}

void record_of_a_bubble(benchmark::State& state) {
  weft::LiveAccounts accounts;
  use(accounts);
  const weft::Record record(0, {}, bubble_from(1));
  for (auto _ : state) accounts.push(record);
}
BENCHMARK(record_of_a_bubble);

// Four times in a second.
void dispatcher_hands_over(benchmark::State& state) {
  weft::LiveAccounts accounts;
  use(accounts);
  weft::LiveBoard board;
  weft::LiveNumbers numbers;
  const weft::TraceSummary totals;
  for (auto _ : state) {
    set_totals(totals, weft::StartupRecord{}, numbers);
    accounts.fill({}, numbers);
    board.put(numbers);
  }
}
BENCHMARK(dispatcher_hands_over);

// Once in a second: taken over, made whole, written with one call into a file of the folder for temporary files.
void writer_writes(benchmark::State& state) {
  std::string folder = "/tmp/weft-bench-XXXXXX";
  if (::mkdtemp(folder.data()) == nullptr) return state.SkipWithError("no folder");
  weft::LiveBoard board;
  board.put({});
  {
    weft::LiveFile file({}, folder + "/rank0.1.jsonl", false);
    for (auto _ : state) {
      board.take(file.numbers());
      if (file.write(false) != 0) state.SkipWithError("it cannot be written");
    }
    ::unlink(file.path().c_str());
  }
  ::rmdir(folder.c_str());
}
BENCHMARK(writer_writes);

}  // namespace
