// The price of one record for the dispatcher thread: a push into the trace's ring while the writer thread empties it.
#include <benchmark/benchmark.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string>

#include "trace/write/record_ring.h"
#include "trace/write/writer.h"

namespace {

weft::Record bubble_record() {
  return {0, {}, weft::Bubble{}};
}

// The usual case: the ring has room. Emptied outside the timing.
void push_with_room(benchmark::State& state) {
  constexpr std::size_t size = 4096;
  weft::RecordRing ring(size);
  const weft::Record record = bubble_record();
  while (state.KeepRunningBatch(size)) {
    for (std::size_t i = 0; i < size; ++i) benchmark::DoNotOptimize(ring.push(record));
    state.PauseTiming();
    ring.drain([](const weft::Record& taken) { benchmark::DoNotOptimize(&taken); });
    state.ResumeTiming();
  }
}
BENCHMARK(push_with_room);

// The writer as it is, at a rate no dispatcher reaches: most records find the ring full and are counted.
void push_into_writer(benchmark::State& state) {
  std::string directory = "/tmp/weft-bench-XXXXXX", error;
  if (::mkdtemp(directory.data()) == nullptr) return state.SkipWithError("no temporary directory");
  auto writer = weft::TraceWriter::open(directory, {}, weft::TraceWriter::unlimited, nullptr, error);
  if (!writer) return state.SkipWithError(error.c_str());
  const weft::Record record = bubble_record();
  for (auto _ : state) writer->push(record);
  state.counters["dropped"] =
      benchmark::Counter(static_cast<double>(writer->dropped()), benchmark::Counter::kAvgIterations);
  const std::string path = writer->path();
  writer.reset();
  std::remove(path.c_str());
  ::rmdir(directory.c_str());
}
BENCHMARK(push_into_writer);

}  // namespace
