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

TEST(Report, WaitsNameTheRankThatWasWaitedFor) {
  const test::WrittenRun run;
  const json pairs = section(data_of(run.traces.path()), "waits")["pairs"]["table"]["rows"];
  ASSERT_EQ(pairs.size(), 1u);
  EXPECT_EQ(pairs[0], json::parse(R"(["rank 1", "rank 0", 400000, 1])"));
}

TEST(Report, AnIterationThatIsNotThereIsNamed) {
  const test::WrittenRun run;
  const json timeline = section(data_of(run.traces.path(), 77), "timeline");
  EXPECT_EQ(timeline["missing"], "no rank has measured iteration 77");
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
