// The price of a group in the trace, for the threads of Weft: what the dispatcher does with its events, without and
// with a record of each group, and what the writer thread does to make a line of it. Both in one run.
#include <benchmark/benchmark.h>

#include <string>

#include "runner/policy/session.h"
#include "trace/write/lines.h"

namespace {

using weft::Event;
using weft::EventKind;

class Nothing final : public weft::RecordSink {
 public:
  void push(const weft::Record& record) noexcept override { benchmark::DoNotOptimize(&record); }
};

Event event_of(EventKind kind, weft::GroupId group, std::int64_t microseconds) {
  Event event{};
  event.kind = kind;
  event.time = weft::TimePoint(std::chrono::microseconds(microseconds));
  event.stream = 1;
  event.communicator = 1;
  event.group = group;
  return event;
}

// A send and a receive, 10 ms for each group: fewer than are thinned out.
void dispatcher(benchmark::State& state, bool recorded) {
  Nothing sink;
  weft::SessionOptions options;
  options.records_groups = recorded;
  weft::Session session(options, sink);
  weft::GroupId group = 0;
  for (auto _ : state) {
    const std::int64_t time = static_cast<std::int64_t>(++group) * 10'000;
    Event issued = event_of(EventKind::group_issued, group, time);
    issued.summary = {group % 16, 8, 8, 0, 1, 1, 1, 1, 0, weft::Captured::none, 0};
    issued.ticket = static_cast<weft::Ticket>(2 * group);
    issued.done_ticket = issued.ticket + 1;
    session.observe(issued);
    if (recorded) {
      Event operations = event_of(EventKind::operations_issued, group, time);
      operations.operations[0] = {8, group, 1, weft::Operation::send, true, {}};
      operations.operations[1] = {8, group, 1, weft::Operation::receive, true, {}};
      session.observe(operations);
    }
    session.observe(event_of(EventKind::group_started, group, time + 100));
    session.observe(event_of(EventKind::group_done, group, time + 5000));
  }
}
BENCHMARK_CAPTURE(dispatcher, groups_off, false);
BENCHMARK_CAPTURE(dispatcher, groups_on, true);

void line_of(benchmark::State& state, const weft::Record& record) {
  std::string text;
  for (auto _ : state) {
    text.clear();
    weft::append_record(text, record);
    benchmark::DoNotOptimize(text.data());
  }
  state.counters["bytes"] = static_cast<double>(text.size());
}

weft::Record group_record(int operations) {
  weft::GroupRecord group;
  group.id = 123'456;
  group.communicator = 1;
  group.iteration = 5000;
  group.begun_known = group.ended_known = true;
  group.begun = weft::TimePoint(weft::Duration(12'993'364'517'192));
  group.ended = weft::TimePoint(weft::Duration(12'993'364'730'218));
  group.begun_within = group.ended_within = weft::Duration(62'182);
  for (int i = 0; i < operations; ++i) group.operations.add({weft::Operation::receive, 1, 33'554'432, 123'456});
  return {0, group.ended, group};
}

void bubble_line(benchmark::State& state) {
  line_of(state, weft::Record(0, weft::TimePoint(weft::Duration(12'993'364'730'218)), weft::Bubble{}));
}
void group_line(benchmark::State& state) {
  line_of(state, group_record(static_cast<int>(state.range(0))));
}
BENCHMARK(bubble_line);
BENCHMARK(group_line)->Arg(1)->Arg(2)->Arg(8);

}  // namespace
