// The text of every kind of record, against lines written by hand and against a JSON parser.
#include "trace/write/lines.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <regex>

#include "trace/write/json.h"

namespace weft {
namespace {

using namespace std::chrono_literals;

TimePoint at(std::int64_t nanoseconds) {
  return TimePoint(Duration(nanoseconds));
}

Record record_of(RecordKind kind) {
  Record record;
  record.kind = kind;
  record.device = 1;
  record.time = at(1000);
  return record;
}

std::string line_of(const Record& record) {
  std::string line;
  append_record(line, record);
  EXPECT_TRUE(nlohmann::json::accept(line)) << line;
  return line;
}

TEST(TraceLines, Bubble) {
  Bubble bubble;
  bubble.id = 7;
  bubble.opened = at(100);
  bubble.closed = at(900);
  bubble.group = 42;
  bubble.stream = 2;
  bubble.slot = {3, 1, -1, 2, 65536};
  bubble.cause = Cause::receive;
  bubble.iteration = 5;
  bubble.rhythm = 0xfedc;
  bubble.turn = 4;
  bubble.said = {2, 1, 6};
  bubble.opened_within = 25ns;
  bubble.closed_within = 30ns;
  EXPECT_EQ(
      line_of(Record(1, at(1000), bubble)),
      R"({"type": "bubble", "time": 1000, "device": 1, "id": 7, "opened": 100, "closed": 900, )"
      R"("opened_within": 25, "closed_within": 30, "cause": "receive", "pattern": "event_wait", "stream": 2, "iteration": 5, )"
      R"("rhythm": "000000000000fedc", "turn": 4, "ordinal": 3, "group": 42, "communicator": 1, )"
      R"("send_peer": -1, "receive_peer": 2, "bytes": 65536, "forecast": null, "stage": 2, "chunk": 1, "microbatch": 6, "left_out": false})"
      "\n");
  bubble.rhythm = 0;
  bubble.forecast = Forecast{10ns, 20ns, 30ns, 4};
  const std::string line = line_of(Record(1, at(1000), bubble));
  EXPECT_NE(line.find(R"("forecast": {"low": 10, "median": 20, "high": 30, "samples": 4}, )"), std::string::npos);
  EXPECT_NE(line.find(R"("rhythm": null)"), std::string::npos);
}

TEST(TraceLines, Slice) {
  Record record = record_of(RecordKind::slice);
  record.slice = SliceRecord{1, 9, 2, 7, at(200), at(300), 90ns, true, 1};
  EXPECT_EQ(
      line_of(record),
      R"({"type": "slice", "time": 1000, "device": 1, "job": 1, "unit": 9, "slice": 2, "bubble": 7, "launched": 200, )"
      R"("finished": 300, "alone": 90, "unit_done": true, "correct": true})"
      "\n");
  record.slice.correct = 0;
  EXPECT_NE(line_of(record).find(R"("correct": false)"), std::string::npos);
  record.slice.correct = -1;
  EXPECT_NE(line_of(record).find(R"("correct": null)"), std::string::npos);
}

TEST(TraceLines, IterationMemoryAnomalyCommunicator) {
  Record iteration = record_of(RecordKind::iteration);
  iteration.iteration = Iteration{3, at(1), at(2), 12, 5ns, true, 0xfedcba9876543210, 2, 7ns};
  EXPECT_EQ(line_of(iteration),
            R"({"type": "iteration", "time": 1000, "device": 1, "number": 3, "rhythm": "fedcba9876543210", "turn": 2, )"
            R"("started": 1, "ended": 2, "groups": 12, "idle": 5, "uncertain": 7, "said": -1, "dark": false})"
            "\n");
  iteration.iteration.idle_known = false;
  EXPECT_NE(line_of(iteration).find(R"("idle": null, "uncertain": 7, "said": -1, "dark": false})"), std::string::npos);
  Record memory = record_of(RecordKind::memory);
  memory.memory = MemoryRecord{5, 4, 3, 2, 18446744073709551615u, MemoryEvent::reserved};
  EXPECT_EQ(line_of(memory),
            R"({"type": "memory", "time": 1000, "device": 1, "event": "reserved", "cap": 5, "reserved": 4, )"
            R"("used": 3, "device_free": 2, "device_total": 18446744073709551615})"
            "\n");
  Record anomaly = record_of(RecordKind::anomaly);
  anomaly.anomaly = {};
  anomaly.anomaly.text = "a \"slice\"\nover time";
  anomaly.anomaly.stops_filling = true;
  EXPECT_EQ(line_of(anomaly), R"({"type": "anomaly", "time": 1000, "device": 1, "text": "a \"slice\"\u000aover time", )"
                              R"("stops_filling": true})"
                              "\n");
  Record communicator = record_of(RecordKind::communicator);
  communicator.communicator =
      CommunicatorRecord{2, 3, 4, CommunicatorEvent::closed, 0xfedc, std::string_view("a \"b\"\n\xff")};
  EXPECT_EQ(line_of(communicator), R"({"type": "communicator", "time": 1000, "device": 1, "event": "closed", )"
                                   R"("communicator": 2, "rank": 3, "ranks": 4, "id": "000000000000fedc", )"
                                   R"("name": "a \"b\"\u000a?"})"
                                   "\n");
}

TEST(TraceLines, ALongTextSaysThatItGoesOnAndZerosStay) {
  AnomalyRecord anomaly;
  anomaly.text = std::string(300, 'x');
  EXPECT_EQ(nlohmann::json::parse(line_of(Record(1, at(0), anomaly)))["text"], std::string(251, 'x') + " ...");
  anomaly.text = std::string("a\0b", 3);
  EXPECT_EQ(nlohmann::json::parse(line_of(Record(1, at(0), anomaly)))["text"], std::string("a\0b", 3));
}

TEST(TraceLines, HeaderHasABlankAfterTheColonOfRank) {
  TraceHeader header;
  header.version = 2;
  header.rank = 12;
  header.ranks = 16;
  header.started = at(5);
  header.fill_job = "matmul";
  header.start_id = 5;
  header.wall_clock = 1700s;
  std::string line;
  append_header(line, header);
  std::smatch match;
  ASSERT_TRUE(std::regex_search(line, match, std::regex(R"("rank":\s+(\d+))")));
  EXPECT_EQ(match[1], "12");
  const auto parsed = nlohmann::json::parse(line);
  EXPECT_EQ(parsed["format"], "weft-trace");
  EXPECT_EQ(parsed["version"], 2);
  EXPECT_EQ(parsed["fill_job"], "matmul");
  EXPECT_EQ(parsed["start_id"], 5);
  EXPECT_EQ(parsed["wall_clock"], 1700000000000);
}

TEST(TraceLines, Summary) {
  TraceSummary summary;
  summary.window_begin = at(10);
  summary.window_end = at(20);
  summary.iterations = 3;
  summary.unfilled = {1, 2, 3, 4, 5, 6, 7};
  summary.records_left_out = 6;
  summary.filling_stopped = true;
  summary.reason = "enough";
  summary.startup =
      StartupRecord{.length = Duration(4), .idle = Duration(3), .uncertain = Duration(2), .filled = Duration(1)};
  std::string line;
  append_summary(line, summary);
  EXPECT_EQ(
      line,
      R"({"type": "summary", "rank": 0, "device": 0, "window_begin": 10, "window_end": 20, "iterations": 3, )"
      R"("iteration_median": 0, "bubbles": 0, "idle": 0, "uncertain": 0, "dark": 0, "filled": 0, "idle_left_out": 0, "slices": 0, "moved": 0, "fill_units": 0, )"
      R"("fill_units_wrong": 0, "unfilled": {"no_forecast": 1, "posted_early": 2, "no_room": 3, )"
      R"("held_back": 4, "one_queue": 5, "no_work": 6, "other": 7}, "dropped_records": 0, "records_left_out": 6, "slowdown": null, "watching": null, "filling_stopped": true, )"
      R"("reason": "enough", "fill_stream": "", "fill_confinement": "", "uncertain_reason": "", "end_uncertainty": 0, "cpu": 0, "spun": 0, "groups_thinned_out": 0, "annotations_refused": 0, )"
      R"("annotations_held_back": 0, )"
      R"("jobs": [], "startup": {"length": 4, "idle": 3, "uncertain": 2, "filled": 1}})"
      "\n");
  summary.startup->idle_known = false;
  line.clear();
  append_summary(line, summary);
  EXPECT_TRUE(line.ends_with(R"("startup": {"length": 4, "idle": null, "uncertain": 2, "filled": 1}})"
                             "\n"))
      << line;
  summary.startup.reset();
  line.clear();
  append_summary(line, summary);
  EXPECT_TRUE(line.ends_with(R"("startup": null})"
                             "\n"))
      << line;
}

TEST(TraceLines, Group) {
  GroupRecord group;
  group.id = 42;
  group.communicator = 1;
  group.iteration = 5;
  group.begun_known = true;
  group.begun = at(100);
  group.begun_within = 25ns;
  group.operations.add({Operation::send, 2, 4096, 17});
  group.operations.add({Operation::all_reduce, -1, 8, 3});
  group.left_out = 6;
  EXPECT_EQ(line_of(Record(1, at(1000), group)),
            R"({"type": "group", "time": 1000, "device": 1, "id": 42, "communicator": 1, "iteration": 5, )"
            R"("begun": 100, "begun_within": 25, "ended": null, "ended_within": 0, "operations": )"
            R"([{"kind": "send", "peer": 2, "bytes": 4096, "sequence": 17}, )"
            R"({"kind": "all_reduce", "peer": -1, "bytes": 8, "sequence": 3}], "left_out": 6})"
            "\n");
  group.operations = {};
  EXPECT_NE(line_of(Record(1, at(1000), group)).find(R"("operations": [], )"), std::string::npos);
}

TEST(TraceLines, Clock) {
  EXPECT_EQ(line_of(Record(1, at(1000), ClockRecord{at(10), 1700s, 40ns})),
            R"({"type": "clock", "time": 1000, "device": 1, "monotonic": 10, "wall_clock": 1700000000000, "width": 40})"
            "\n");
}

TEST(TraceLines, Limit) {
  Record record = record_of(RecordKind::limit);
  record.limit = {1 << 20};
  EXPECT_EQ(line_of(record), R"({"type": "limit", "time": 1000, "device": 1, "bytes": 1048576})"
                             "\n");
}

TEST(TraceLines, Slowdown) {
  Record record;
  record.kind = RecordKind::slowdown;
  record.time = TimePoint(7ns);
  record.slowdown = {0.0125, -0.003, 1.5, 6, 40, 0.01, 0.5, 42};
  std::string line;
  append_record(line, record);
  EXPECT_EQ(line,
            R"({"type": "slowdown", "time": 7, "device": 0, "budget": 0.010000, "share": 0.500000, "iteration": 42, )"
            R"("control": 6, "filled": 40, "estimate": 0.012500, "low": -0.003000, "high": 1.500000})"
            "\n");
  TraceSummary summary;
  summary.slowdown = SlowdownRecord{};
  line.clear();
  append_summary(line, summary);
  EXPECT_NE(
      line.find(R"("slowdown": {"budget": 0.000000, "share": 1.000000, "iteration": 0, "control": 0, "filled": 0, )"
                R"("estimate": null, "low": null, "high": null}, "watching": null, "filling_stopped")"),
      std::string::npos)
      << line;
}

TEST(TraceLines, DarkTimeAndThePriceOfWatching) {
  Record dark = record_of(RecordKind::dark);
  dark.dark = {at(200), at(300)};
  EXPECT_EQ(line_of(dark), R"({"type": "dark", "time": 1000, "device": 1, "began": 200, "ended": 300})"
                           "\n");
  Record watching = record_of(RecordKind::watching);
  watching.watching = {0.0125, -0.003, 1.5, 6, 40, 0.01, WatchingLooks::fewer, 42};
  EXPECT_EQ(line_of(watching),
            R"({"type": "watching", "time": 1000, "device": 1, "budget": 0.010000, "looks": "fewer", "iteration": 42, )"
            R"("dark": 6, "watched": 40, "estimate": 0.012500, "low": -0.003000, "high": 1.500000})"
            "\n");
}

TEST(JsonLine, WhatIsNotUtf8BecomesAQuestionMark) {
  std::string out;
  JsonLine(out).text("k", "a\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80\xff\xc3").end();
  EXPECT_EQ(out, "{\"k\": \"a\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80??\"}\n");
  EXPECT_TRUE(nlohmann::json::accept(out));
}

TEST(JsonLine, EveryShortByteStringGivesJson) {
  for (int first = 1; first < 256; ++first)
    for (int second = 1; second < 256; ++second) {
      std::string out;
      const char text[] = {static_cast<char>(first), static_cast<char>(second), '\0'};
      JsonLine(out).text("k", text).end();
      ASSERT_TRUE(nlohmann::json::accept(out)) << first << " " << second;
    }
}

}  // namespace
}  // namespace weft
