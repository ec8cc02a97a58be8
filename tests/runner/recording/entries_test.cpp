// Each struct that a Session is given, into bytes and back.
#include <gtest/gtest.h>

#include <cstring>
#include <limits>
#include <vector>

#include "runner/recording/fields.h"

namespace weft {
namespace {

using std::chrono::nanoseconds;

template <class Value>
Value back(const Value& value) {
  CodingState put_state, take_state;
  Put put(put_state, Call::pass);
  visit(put, value);
  Take take(take_state, put.bytes());
  EXPECT_EQ(take.byte(), static_cast<std::uint8_t>(Call::pass));
  Value result{};
  visit(take, result);
  EXPECT_TRUE(take.good());
  EXPECT_TRUE(take.at_end());
  return result;
}

std::vector<EventKind> event_kinds() {
  return {
#define EVENT(kind, number) EventKind::kind,
#include "detector/event_kinds.def"
#undef EVENT
  };
}

// Other numbers in all fields, some of them the largest that there can be.
Event event_of(EventKind kind) {
  Event event{};
  event.time = TimePoint(nanoseconds(1'234'567'890'123));
  event.kind = kind;
  event.nothing_launched = true;
  event.more_follow = true;
  event.in_graph = InGraph::somewhere;
  event.device = -1;
  event.order = StreamOrder::blocking;
  event.stream = every_stream;
  event.communicator = 7;
  event.group = std::numeric_limits<GroupId>::max();
  event.ticket = std::numeric_limits<Ticket>::max();
  event.done_ticket = 128;
  if (kind == EventKind::group_issued)
    event.summary = {~std::uint64_t{0} - 1, 1, 2, 3, -1, 5, 65535, 6, 7, Captured::unseen_kernel, 1};
  if (kind == EventKind::wait_issued || kind == EventKind::context_waits) event.awaited = {every_stream, 99, true};
  if (kind == EventKind::operations_issued) {
    event.operations[0] = {1ULL << 40, 17, -1, Operation::wait_signals, true, {}};
    event.operations[1] = {};
  }
  if (is_said(kind)) event.saying = {-5, -1, 0, ~std::uint64_t{0}};
  return event;
}

TEST(RecordingEntries, HoldAllOfAnEventOfEachKind) {
  for (const EventKind kind : event_kinds()) {
    const Event event = event_of(kind), read = back(event);
    EXPECT_EQ(std::memcmp(&event, &read, sizeof event), 0) << static_cast<int>(kind);
  }
}

TEST(RecordingEntries, HoldTheStateOfTheFillStream) {
  FillView view;
  view.ready = true;
  for (std::uint32_t i = 0; i < Candidates::most; ++i) view.candidates.alone[i] = nanoseconds(1000 * (i + 1));
  view.candidates.count = Candidates::most;
  view.in_flight = {2, TimePoint(nanoseconds(1LL << 40)), TimePoint(nanoseconds(900)), TimePoint(nanoseconds(800)),
                    nanoseconds(70)};
  view.fillable = Fillable::unasked;
  view.nothing_enqueued = true;
  const FillView read = back(view);
  EXPECT_TRUE(read.ready);
  EXPECT_TRUE(are_same(read.candidates, view.candidates));
  EXPECT_EQ(read.in_flight.slices, 2U);
  EXPECT_EQ(read.in_flight.expected_end, view.in_flight.expected_end);
  EXPECT_EQ(read.in_flight.first_ends, view.in_flight.first_ends);
  EXPECT_EQ(read.in_flight.oldest_launched, view.in_flight.oldest_launched);
  EXPECT_EQ(read.in_flight.oldest_alone, view.in_flight.oldest_alone);
  EXPECT_EQ(read.fillable, view.fillable);
  EXPECT_TRUE(read.nothing_enqueued);
}

TEST(RecordingEntries, ListCandidatesThatAreOfferedAgainOnce) {
  CodingState put_state, take_state;
  FillView view;
  view.candidates = {{nanoseconds(5'000'000), nanoseconds(6'000'000)}, 2};
  std::string bytes;
  std::vector<std::size_t> sizes;
  for (const bool none : {false, true, false}) {
    FillView given = view;
    if (none) given.candidates = {};
    Put put(put_state, Call::look);
    visit(put, given);
    bytes += put.bytes();
    sizes.push_back(put.bytes().size());
  }
  EXPECT_EQ(sizes[1], sizes[2]);
  EXPECT_GT(sizes[0], sizes[2] + 6);
  Take take(take_state, bytes);
  for (const std::uint32_t count : {2U, 0U, 2U}) {
    take.byte();
    FillView read;
    visit(take, read);
    EXPECT_EQ(read.candidates.count, count);
    EXPECT_EQ(are_same(read.candidates, view.candidates), count == 2);
  }
  EXPECT_TRUE(take.good());
}

TEST(RecordingEntries, HoldDecisions) {
  Decision decision;
  decision.launch = true;
  decision.candidate = 31;
  decision.again = TimePoint(nanoseconds(77));
  decision.refusal = Unfilled::one_queue;
  decision.bubble = 1ULL << 50;
  const Decision read = back(decision);
  EXPECT_TRUE(read.launch);
  EXPECT_EQ(read.candidate, 31U);
  EXPECT_EQ(read.again, decision.again);
  EXPECT_EQ(read.refusal, decision.refusal);
  EXPECT_EQ(read.bubble, decision.bubble);
  const Decision none = back(Decision{});
  EXPECT_FALSE(none.launch || none.again || none.refusal);
}

TEST(RecordingEntries, HoldOptions) {
  SessionOptions options;
  options.device = 3;
  options.poll = nanoseconds(12);
  options.planner = {0.5, nanoseconds(1), nanoseconds(6), nanoseconds(5), nanoseconds(2), nanoseconds(7),
                     3,   nanoseconds(4)};
  options.spin = 0.25;
  options.slowdown_budget = std::numeric_limits<double>::infinity();
  options.fills = options.records_groups = true;
  options.detector = {5, 6, 7, 8, true};
  const SessionOptions read = back(options);
  EXPECT_EQ(std::memcmp(&read.slowdown_budget, &options.slowdown_budget, sizeof(double)), 0);
  EXPECT_EQ(read.device, 3);
  EXPECT_EQ(read.poll, options.poll);
  EXPECT_EQ(read.planner.price, 0.5);
  EXPECT_EQ(read.planner.between_slices, nanoseconds(1));
  EXPECT_EQ(read.planner.behind_another, nanoseconds(5));
  EXPECT_EQ(read.planner.lateness, nanoseconds(2));
  EXPECT_EQ(read.planner.surely_late, nanoseconds(7));
  EXPECT_EQ(read.spin, 0.25);
  EXPECT_EQ(read.planner.most_in_flight, 3U);
  EXPECT_EQ(read.planner.hangs_after, nanoseconds(4));
  EXPECT_TRUE(read.fills && read.records_groups && read.detector.one_queue);
  EXPECT_EQ(read.detector.longest_period, 5U);
  EXPECT_EQ(read.detector.most_groups, 6U);
  EXPECT_EQ(read.detector.history, 7U);
  EXPECT_EQ(read.detector.warm_up_iterations, 8U);
}

// By their hashes, which look at all that a trace has of them.
void expect_same(const Record& record) {
  EXPECT_EQ(hash_of(back(record)), hash_of(record)) << record_kind_names[static_cast<std::size_t>(record.kind)];
}

TEST(RecordingEntries, HoldRecordsThatGoPastTheSession) {
  const TimePoint time(nanoseconds(5));
  const std::string long_text(255, 'x');
  JobRecord job{7,  JobName("tune"),   JobEvent::refused, RecordText(long_text), ~std::uint64_t{0},
                {}, JobName("batch=8")};
  job.terms = {-3, 2.5, nanoseconds(9), 11};
  expect_same(Record(1, time, job));
  expect_same(Record(2, time, MemoryRecord{1, 2, 3, 4, 5, MemoryEvent::rescued}));
  expect_same(
      Record(3, time, CommunicatorRecord{4, 5, 6, CommunicatorEvent::closed, 1ULL << 63, RecordText("dp\n\x01")}));
  expect_same(
      Record(4, time, ClockRecord{TimePoint(nanoseconds(6)), nanoseconds(1'800'000'000'000'000'000), nanoseconds(7)}));
}

// Sums and multiples of what a stranger's file says stay within 64 bits.
TEST(RecordingEntries, HoldNoTimesAndLengthsOfMoreThanNineYears) {
  const auto is_taken = [](const auto& value) {
    CodingState put_state, take_state;
    Put put(put_state, Call::pass);
    visit(put, value);
    Take take(take_state, put.bytes());
    take.byte();
    std::remove_cvref_t<decltype(value)> read{};
    visit(take, read);
    return take.good();
  };
  const nanoseconds longest(1LL << 58);
  EXPECT_TRUE(is_taken(longest));
  EXPECT_TRUE(is_taken(-longest));
  EXPECT_TRUE(is_taken(TimePoint(longest)));
  EXPECT_FALSE(is_taken(longest + nanoseconds(1)));
  EXPECT_FALSE(is_taken(-longest - nanoseconds(1)));
  EXPECT_FALSE(is_taken(TimePoint(longest + nanoseconds(1))));
  const nanoseconds today(1'800'000'000'000'000'000);
  EXPECT_TRUE(is_taken(ClockRecord{TimePoint(longest), today, longest}));
  EXPECT_FALSE(is_taken(ClockRecord{TimePoint(longest), today * 2, longest}));
}

TEST(RecordingEntries, HoldFinishedSlices) {
  const SliceRecord slice{7,    8, 9, 10, TimePoint(nanoseconds(11)), TimePoint(nanoseconds(12)), nanoseconds(13),
                          true, -1};
  EXPECT_EQ(hash_of(Record(0, {}, back(slice))), hash_of(Record(0, {}, slice)));
}

// No key of the trace changes without the hash of one changing: two records that differ in it differ.
TEST(RecordHashes, DifferWhereAFieldDiffers) {
  Bubble bubble;
  Bubble other = bubble;
  other.forecast = Forecast{};
  EXPECT_NE(hash_of(Record(0, {}, bubble)), hash_of(Record(0, {}, other)));
  other = bubble;
  other.left_out = true;
  EXPECT_NE(hash_of(Record(0, {}, bubble)), hash_of(Record(0, {}, other)));
  EXPECT_NE(hash_of(Record(0, {}, bubble)), hash_of(Record(0, TimePoint(nanoseconds(1)), bubble)));
  const AnomalyRecord said{RecordText("why"), false, Audience::one_rank},
      kept{RecordText("why"), false, Audience::trace};
  EXPECT_NE(hash_of(Record(0, {}, said)), hash_of(Record(0, {}, kept)));
}

}  // namespace
}  // namespace weft
