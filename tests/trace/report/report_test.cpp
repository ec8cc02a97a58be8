// A report as a whole: the data block of the run in tests/trace/run against a golden file, its sentences beside the
// numbers of `weft summary`, and names that try to break out of the page.
#include "trace/report/report.h"

#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "tests/trace/export/written_run.h"

namespace weft::report {
namespace {

using nlohmann::json;

json data_of(const std::string& directory, std::optional<std::uint64_t> iteration = {}) {
  const ReportedRun run = read_run({directory}, nullptr, iteration);
  return json::parse(data_block(make_report(run, "place", iteration)));
}

json section(const json& data, const std::string& id) {
  for (const json& each : data["sections"])
    if (each["id"] == id) return each;
  return nullptr;
}

// WEFT_TEST_RUN/report.json; a difference is looked at, then written anew with what the failure prints.
TEST(Report, DataBlockOfTheRunInGit) {
  const json data = data_of(WEFT_TEST_RUN);
  EXPECT_EQ(data, json::parse(test::read_file(WEFT_TEST_RUN "/report.json"))) << data.dump(1);
}

TEST(Report, NumbersAreThoseOfTheSummary) {
  const json data = data_of(WEFT_TEST_RUN);
  const json summary = json::parse(to_json(summarize_directories({WEFT_TEST_RUN})));
  const json ranks = section(data, "ranks")["table"]["rows"];
  ASSERT_EQ(ranks.size(), summary["ranks"].size());
  for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
    const json& own = summary["ranks"][rank];
    const json& steady = own["steady"].is_null() ? own : own["steady"];
    EXPECT_EQ(ranks[rank][4], own["iterations"]);
    ASSERT_EQ(ranks[rank][6].is_null(), steady["idle_share"].is_null());
    if (ranks[rank][6].is_null()) continue;
    EXPECT_NEAR(ranks[rank][6].get<double>(), 1e4 * steady["idle_share"].get<double>(), 0.51);
  }
}

TEST(Report, TimelineHasBubblesFillWorkAndWhenTheOtherRankBeganToSend) {
  const test::WrittenRun run;
  const json timeline = section(data_of(run.traces.path()), "timeline");
  ASSERT_EQ(timeline["rows"].size(), 2u);
  EXPECT_EQ(timeline["length"], 1'000'000);
  const json parts = timeline["table"]["rows"];
  ASSERT_EQ(parts.size(), 2u);  // a bubble, and two slices that overlap are one
  EXPECT_EQ(parts[0][0], 1);
  EXPECT_EQ(parts[0][2], 60'000);
  EXPECT_EQ(parts[0][3], 460'000);
  EXPECT_EQ(parts[0][5], 0);        // waits for the other row
  EXPECT_EQ(parts[0][6], 100'000);  // which began to send then
  EXPECT_EQ(timeline["table"]["columns"][1][2][parts[1][1].get<std::size_t>()], "fill");
  EXPECT_EQ(parts[1][2], 100'000);
  EXPECT_EQ(parts[1][3], 400'000);
}

// The bubbles of rank 1 in iteration 1, which waits for rank 0. Lines as rank 1 has them, and what rank 0 sends.
json bubbles_of(const std::string& waiting, const std::string& sending) {
  test::WrittenRun run;
  run.write(0, test::header_line(0, 2) + test::communicator_line(0) + sending + test::iteration_line(1, 1000, 2000, 0) +
                   test::summary_line(1000, 2000));
  run.write(1, test::header_line(1, 2) + test::communicator_line(1) + waiting +
                   test::iteration_line(1, 1000, 2000, 400) + test::summary_line(1000, 2000));
  const json table = section(data_of(run.traces.path()), "timeline")["table"];
  json bubbles = json::array();
  for (const json& row : table["rows"])
    if (row[0] == 1)
      bubbles.push_back({row[2], row[3], row[5], row[6],
                         row[7].is_null() ? json() : table["columns"][7][2][row[7].get<std::size_t>()]});
  return bubbles;
}

TEST(Report, ABubbleThatOtherWorkEndedIsNotEndedByTheMessageThatItWaitedFor) {
  const json bubbles = bubbles_of(test::bubble_line(1, 1060, 1160) + test::bubble_line(2, 1500, 1960) +
                                      test::group_line(1, "receive", 0, 1, 1050, 1950),
                                  test::group_line(1, "send", 1, 1, 1100, 1950));
  ASSERT_EQ(bubbles.size(), 2u);
  EXPECT_EQ(bubbles[0], json::parse(R"([60000, 160000, 0, null, "other work"])"));
  EXPECT_EQ(bubbles[1], json::parse(R"([500000, 960000, 0, 100000, "its message"])"));
}

// Both ends of a message are seen by looks that are apart.
TEST(Report, AnEndIsComparedAsFarAsItIsKnown) {
  const json bubbles = bubbles_of(test::bubble_line(1, 1060, 1460) + test::group_line(1, "receive", 0, 1, 1050, 1461),
                                  test::group_line(1, "send", 1, 1, 1100, 1500));
  ASSERT_EQ(bubbles.size(), 1u);
  EXPECT_EQ(bubbles[0], json::parse(R"([60000, 460000, 0, 100000, "its message"])"));
}

TEST(Report, NoMessageIsSentAfterItHasArrived) {
  const json bubbles = bubbles_of(test::bubble_line(1, 1060, 1460) + test::group_line(1, "receive", 0, 1, 1050, 1450),
                                  test::group_line(1, "send", 1, 1, 1470, 1500));
  ASSERT_EQ(bubbles.size(), 1u);
  EXPECT_EQ(bubbles[0], json::parse(R"([60000, 460000, 0, null, "its message; when that was sent is not known"])"));
}

TEST(Report, ABubbleThatWaitsToSendIsEndedByNoMessage) {
  const json bubbles =
      bubbles_of(test::bubble_line(1, 1060, 1460, "send") + test::group_line(1, "receive", 0, 1, 1050, 1450),
                 test::group_line(1, "send", 1, 1, 1100, 1500));
  ASSERT_EQ(bubbles.size(), 1u);
  EXPECT_EQ(bubbles[0], json::parse(R"([60000, 460000, null, null, null])"));  // its send_peer is none
}

// Their wall clocks say the same, so by these the iteration would begin on the second host 7 ms after it has on the
// first one. `answers`: messages come back, too.
json data_of_two_hosts(bool answers) {
  constexpr long ahead = 7000, latency = 40;
  std::string other_header = test::header_line(1, 2);
  other_header.replace(other_header.find("\"b1\""), 4, "\"b2\"");
  other_header.replace(other_header.find("node-a"), 6, "node-b");
  std::string here = test::header_line(0, 2) + test::communicator_line(0);
  std::string there = other_header + test::communicator_line(1);
  for (int k = 1; k <= 40; ++k) {
    const long time = 1000L * k + 1000, answer = time + 500;
    here += test::group_line(2 * k, "send", 1, k, time, time + latency);
    there += test::group_line(2 * k, "receive", 0, k, time + ahead, time + ahead + latency);
    if (!answers) continue;
    here += test::group_line(2 * k + 1, "receive", 1, k, answer, answer + latency);
    there += test::group_line(2 * k + 1, "send", 0, k, answer + ahead, answer + ahead + latency);
  }
  test::WrittenRun run;
  run.write(0, here + test::iteration_line(1, 10'000, 11'000, 0));
  run.write(1, there + test::iteration_line(1, 10'000 + ahead, 11'000 + ahead, 0));
  return data_of(run.traces.path());
}

TEST(Report, HostsAreOnOneClockByTheirMessages) {
  const json data = data_of_two_hosts(true);
  EXPECT_NEAR(section(data, "timeline")["length"].get<double>(), 1e6, 50'000);
  EXPECT_EQ(section(data, "timeline").dump().find("wall clock"), std::string::npos);
  EXPECT_NE(section(data, "notes").dump().find("clocks: host node-b is 7.000 ms ahead of host node-a"),
            std::string::npos);
}

TEST(Report, HostsWithoutMessagesBothWaysAreSaidToBeBesideEachOtherByWallClocks) {
  const json data = data_of_two_hosts(false);
  EXPECT_EQ(section(data, "timeline")["length"], 8'000'000);
  for (const char* id : {"timeline", "notes"}) {
    const std::string text = section(data, id).dump();
    const std::size_t note = text.find("clocks: host node-b: messages with times went one way only");
    ASSERT_NE(note, std::string::npos) << id;
    EXPECT_EQ(text.find("went one way only", note + 60), std::string::npos) << id << ": once";
  }
}

TEST(Report, WaitsNameTheRankThatWasWaitedFor) {
  const test::WrittenRun run;
  const json pairs = section(data_of(run.traces.path()), "waits")["pairs"]["table"]["rows"];
  ASSERT_EQ(pairs.size(), 1u);
  EXPECT_EQ(pairs[0], json::parse(R"(["rank 1", "rank 0", 400000, 1])"));
}

TEST(Report, AnIterationThatIsNotThereIsNamed) {
  const test::WrittenRun run;
  const json timeline = section(data_of(run.traces.path(), 77), "timeline");
  EXPECT_EQ(timeline["missing"], "no rank has measured iteration 77: there are 1 to 1");
}

TEST(Report, UnmeasuredAndMissingThingsAreSaidAndNotGuessed) {
  test::TemporaryDirectory directory;
  std::ofstream(directory / "rank0.100.jsonl")
      << test::header_line(0, 4, R"(, "idle_unknown": "every launch waits")") << test::summary_line(1000, 2000);
  const json data = data_of(directory.path());
  for (const char* id : {"timeline", "slots", "forecasts", "filling"})
    EXPECT_TRUE(section(data, id).contains("missing")) << id;
  EXPECT_TRUE(section(data, "waits")["frontier"].contains("missing"));
  EXPECT_TRUE(section(data, "ranks")["table"]["rows"][0][6].is_null());
  for (const json& sentence : data["sentences"])
    EXPECT_NE(sentence.get<std::string>().find("not known"), std::string::npos) << sentence;
  EXPECT_NE(section(data, "notes").dump().find("3 left no trace here"), std::string::npos);
}

TEST(Report, NamesFilesWithoutTheirFolders) {
  const test::WrittenRun run;
  std::ofstream(run.path_of(1), std::ios::app) << "no JSON\n";
  std::ofstream(run.traces / "rank2.102.jsonl") << R"({"type": "header", "format": "weft-trace", "version": 99})"
                                                << "\n";
  const json data = data_of(run.traces.path());
  EXPECT_EQ(data.dump().find(run.traces.path()), std::string::npos);
  EXPECT_NE(section(data, "notes").dump().find(": rank1.101.jsonl:"), std::string::npos) << section(data, "notes");
  EXPECT_NE(section(data, "notes").dump().find("rank2.102.jsonl"), std::string::npos) << section(data, "notes");
}

// Shares are of the time after start-up, causes of all of it.
TEST(Report, SaysOfWhichPartOfTheRunItsSentencesAre) {
  const auto summary = [](long idle) {
    return R"({"type": "summary", "rank": 0, "device": 0, "window_begin": 500000, "window_end": 2000000, "iterations": 1, )"
           R"("bubbles": 1, "idle": )" +
           test::us(idle) + R"(, "startup": {"length": 500000, "idle": 500000, "uncertain": 0, "filled": 0}})" + "\n";
  };
  test::WrittenRun run;
  for (const int rank : {0, 1})
    run.write(rank, test::header_line(rank, 2) + test::communicator_line(rank) +
                        test::bubble_line(1, 500, 1000, "host") + test::iteration_line(1, 1000, 2000, 250) +
                        summary(750));
  const std::string sentence = data_of(run.traces.path())["sentences"][0];
  EXPECT_EQ(sentence,
            "The GPUs wait for 25.0 % of the time after start-up; over the whole run 100 % of the idle time is for the "
            "host.");
}

std::string frame_line(const std::string& kind, int number, const std::string& function, const std::string& file) {
  return R"({"type": "call_frame", "time": 1500000, "device": 0, "rhythm": "00000000000000ab", "ordinal": 5, )" +
         (R"("group": 1, "kind": ")" + kind) + R"(", "number": )" + std::to_string(number) + R"(, "function": ")" +
         function + R"(", "file": ")" + file + R"(", "line": 7, "offset": 16})" + "\n";
}

TEST(Report, CallSitesHaveTheInnermostFramesAndThoseOfTheTrainingAndNoFolders) {
  test::TemporaryDirectory directory;
  std::string bubble = test::bubble_line(1, 1200, 1400);
  bubble.replace(bubble.find("\"ordinal\""), 0, R"("rhythm": "00000000000000ab", )");
  const std::string packages = "/opt/lib/python3.11/site-packages/torch/";
  std::ofstream(directory / "rank0.100.jsonl")
      << test::header_line(0, 1) << bubble << frame_line("nvtx", 0, "forward-recv", "")
      << frame_line("python", 0, "isend", packages + "c10d.py")
      << frame_line("python", 1, "exchange", packages + "p2p.py")
      << frame_line("python", 2, "step", packages + "schedules.py")
      << frame_line("python", 3, "train", "/home/somebody/train.py") << frame_line("native", 0, "ncclSend", "a.so")
      << test::iteration_line(1, 1000, 2000, 200) << test::summary_line(1000, 2000);
  const std::string data = data_of(directory.path()).dump();
  EXPECT_NE(data.find("NVTX range forward-recv < c10d.py:7 isend < p2p.py:7 exchange < ... < train.py:7 train\""),
            std::string::npos)
      << data;
  for (const char* const folder : {"somebody", "site-packages", "a.so"})
    EXPECT_EQ(data.find(folder), std::string::npos);
}

// Its summary knows of 800 us of idle time, its records of 400.
TEST(Report, SaysWhatIsOfTheFirstPartOfTheRunOnly) {
  test::WrittenRun run;
  std::string limited = test::header_line(1, 2) + test::communicator_line(1) +
                        test::group_line(1, "receive", 0, 1, 1050, 1450) + test::bubble_line(1, 1060, 1460) +
                        test::iteration_line(1, 1000, 2000, 400) + test::limit_line(2000) +
                        test::summary_line(1000, 3000);
  limited.replace(limited.rfind("\"idle\": 0"), 9, "\"idle\": 800000");
  run.write(1, limited);
  const json data = data_of(run.traces.path());
  EXPECT_NE(
      data["sentences"][0].get<std::string>().find("; over the first part of the run, which the traces hold, 100 %"),
      std::string::npos)
      << data["sentences"][0];
  const std::string part = ", of the 0.8 ms of the whole run: the traces hold only its first part";
  EXPECT_NE(section(data, "waits").dump().find("for neither" + part), std::string::npos) << section(data, "waits");
  EXPECT_NE(section(data, "slots").dump().find("of all ranks: 0.4 ms" + part), std::string::npos);
  EXPECT_NE(section(data, "headline")["causes"]["title"].get<std::string>().find("first part"), std::string::npos);
  const json ranks = section(data, "ranks")["table"];
  EXPECT_EQ(ranks["columns"].back()[0], "receive %");
  EXPECT_FALSE(ranks["rows"][0].back().is_null());
  EXPECT_TRUE(ranks["rows"][1].back().is_null());  // a share of 2000 us, of which the trace has 1000
}

TEST(Report, NamesFromTracesCannotEndTheScriptElement) {
  const std::string evil = R"(</script><script>alert(1)</script><!--&\u2028)";
  test::TemporaryDirectory directory;
  std::string header = test::header_line(0, 1);
  header.replace(header.find("node-a"), 6, evil);
  std::ofstream(directory / "rank0.100.jsonl")
      << header << test::iteration_line(1, 1000, 2000, 0) << test::summary_line(1000, 2000);
  const ReportedRun run = read_run({directory.path()}, nullptr);
  const std::string block = data_block(make_report(run, "</script>"));
  EXPECT_EQ(block.find_first_of("<>&"), std::string::npos);
  EXPECT_TRUE(std::ranges::all_of(block, [](char letter) { return letter >= ' ' && letter <= '~'; }));
  EXPECT_NE(json::parse(block).dump().find("</script><script>alert(1)"), std::string::npos);
}

}  // namespace
}  // namespace weft::report
