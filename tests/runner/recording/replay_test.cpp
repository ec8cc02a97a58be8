// A recorded session in virtual time, replayed: the same answers from the same options, and where others come from
// others.
#include "runner/recording/replay.h"

#include <gtest/gtest.h>

#include <chrono>
#include <map>

#include "runner/recording/fields.h"
#include "tests/runner/recording/kept_calls.h"

namespace weft {
namespace {

using namespace std::chrono_literals;
using testing::filling;
using testing::KeptCalls;
using testing::RecordedRun;

struct Kept final : RecordSink {
  std::vector<RecordHash> hashes;
  void push(const Record& record) noexcept override { hashes.push_back(hash_of(record)); }
};

std::vector<RecordHash> hashes_of(const std::vector<Record>& records) {
  std::vector<RecordHash> hashes;
  for (const Record& record : records) hashes.push_back(hash_of(record));
  return hashes;
}

// Of the first entry, which has no times.
std::string with_options(const RecordedRun& run, const SessionOptions& options) {
  CodingState state;
  Put entry(state, Call::options);
  visit(entry, options);
  return std::string(entry.bytes()) + run.calls.bytes.substr(run.calls.ends.front());
}

TEST(Replay, GivesTheSameAnswersAndTheSameRecording) {
  const RecordedRun run(120);
  ASSERT_GT(run.launches, 500U);
  Kept records;
  KeptCalls again;
  Replay replay(records, true, &again);
  replay.take(run.calls.bytes);
  replay.end_calls(false);
  const TraceSummary summary = replay.summary(run.summary);
  EXPECT_EQ(replay.result().differences, 0U);
  EXPECT_FALSE(replay.result().first);
  EXPECT_EQ(replay.result().launches, run.launches);
  EXPECT_EQ(replay.result().records, run.records.size());
  EXPECT_EQ(records.hashes, hashes_of(run.records));
  EXPECT_EQ(again.bytes, run.calls.bytes);
  EXPECT_EQ(summary.slices, run.summary.slices);
  EXPECT_EQ(summary.dropped_records, 3U);
  EXPECT_EQ(summary.fill_stream, "plain");
}

TEST(Replay, TakesBlocksOfAnyNumberOfEntries) {
  const RecordedRun run(20);
  testing::NoRecords none;
  Replay replay(none, true);
  std::size_t begin = 0;
  for (std::size_t i = 0; i < run.calls.ends.size(); i += 1 + i % 3) {
    replay.take(std::string_view(run.calls.bytes).substr(begin, run.calls.ends[i] - begin));
    begin = run.calls.ends[i];
  }
  replay.take(std::string_view(run.calls.bytes).substr(begin));
  replay.end_calls(false);
  EXPECT_EQ(replay.result().differences, 0U);
  EXPECT_EQ(replay.result().launches, run.launches);
}

TEST(Replay, SaysWhereTheFirstOtherAnswerIs) {
  SessionOptions other = filling();
  other.slowdown_budget = Budget::unlimited;
  const RecordedRun run(60, other);
  other.slowdown_budget = 0;
  testing::NoRecords none;
  Replay replay(none, true);
  replay.take(with_options(run, other));
  replay.end_calls(false);
  replay.summary(run.summary);
  const ReplayResult& result = replay.result();
  ASSERT_TRUE(result.first);
  EXPECT_GT(result.differences, 100U);
  EXPECT_EQ(result.first->input, "decide");
  EXPECT_GT(result.first->event, 0U);
  EXPECT_LT(result.first->event, 20U);
  EXPECT_GT(result.first->time, TimePoint(1s));
  EXPECT_TRUE(result.first->recorded.starts_with("launch slice 0 in bubble 1")) << result.first->recorded;
  EXPECT_TRUE(result.first->now.starts_with("launch nothing in bubble 1: ")) << result.first->now;
}

// Inputs are those of the recorded run, so only what is compared differs.
TEST(Replay, OfTheSameOptionsPutAgainHasNoDifference) {
  const RecordedRun run(30);
  testing::NoRecords none;
  Replay replay(none, true);
  replay.take(with_options(run, filling()));
  replay.end_calls(false);
  replay.summary(run.summary);
  EXPECT_EQ(replay.result().differences, 0U);
}

TEST(Replay, ComparesTheSummary) {
  RecordedRun run(30);
  run.summary.slices += 1;
  testing::NoRecords none;
  Replay replay(none, true);
  replay.take(run.calls.bytes);
  replay.end_calls(false);
  replay.summary(run.summary);
  EXPECT_EQ(replay.result().differences, 1U);
  EXPECT_NE(replay.result().first->recorded.find("\"summary\""), std::string::npos);
}

TEST(Replay, OfOtherRecordsComparesOnlyTheirKinds) {
  RecordedRun run(30);
  const std::size_t last = run.calls.ends.size() - 1;
  std::string bytes = run.calls.bytes;
  // The hash of the last record, wherever it stands.
  for (std::size_t i = last; i > 0; --i) {
    if (bytes[run.calls.ends[i - 1]] != static_cast<char>(Call::record)) continue;
    bytes[run.calls.ends[i] - 1] = static_cast<char>(bytes[run.calls.ends[i] - 1] ^ 1);
    break;
  }
  ASSERT_NE(bytes, run.calls.bytes);
  for (const bool same_layout : {true, false}) {
    testing::NoRecords none;
    Replay replay(none, same_layout);
    replay.take(bytes);
    replay.end_calls(false);
    EXPECT_EQ(replay.result().differences, same_layout ? 1U : 0U);
    EXPECT_EQ(replay.result().first && replay.result().first->now.ends_with(", with other values"), same_layout);
  }
}

// The answer to an event comes behind so many others, and it is not one of them.
TEST(Replay, NamesTheNumberOfEventsBeforeACall) {
  const RecordedRun run(30);
  std::uint64_t events = 0, calls = 0;
  std::string bytes = run.calls.bytes;
  std::uint8_t input = 0;
  for (std::size_t i = 0, begin = 0; i < run.calls.ends.size(); begin = run.calls.ends[i++]) {
    const auto call = static_cast<std::uint8_t>(bytes[begin]);
    const bool is_record = call == static_cast<std::uint8_t>(Call::record);
    if (is_record && input == static_cast<std::uint8_t>(Call::observe)) {
      char& last = bytes[run.calls.ends[i] - 1];
      last = static_cast<char>(last ^ 1);
      break;
    }
    if (call >= static_cast<std::uint8_t>(Call::record)) continue;
    input = call;
    ++calls;
    if (call == static_cast<std::uint8_t>(Call::observe)) ++events;
  }
  testing::NoRecords none;
  Replay replay(none, true);
  replay.take(bytes);
  ASSERT_EQ(replay.result().differences, 1U);
  EXPECT_EQ(replay.result().first->input, "observe");
  EXPECT_EQ(replay.result().first->call, calls);
  EXPECT_EQ(replay.result().first->event + 1, events);
}

TEST(Replay, OfACutRecordingDoesNotMissTheLastAnswers) {
  const RecordedRun run(30);
  for (std::size_t entries = 1; entries < run.calls.ends.size(); entries += 1 + entries / 9) {
    testing::NoRecords none;
    Replay replay(none, true);
    replay.take(std::string_view(run.calls.bytes).substr(0, run.calls.ends[entries - 1]));
    replay.end_calls(true);
    EXPECT_EQ(replay.result().differences, 0U) << entries;
  }
}

// All that the dispatcher may call, once.
TEST(Replay, TakesEveryCall) {
  KeptCalls calls;
  testing::NoRecords none;
  RecordedSession session(SessionOptions{}, none, &calls);
  const TimePoint time(1s);
  const Record passed(0, time, MemoryRecord{1, 2, 3, 4, 5, MemoryEvent::reserved});
  session.looks_within(5us);
  Event event{};
  event.time = time;
  event.kind = EventKind::host_still;
  session.observe(event);
  session.looked(time);
  session.interrupted(time);
  session.no_filling(time, "not yet");
  session.begin_filling(time, {});
  session.finished({});
  session.launched_beside_work(time, 100us);
  session.moved({3, MoveWay::to_device, 4096, 0, time, time, 100us});
  session.look(time, {});
  session.decide(time, {});
  session.next_look(time, {true, 1, true});
  session.pass(passed);
  session.note(time, "a note");
  session.trouble(time, std::string(1000, 'x'), Audience::one_rank);
  session.job_ended(time, 7, true, "it has failed", true);
  session.end_filling(time, "over", Audience::trace);
  session.note_work_under_way(time);
  session.end(time);
  Kept records;
  KeptCalls again;
  Replay replay(records, true, &again);
  replay.take(calls.bytes);
  replay.end_calls(false);
  EXPECT_EQ(replay.result().differences, 0U);
  EXPECT_EQ(again.bytes, calls.bytes);
  std::map<std::uint8_t, int> kinds;
  std::size_t begin = 0;
  for (const std::size_t end : calls.ends) {
    ++kinds[static_cast<std::uint8_t>(calls.bytes[begin])];
    begin = end;
  }
  // launched() needs an open bubble: the other tests have it.
#define INPUT(name, number) EXPECT_EQ(kinds[number], Call::name == Call::launched ? 0 : 1) << #name;
#define ANSWER(name, number) EXPECT_GE(kinds[number], 1) << #name;
#include "runner/recording/calls.def"
#undef INPUT
#undef ANSWER
  EXPECT_EQ(records.hashes.size(), replay.result().records + 1) << "the one that goes past the session";
}

}  // namespace
}  // namespace weft
