// Reading traces, whole ones and damaged ones, and adding up one of them.
#include "trace/read/summary.h"
#include "trace/totals.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>

#include "tests/trace/temporary_directory.h"
#include "trace/read/file_totals.h"
#include "trace/sample.h"

namespace weft {
namespace {

using namespace std::chrono_literals;
using test::TemporaryDirectory;

const std::string header_line = R"({"type": "header", "format": "weft-trace", "version": 1, "rank": 0, "ranks": 1})";

TraceFile read_text(const std::string& text) {
  TemporaryDirectory directory;
  std::ofstream(directory / "rank0.1.jsonl", std::ios::binary) << text;
  return read_trace(directory / "rank0.1.jsonl");
}

FileTotals totals_of(const std::string& text) {
  TemporaryDirectory directory;
  std::ofstream(directory / "rank0.1.jsonl", std::ios::binary) << text;
  return add_up_file(directory / "rank0.1.jsonl");
}

std::string failure_of(const std::string& text) {
  try {
    read_text(text);
  } catch (const std::runtime_error& error) {
    return error.what();
  }
  return "none";
}

TEST(TraceReader, ALastLineThatBreaksOffIsLeftOut) {
  const TraceFile file = read_text(header_line + "\n" + R"({"type": "iteration"})" + "\n" + R"({"type": "itera)");
  EXPECT_EQ(file.cut_off.lines, 1u);
  EXPECT_EQ(file.unreadable.lines, 0u);
  EXPECT_EQ(file.segments.at(0).records.size(), 1u);
}

TEST(TraceReader, EveryPrefixOfATraceCanBeRead) {
  const std::string whole =
      header_line + "\n" + R"({"type": "iteration", "number": 1})" + "\n" + R"({"type": "summary"})" + "\n";
  for (std::size_t length = 0; length <= whole.size(); ++length) {
    const TraceFile file = read_text(whole.substr(0, length));
    EXPECT_EQ(file.unreadable.lines, 0u) << length;
    EXPECT_EQ(file.cut_off.lines == 1, length > 0 && whole[length - 1] != '\n') << length;
  }
}

TEST(TraceReader, ForeignLinesAreCountedNotFatal) {
  const TraceFile file = read_text("{\"type\": \"iteration\"}\n" + header_line + "\nnot json\n[1]\n{\"type\": 5}\n\n");
  EXPECT_EQ(file.unreadable.lines, 5u);
  EXPECT_EQ(file.segments.size(), 1u);
}

TEST(TraceReader, OtherFormatsAndNewerVersionsAreRefusedInOneLine) {
  EXPECT_TRUE(failure_of(R"({"type": "header", "format": "other"})"
                         "\n")
                  .ends_with("is not a trace of Weft"));
  EXPECT_TRUE(failure_of(R"({"type": "header", "format": 3})"
                         "\n")
                  .ends_with("is not a trace of Weft"));
  EXPECT_TRUE(failure_of(R"({"type": "header", "format": "weft-trace", "version": 3})"
                         "\n")
                  .ends_with("has version 3 of the trace format; this Weft reads up to 2"));
  EXPECT_THROW(read_trace("/nonexistent/trace"), std::runtime_error);
}

TEST(Summary, OfACompleteTraceComesFromItsSummaryLine) {
  const RankSummary rank = add_up_file(WEFT_TEST_RUN "/rank0.100.jsonl").rank;
  EXPECT_TRUE(rank.complete);
  EXPECT_EQ(rank.totals.iterations, 10u);
  EXPECT_EQ(rank.totals.fill_units, 8u);
  EXPECT_DOUBLE_EQ(rank.idle_share(), 0.2);
  EXPECT_DOUBLE_EQ(rank.conversion(), 0.7);
  EXPECT_EQ(rank.totals.iteration_median, Duration(10000000));
  EXPECT_DOUBLE_EQ(rank.forecast_error.value(),
                   0.1);  // of 0, 0.25 and 0.1; the line of the retired kind is passed over
  EXPECT_EQ(rank.idle_by_cause.at("receive"), Duration(4000000));
  EXPECT_EQ(rank.idle_by_cause.at("collective"), Duration(1000000));
  ASSERT_EQ(rank.slots.size(), 2u);
  EXPECT_EQ(rank.slots[0].idle, Duration(4000000));
}

TEST(Summary, OfAKilledProcessComesFromItsRecords) {
  const RankSummary rank = add_up_file(WEFT_TEST_RUN "/rank2.102.jsonl").rank;
  EXPECT_FALSE(rank.complete);
  EXPECT_EQ(rank.totals.iterations, 2u);
  EXPECT_EQ(rank.window, Duration(20000000));
  EXPECT_EQ(rank.totals.idle, Duration(2000000));
  EXPECT_EQ(rank.totals.filled, Duration(1000000));
  EXPECT_EQ(rank.totals.slices, 2u);
  EXPECT_EQ(rank.totals.fill_units, 1u);
  EXPECT_EQ(rank.totals.fill_units_wrong, 1u);
}

TEST(Summary, OfTwoSegmentsIsTheirSum) {
  const std::string summary = R"({"type": "summary", "iterations": 3, "window_begin": 5, "window_end": 15, "idle": 4})";
  const RankSummary rank = totals_of(header_line + "\n" + summary + "\n" + header_line + "\n" + summary + "\n").rank;
  EXPECT_EQ(rank.totals.iterations, 6u);
  EXPECT_EQ(rank.window, Duration(20));
  EXPECT_DOUBLE_EQ(rank.idle_share(), 0.4);
}

TEST(Summary, OfWrongTypesIsZeroNotAFailure) {
  const RankSummary rank =
      totals_of(header_line + "\n" + R"({"type": "bubble", "opened": "x", "closed": null, "cause": 7})" + "\n" +
                R"({"type": "bubble", "opened": 5, "closed": 5, "forecast": {"median": 3}})" + "\n" +
                R"({"type": "summary", "iterations": -4, "filling_stopped": 1})" + "\n")
          .rank;
  EXPECT_EQ(rank.totals.iterations, 0u);
  EXPECT_EQ(rank.totals.idle, Duration(0));
  EXPECT_FALSE(rank.forecast_error);
  EXPECT_EQ(rank.conversion(), 0.0);
}

TEST(Summary, TellsWhyNothingWasFilled) {
  TemporaryDirectory directory;
  std::ofstream(directory / "rank0.1.jsonl") << header_line + "\n" + R"({"type": "summary", "fill_units": 0, )" +
                                                    R"("unfilled": {"no_forecast": 4, "no_room": 7}})" + "\n";
  const RunSummary run = summarize_directories({directory.path()});
  EXPECT_EQ(run.notes, std::vector<std::string>{"rank 0: bubbles without a slice: no_forecast 4, no_room 7"});
  EXPECT_EQ(nlohmann::json::parse(to_json(run))["total"]["unfilled"]["no_room"], 7);
}

TEST(Summary, OfAHeaderAloneIsEmpty) {
  const RankSummary rank = totals_of(header_line + "\n").rank;
  EXPECT_FALSE(rank.complete);
  EXPECT_EQ(rank.window, Duration(0));
}

TEST(Summary, OfPartsHasTheLargerUncertainty) {
  TraceSummary sum, part;
  sum.end_uncertainty = std::chrono::microseconds(20);
  part.end_uncertainty = std::chrono::microseconds(60);
  add_up(sum, part);
  EXPECT_EQ(sum.end_uncertainty, Duration(std::chrono::microseconds(60)));
}

// Ten bubbles of 10 ms in 200 ms, whose ends are known to 25 us; those of the last `late` ones to 3 ms.
RunSummary with_late_ends(int late) {
  TemporaryDirectory directory;
  std::ofstream file(directory / "rank0.1.jsonl");
  file << header_line + "\n";
  for (int i = 0; i < 10; ++i) {
    const std::string within = i < 10 - late ? "25000" : "3000000";
    file << R"({"type": "bubble", "opened": )" << 20'000'000 * i << R"(, "closed": )" << 20'000'000 * i + 10'000'000
         << R"(, "opened_within": )" << within << R"(, "closed_within": )" << within << "}\n";
  }
  file << R"({"type": "summary", "iterations": 0, "window_begin": 0, "window_end": 200000000, "bubbles": 10, )"
       << R"("idle": 100000000, "end_uncertainty": 25000})" << std::endl;
  return summarize_directories({directory.path()});
}

// The median is the same in both: only the tail shows that the thread got no processor.
TEST(Summary, SaysHowLateTheThreadWasAlsoWhereTheMedianHidesIt) {
  const auto late_notes = [](const RunSummary& run) {
    return std::ranges::count_if(run.notes, [](const auto& note) { return note.find("was late") != note.npos; });
  };
  const RunSummary healthy = with_late_ends(0), starved = with_late_ends(3);
  EXPECT_EQ(late_notes(healthy), 0);
  EXPECT_EQ(healthy.total.end_uncertainty_high, Duration(25'000));
  EXPECT_EQ(late_notes(starved), 1);
  EXPECT_EQ(
      std::ranges::count(starved.notes,
                         "rank 0: Weft's thread was late: one in ten ends of bubbles is known to 3.000 ms only (the "
                         "median is 0.025 ms); 18.4 % of the idle time is that close to an end, so its share is "
                         "known to 9.2 points"),
      1);
  EXPECT_EQ(starved.total.idle_near_ends, Duration(18'350'000));
  const auto json = nlohmann::json::parse(to_json(starved));
  EXPECT_EQ(json["ranks"][0]["end_uncertainty_high"], 3'000'000);
  EXPECT_EQ(json["ranks"][0]["idle_near_ends"], 18'350'000);
}

// Numbers from a damaged file do not turn over.
TEST(Summary, UncertaintiesBeyondAllTimeAreTheWholeBubble) {
  const RankSummary rank =
      totals_of(header_line + "\n" +
                R"({"type": "bubble", "opened": 0, "closed": 9, "opened_within": 9223372036854775807, )" +
                R"("closed_within": 9223372036854775807})" + "\n")
          .rank;
  EXPECT_LE(rank.idle_near_ends, Duration(9));
}

TEST(Summary, AStartupThatIsMoreThanTheRunIsUnsure) {
  for (const char* startup : {R"({"length": 900000000, "idle": 0})", R"({"length": 10, "idle": 501})"}) {
    const FileTotals totals =
        totals_of(header_line + "\n" + R"({"type": "summary", "window_begin": 0, "window_end": 1000, "idle": 500, )" +
                  R"("iterations": 3, "startup": )" + startup + "}\n");
    EXPECT_TRUE(totals.rank.unsure) << startup;
  }
}

TEST(Sample, KnowsQuantiles) {
  Sample<int> values(100);
  for (const int value : {5, 1, 4, 2, 3, 9, 8, 7, 6, 0}) values.add(value);
  EXPECT_EQ(values.quantile(0), 0);
  EXPECT_EQ(values.quantile(0.1), 1);
  EXPECT_EQ(values.quantile(0.9), 9);
}

TEST(Sample, OfFewValuesIsAllAndOfManyStandsForThem) {
  Sample<int> few(100);
  EXPECT_EQ(few.median(), 0);
  for (const int value : {5, 1, 9, 3, 7}) few.add(value);
  EXPECT_EQ(few.median(), 5);
  Sample<int> rising(1001);
  for (int value = 0; value < 100000; ++value) rising.add(value);
  EXPECT_EQ(rising.seen(), 100000u);
  EXPECT_NEAR(rising.median(), 50000, 10000);
}

}  // namespace
}  // namespace weft
