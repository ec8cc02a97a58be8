// Truth files as the recorder writes them, damaged ones, and a run of traces with them.
#include "trace/validate/run_validation.h"

#include <gtest/gtest.h>

#include <fstream>
#include <stdexcept>
#include <string>

#include "tests/trace/temporary_directory.h"
#include "trace/validate/truth_file.h"

namespace weft {
namespace {

constexpr const char* header =
    R"({"type": "header", "format": "weft-truth", "version": 1, "rank": 0, "host": "h", "process": 7, "start_id": 3, "cupti": 130001, "library": "l", "started": 0})"
    "\n";
constexpr const char* clocks = R"({"type": "clock", "before": 0, "cupti": 1000000000, "after": 0})"
                               "\n"
                               R"({"type": "device", "cupti": 2, "device": 0})"
                               "\n";
constexpr const char* end_lines =
    R"({"type": "clock", "before": 1000000000, "cupti": 2000000000, "after": 1000000000})"
    "\n"
    R"({"type": "end", "records": 1000, "dropped": 0, "untimed": 0, "unreadable": 0, "unwritten": 0})"
    "\n";
// NCCL from 100 to 500 ms, compute before and after it, fill on stream 9.
constexpr const char* work =
    R"({"type": "work", "rows": [["n",2,1,5,1100000000,1500000000,400000000,1],["k",2,1,4,1000000000,1100000000,90000000,12],["k",2,1,9,1200000000,1300000000,80000000,3]]})"
    "\n"
    R"({"type": "fill", "cupti": 2, "context": 1, "stream": 9})"
    "\n"
    R"({"type": "work", "rows": [["k",2,1,4,1500000000,1900000000,300000000,7],["c",2,1,4,1900000000,1901000000,1000000,1],["k",0,1,4,1100000000,1500000000,400000000,1]]})"
    "\n";

// A trace of the process, with bubbles as "opened, closed" in milliseconds.
std::string trace(const std::string& bubbles, const std::string& window_end = "510000000") {
  return R"({"type": "header", "format": "weft-trace", "version": 2, "weft": "0", "rank": 0, "ranks": 1, "device": 0, "mode": "observe", "fill_job": "", "idle_unknown": "", "nccl": 22809, "driver": 13000, "multiprocessors": 132, "host": "h", "process": 7, "start_id": 3, "started": 0, "wall_clock": 0})"
         "\n" +
         bubbles + R"({"type": "summary", "rank": 0, "device": 0, "window_begin": 0, "window_end": )" + window_end +
         R"(, "iterations": 0, "bubbles": 1, "idle": 400000000, "uncertain": 0, "dropped_records": 0, "filling_stopped": false})"
         "\n";
}

std::string bubble(int opened, int closed) {
  const std::string zeros = "000000";
  return R"({"type": "bubble", "id": 1, "opened": )" + std::to_string(opened) + zeros + R"(, "closed": )" +
         std::to_string(closed) + zeros + R"(, "length": )" + std::to_string(closed - opened) + zeros + "}\n";
}

class RunValidationTest : public ::testing::Test {
 protected:
  void write(const std::string& name, const std::string& text) {
    std::ofstream(directory_.path() + "/" + name) << text;
  }
  TruthFile read(const std::string& text) {
    write("truth0.7.jsonl", text);
    return read_truth_file(directory_.path() + "/truth0.7.jsonl");
  }
  // Its one bubble is of 20 to 300 ms, the true one of 100 to 500 ms.
  std::string likely_cause_of_wrong_trace(const std::string& within) {
    std::string wrong = bubble(20, 300);
    wrong.insert(wrong.find('}'), R"(, "opened_within": )" + within + R"(, "closed_within": )" + within);
    write("rank0.7.jsonl", trace(wrong));
    write("truth0.7.jsonl", std::string(header) + clocks + work + end_lines);
    return validate().ranks[0].likely_cause;
  }
  RunValidation validate() { return validate_directories({directory_.path()}, Bounds{}, shortest_idle); }

  test::TemporaryDirectory directory_;
};

TEST_F(RunValidationTest, ATruthFileIsReadInTheTimeOfTheTrace) {
  const TruthFile file = read(std::string(header) + clocks + work + end_lines);
  ASSERT_EQ(file.devices.size(), 1u);
  const DeviceTruth& truth = file.devices.at(0);
  EXPECT_EQ(truth.communication, (Spans{{100'000'000, 500'000'000}}));
  EXPECT_EQ(truth.compute, (Spans{{0, 100'000'000}, {500'000'000, 900'000'000}}));
  EXPECT_EQ(truth.copies, (Spans{{900'000'000, 901'000'000}}));
  EXPECT_EQ(truth.fill, (Spans{{200'000'000, 300'000'000}}));  // although the stream was named later
  EXPECT_EQ(truth.fill_busy, 80'000'000);
  EXPECT_EQ(truth.fill_records, 3u);
  EXPECT_EQ(file.known, (Span{0, 1'000'000'000}));
  EXPECT_TRUE(file.ended);
  EXPECT_EQ(file.missing(), 0);
}

TEST_F(RunValidationTest, DamagedLinesAreCounted) {
  const TruthFile file = read(std::string(header) + clocks + "not json\n" +
                              R"({"type": "work", "rows": [["n",2],["k",2,1,4,20,10,0,1]]})" + "\n" + work +
                              R"({"type": "work", "rows": [["n")");
  EXPECT_EQ(file.bad_lines, 3u);
  EXPECT_FALSE(file.ended);
  EXPECT_EQ(file.known.end, 901'000'000);  // of the last record that is there
}

TEST_F(RunValidationTest, AForeignOrNewerFileIsRefused) {
  EXPECT_THROW(read("{\"type\": \"header\", \"format\": \"other\", \"version\": 1}\n"), std::runtime_error);
  EXPECT_THROW(read("{\"type\": \"header\", \"format\": \"weft-truth\", \"version\": 2}\n"), std::runtime_error);
  EXPECT_THROW(read(""), std::runtime_error);
}

TEST_F(RunValidationTest, CountsOfPartsOfARunAddUp) {
  const std::string part =
      std::string(header) + clocks +
      R"({"type": "counts", "records": 5, "dropped": 2, "untimed": 0, "unreadable": 0, "unwritten": 0})" + "\n" +
      R"({"type": "end", "records": 10, "dropped": 3, "untimed": 0, "unreadable": 0, "unwritten": 0})" + "\n";
  const TruthFile file = read(part + part);
  EXPECT_EQ(file.records, 20u);
  EXPECT_EQ(file.dropped, 6u);
}

TEST_F(RunValidationTest, ARightTraceAgrees) {
  write("rank0.7.jsonl", trace(bubble(100, 500)));
  write("truth0.7.jsonl", std::string(header) + clocks + work + end_lines);
  const RunValidation run = validate();
  ASSERT_EQ(run.ranks.size(), 1u);
  EXPECT_EQ(run.ranks[0].nothing, "");
  EXPECT_TRUE(run.agrees());
  EXPECT_TRUE(run.ranks[0].notes.empty());
  EXPECT_DOUBLE_EQ(*run.ranks[0].comparison.coverage, 1);
  EXPECT_NE(to_text(run).find("verdict: the rank keeps the bounds"), std::string::npos);
  EXPECT_EQ(to_text(run).find("held against CUPTI, "), 0u);
  EXPECT_NE(to_json(run).find("\"agrees\": true"), std::string::npos);
}

TEST_F(RunValidationTest, BubblesThatTheProgramSaysAreNamedAndBreakNoBound) {
  std::string said = bubble(320, 460);
  said.insert(said.find('}'), R"(, "pattern": "said", "cause": "schedule")");
  std::string two_kernels = work;
  const std::string one = "1500000000,400000000,1],";
  two_kernels.replace(two_kernels.find(one), one.size(),
                      R"(1300000000,200000000,1],["n",2,1,5,1480000000,1500000000,20000000,1],)");
  write("rank0.7.jsonl", trace(bubble(100, 300) + said + bubble(480, 500)));
  write("truth0.7.jsonl", std::string(header) + clocks + two_kernels + end_lines);
  const RunValidation run = validate();
  EXPECT_DOUBLE_EQ(*run.ranks[0].comparison.precision, 1);
  EXPECT_TRUE(run.ranks[0].faults.empty());
  EXPECT_TRUE(run.agrees()) << to_text(run);
  EXPECT_NE(to_text(run).find("  said by the program: 1 bubbles, 27.45 % of the window, and the training computed in "
                              "0.00 % of that"),
            std::string::npos)
      << to_text(run);
  EXPECT_NE(to_json(run).find("\"bubbles_said\": 1,"), std::string::npos);
}

TEST_F(RunValidationTest, AWrongTraceDoesNotAgree) {
  write("rank0.7.jsonl", trace(bubble(20, 300)));
  write("truth0.7.jsonl", std::string(header) + clocks + work + end_lines);
  const RunValidation run = validate();
  EXPECT_FALSE(run.agrees());
  EXPECT_TRUE(run.differs());
  EXPECT_EQ(run.ranks[0].faults.size(), 2u);
  EXPECT_NE(to_text(run).find("rank 0: 50.0 % of the true idle time was neither reported nor uncertain"),
            std::string::npos)
      << to_text(run);
}

// The fault may be the host's: the thread got no processor, and the trace says so.
TEST_F(RunValidationTest, AWrongTraceOfALateThreadNamesThatAsALikelyCause) {
  EXPECT_EQ(likely_cause_of_wrong_trace("25000"), "");
  EXPECT_EQ(likely_cause_of_wrong_trace("80000000").find("Weft's thread was late: "), 0u);
  EXPECT_NE(to_text(validate()).find("\n  rank 0: a likely cause: Weft's thread was late: "), std::string::npos);
  EXPECT_NE(to_json(validate()).find("\"likely_cause\": \"Weft's thread was late: "), std::string::npos);
}

// 39 points of idle time are missing; ends that are known to 1.6 points in all do not explain that, nor to 8 points.
TEST_F(RunValidationTest, ALatenessThatIsMuchSmallerThanTheErrorIsNoLikelyCause) {
  EXPECT_EQ(likely_cause_of_wrong_trace("4000000"), "");
  EXPECT_EQ(to_text(validate()).find("a likely cause"), std::string::npos);
  EXPECT_EQ(likely_cause_of_wrong_trace("20000000"), "");
  EXPECT_NE(likely_cause_of_wrong_trace("40000000"), "");
}

TEST_F(RunValidationTest, DroppedRecordsLeaveItOpen) {
  write("rank0.7.jsonl", trace(bubble(100, 500)));
  write("truth0.7.jsonl",
        std::string(header) + clocks + work +
            R"({"type": "end", "records": 1000, "dropped": 20, "untimed": 0, "unreadable": 0, "unwritten": 0})" + "\n");
  const RunValidation run = validate();
  EXPECT_FALSE(run.ranks[0].decided());
  EXPECT_FALSE(run.agrees());
  EXPECT_FALSE(run.differs());
  EXPECT_NE(to_text(run).find("20 records were dropped by CUPTI: the truth is partial"), std::string::npos);
  EXPECT_NE(to_text(run).find("verdict: none, nothing can be said of some ranks\n  rank 0: nothing can be said: 2 % of "
                              "CUPTI's records are missing"),
            std::string::npos)
      << to_text(run);
}

TEST_F(RunValidationTest, WhatComesAfterTheLastRecordIsNotCompared) {
  // Another profiler has taken the records at 500 ms; the second bubble cannot be judged.
  write("rank0.7.jsonl", trace(bubble(100, 500) + bubble(600, 800), "900000000"));
  write("truth0.7.jsonl", std::string(header) + clocks + work + end_lines);
  const RunValidation run = validate();
  EXPECT_EQ(run.ranks[0].comparison.window, 500'000'000);
  EXPECT_EQ(run.ranks[0].comparison.trace_window, 900'000'000);
  EXPECT_NE(to_text(run).find("another profiler may have taken CUPTI"), std::string::npos);
  EXPECT_NE(to_text(run).find("rank 0: nothing can be said: only 55.6 % of the trace's window could be compared"),
            std::string::npos);
  EXPECT_FALSE(run.agrees());
}

// Each of these alone leaves it open, with its reason; without it the same run agrees.
class OpenVerdictTest : public RunValidationTest {
 protected:
  void expect_open(const std::string& why) {
    const RunValidation run = validate();
    EXPECT_FALSE(run.agrees());
    EXPECT_FALSE(run.differs());
    EXPECT_NE(to_text(run).find(why), std::string::npos) << to_text(run);
  }
  void write_truth(const std::string& text) { write("truth0.7.jsonl", text); }
};

TEST_F(OpenVerdictTest, WithoutClocks) {
  write("rank0.7.jsonl", trace(bubble(100, 500)));
  std::string text = std::string(header) + clocks + work + end_lines;
  for (std::size_t found; (found = text.find("\"clock\"")) != std::string::npos;) text.replace(found, 7, "\"other\"");
  write_truth(text);
  expect_open("CUPTI's clock could not be read");
}

TEST_F(OpenVerdictTest, WithAClockThatWentBack) {
  write("rank0.7.jsonl", trace(bubble(100, 500)));
  write_truth(std::string(header) + clocks + work +
              R"({"type": "clock", "before": 900000000, "cupti": 1, "after": 900000000})" + "\n" + end_lines);
  expect_open("one of the two clocks was set back");
}

TEST_F(OpenVerdictTest, WithClocksThatAreFarApart) {
  write("rank0.7.jsonl", trace(bubble(100, 500)));
  write_truth(std::string(header) + clocks + work +
              R"({"type": "clock", "before": 500000000, "cupti": 1500000000, "after": 500202000})" + "\n" + end_lines);
  expect_open("times may be wrong by 101.0 us (bound: 100 us)");
}

TEST_F(OpenVerdictTest, WhereTheTrainingHasNoKernels) {
  write("rank0.7.jsonl", trace(bubble(100, 500)));
  std::string text = std::string(header) + clocks + work + end_lines;
  for (std::size_t found; (found = text.find("[\"k\"")) != std::string::npos;) text[found + 2] = 'c';
  write_truth(text);
  expect_open("CUPTI shows no kernel in the trace's window but those of NCCL");
}

TEST_F(OpenVerdictTest, WhereWeftDroppedRecords) {
  std::string text = trace(bubble(100, 500));
  text.replace(text.find("\"dropped_records\": 0"), 20, "\"dropped_records\": 9");
  write("rank0.7.jsonl", text);
  write_truth(std::string(header) + clocks + work + end_lines);
  expect_open("the trace lacks 9 records that Weft dropped");
}

TEST_F(OpenVerdictTest, WhereAPartOfTheTraceHasNoWindow) {
  write("rank0.7.jsonl", trace(bubble(100, 500)) + trace("", "0"));
  write_truth(std::string(header) + clocks + work + end_lines);
  expect_open("a part of the trace has no window");
}

TEST_F(OpenVerdictTest, WhereNcclRanOutsideTheWindow) {
  write("rank0.7.jsonl", trace(bubble(100, 490), "490000000"));
  write_truth(std::string(header) + clocks + work + end_lines);
  expect_open("CUPTI shows 10.0 ms of NCCL's kernels outside the trace's window");
}

TEST_F(OpenVerdictTest, WhereALaterPartOfTheTraceIsGone) {
  std::string cut = trace(bubble(98, 440));  // the window is that of its records
  cut.erase(cut.find(R"({"type": "summary")"));
  write("rank0.7.jsonl", cut);
  write_truth(std::string(header) + clocks + work + end_lines);
  expect_open("CUPTI shows 60.0 ms of NCCL's kernels outside the trace's window");
  // The records of a killed process need not reach equally far.
  cut.replace(cut.find("440"), 3, "490");
  write("rank0.7.jsonl", cut);
  EXPECT_TRUE(validate().agrees());
}

TEST_F(OpenVerdictTest, WhereRanksAreMissing) {
  std::string text = trace(bubble(100, 500));
  text.replace(text.find("\"ranks\": 1"), 10, "\"ranks\": 2");
  write("rank0.7.jsonl", text);
  write_truth(std::string(header) + clocks + work + end_lines);
  expect_open("note: the job has 2 ranks; of 1 there is no trace");
}

TEST_F(OpenVerdictTest, WhereATruthFileHasNoTrace) {
  write("rank0.7.jsonl", trace(bubble(100, 500)));
  write_truth(std::string(header) + clocks + work + end_lines);
  std::string other = header;
  other.replace(other.find("\"process\": 7"), 12, "\"process\": 8");
  write("truth1.8.jsonl", other + clocks + work + end_lines);
  expect_open("truth1.8.jsonl");
  write("rank1.8.jsonl", "of an earlier run\n");  // left out, and so is the truth beside it
  EXPECT_TRUE(validate().agrees());
}

TEST_F(OpenVerdictTest, WhereALaterPartWasNotRecorded) {
  write("rank0.7.jsonl", trace(bubble(100, 500), "2000000000"));
  write_truth(std::string(header) + clocks + work + end_lines + header + R"({"type": "off", "reason": "gone"})" + "\n");
  expect_open("in a part of the run nothing was recorded: gone");
}

TEST_F(RunValidationTest, AFaultCountsBesideARankOfWhichNothingCanBeSaid) {
  write("rank0.7.jsonl", trace(bubble(20, 300)));
  write("truth0.7.jsonl", std::string(header) + clocks + work + end_lines);
  std::string text = trace(bubble(100, 500));
  for (const std::string key : {"\"process\": 7", "\"rank\": 0"})
    for (std::size_t found; (found = text.find(key)) != std::string::npos;) text[found + key.size() - 1] = '5';
  write("rank5.5.jsonl", text);
  const RunValidation run = validate();
  ASSERT_EQ(run.ranks.size(), 2u);
  EXPECT_FALSE(run.ranks[1].decided());
  EXPECT_TRUE(run.differs());
}

TEST_F(RunValidationTest, ATornLastLineIsTheEndOfAKilledProcess) {
  const TruthFile file = read(std::string(header) + clocks + work + end_lines + R"({"type": "work", "rows": [["n")");
  EXPECT_TRUE(file.torn);
  EXPECT_FALSE(file.ended);
  EXPECT_EQ(file.bad_lines, 0u);
}

TEST_F(RunValidationTest, AProcessThatWasKilledBeforeTheFirstRecordsSaysSo) {
  write("rank0.7.jsonl", trace(bubble(100, 500)));
  write("truth0.7.jsonl", std::string(header) + clocks);
  EXPECT_EQ(validate().ranks.at(0).nothing,
            "the process was killed, or still runs, and none of CUPTI's records had been written by then");
  write("truth0.7.jsonl", std::string(header) + clocks + end_lines);
  EXPECT_EQ(validate().ranks.at(0).nothing, "CUPTI has recorded nothing");
}

TEST_F(RunValidationTest, StreamsOfTwoContextsAreToldApart) {
  const TruthFile file = read(
      std::string(header) + clocks + R"({"type": "fill", "cupti": 2, "context": 1, "stream": 9})" + "\n" +
      R"({"type": "work", "rows": [["k",2,1,9,1000000000,1100000000,5,1],["k",2,6,9,1200000000,1300000000,7,1]]})" +
      "\n");
  EXPECT_EQ(file.devices.at(0).fill_busy, 5);
  EXPECT_EQ(file.devices.at(0).compute, (Spans{{200'000'000, 300'000'000}}));
}

TEST_F(RunValidationTest, ARunWithoutTruthSaysSo) {
  write("rank0.7.jsonl", trace(bubble(100, 500)));
  EXPECT_NE(to_text(validate()).find("rank 0: not validated: there is no truth file"), std::string::npos);
  EXPECT_EQ(to_text(validate()).find("held against CUPTI"), std::string::npos);
  write("truth0.7.jsonl", std::string(header) + "{\"type\": \"off\", \"reason\": \"no CUPTI here\"}\n");
  EXPECT_NE(to_text(validate()).find("rank 0: not validated: no CUPTI here"), std::string::npos);
  EXPECT_FALSE(validate().agrees());
}

TEST_F(RunValidationTest, AFolderThatIsNamedTwiceIsLookedAtOnce) {
  write("rank0.7.jsonl", trace(bubble(100, 500)));
  const std::string truth = std::string(header) + clocks + work + end_lines;
  write("truth0.7.jsonl", truth);
  write("truth1.7.jsonl", "nothing\n");
  const std::vector<std::string> twice{directory_.path(), directory_.path() + "/"};
  EXPECT_EQ(to_text(validate_directories(twice, Bounds{}, shortest_idle)), to_text(validate()));
  EXPECT_EQ(validate_directories(twice, Bounds{}, shortest_idle).ranks.size(), 1u);
  EXPECT_EQ(truth_bytes(twice, {{"h", 7, 3}}), truth.size());
}

TEST_F(RunValidationTest, OnlyTheTruthOfTheseProcessesIsLookedFor) {
  const std::string text = std::string(header) + clocks + work + end_lines;
  EXPECT_EQ(truth_bytes({directory_.path()}, {{"h", 7, 3}}), 0u);
  write("truth0.7.jsonl", text);
  write("truth1.7.jsonl", "nothing\n");
  EXPECT_EQ(truth_bytes({directory_.path()}, {{"h", 7, 3}}), text.size());
  EXPECT_EQ(truth_bytes({directory_.path()}, {{"h", 7, 4}}), 0u);  // an older run's
}

TEST_F(RunValidationTest, TheTruthOfAnotherProcessIsNotTaken) {
  write("rank0.7.jsonl", trace(bubble(100, 500)));
  std::string other = header;
  other.replace(other.find("\"start_id\": 3"), 13, "\"start_id\": 4");
  write("truth0.7.jsonl", other + clocks + work + end_lines);
  EXPECT_NE(to_text(validate()).find("there is no truth file"), std::string::npos);
}

}  // namespace
}  // namespace weft
