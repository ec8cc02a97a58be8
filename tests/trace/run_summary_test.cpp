// Adding up the traces of a run: ranks, segments, processes, runs before, and the notes; the run in run/ was written by
// hand.
#include "trace/read/summary.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <initializer_list>
#include <sstream>

#include "tests/trace/temporary_directory.h"
#include "trace/read/file_totals.h"

namespace weft {
namespace {

using namespace std::chrono_literals;
using test::TemporaryDirectory;

TEST(Summary, OfADirectoryAsTextAndAsJson) {
  const RunSummary run = summarize_directories({WEFT_TEST_RUN});
  EXPECT_EQ(to_text(run, "weft-7"), test::read_file(WEFT_TEST_RUN "/expected.txt"));
  EXPECT_EQ(to_json(run), test::read_file(WEFT_TEST_RUN "/expected.json"));
}

std::string header_of(int rank, int device, int process, std::int64_t started, int ranks = 2,
                      const std::string& host = "node", int start_id = 0) {
  return R"({"type": "header", "format": "weft-trace", "version": 1, "ranks": )" + std::to_string(ranks) +
         R"(, "host": ")" + host + R"(", "rank": )" + std::to_string(rank) + R"(, "device": )" +
         std::to_string(device) + R"(, "process": )" + std::to_string(process) + R"(, "start_id": )" +
         std::to_string(start_id) + R"(, "started": 1000, "wall_clock": )" + std::to_string(started) + "}\n";
}

// The process ran for that long.
std::string summary_after(std::int64_t length, int iterations = 3) {
  return R"({"type": "summary", "window_begin": 1000, "window_end": )" + std::to_string(1000 + length) +
         R"(, "startup": {"length": )" + std::to_string(length / 10) + R"(, "idle": 0, "uncertain": 0, "filled": 0})" +
         R"(, "iteration_median": 20, "iterations": )" + std::to_string(iterations) + "}\n";
}

bool has_note(const RunSummary& run, const std::string& text) {
  return std::ranges::any_of(run.notes, [&](const std::string& note) { return note.find(text) != std::string::npos; });
}

TEST(Summary, OfOneRankWithTwoDevicesCountsBothAndLeavesOutTheRunBefore) {
  TemporaryDirectory directory;
  std::ofstream(directory / "rank0.7.jsonl") << header_of(0, 0, 7, 100);
  std::ofstream(directory / "rank0.7.device1.jsonl") << header_of(0, 1, 7, 110);
  std::ofstream(directory / "rank0.5.device1.jsonl") << header_of(0, 1, 5, 60);
  std::ofstream(directory / "rank0.5.device2.jsonl") << header_of(0, 2, 5, 70);
  const RunSummary run = summarize_directories({directory.path()});
  ASSERT_EQ(run.ranks.size(), 2u);
  EXPECT_EQ(run.ranks[0].header.device, 0);
  EXPECT_EQ(run.ranks[1].header.device, 1);
  EXPECT_EQ(run.ranks[1].header.process, 7);
  EXPECT_NE(std::find(run.notes.begin(), run.notes.end(), "traces of earlier runs that are left out: 2"),
            run.notes.end());
  EXPECT_NE(std::find(run.notes.begin(), run.notes.end(), "the job has 2 ranks; 1 left no trace here"),
            run.notes.end());
  const std::string text = to_text(run, "here");
  EXPECT_TRUE(text.starts_with("here: 1 rank, 2 devices (rank/device)")) << text;
  EXPECT_NE(text.find("\n 0/1 "), std::string::npos) << text;
}

TEST(Summary, SaysWhichRanksCountForLessBecauseTheirTracesAreShorter) {
  const auto notes_of = [](std::int64_t first, std::int64_t second) {
    TemporaryDirectory directory;
    std::ofstream(directory / "rank0.7.jsonl") << header_of(0, 0, 7, 100) << summary_after(first);
    std::ofstream(directory / "rank1.8.jsonl") << header_of(1, 0, 8, 100) << summary_after(second);
    return summarize_directories({directory.path()});
  };
  EXPECT_TRUE(has_note(notes_of(20'000'000'000, 5'000'000'000),
                       "rank 1: trace of 4.5 s (others up to 18 s): counts for less in the shares of all ranks"));
  EXPECT_FALSE(has_note(notes_of(20'000'000'000, 19'000'000'000), "count for less"));
}

TEST(Summary, OfSegmentsOfTwoProcessesCountsTheLastProcessOnly) {
  TemporaryDirectory directory;
  std::ofstream(directory / "rank0.1.jsonl")
      << header_of(0, 0, 1, 100, 2, "node", 7) << summary_after(50, 14) << header_of(0, 0, 1, 900, 2, "node", 8)
      << summary_after(50, 3) << header_of(0, 0, 1, 980, 2, "node", 8) << summary_after(10, 2);
  const FileTotals totals = add_up_file(directory / "rank0.1.jsonl");
  EXPECT_EQ(totals.rank.totals.iterations, 5u);
  EXPECT_EQ(totals.rank.window, Duration(60));
  EXPECT_EQ(totals.segments_of_others, 1u);
  EXPECT_EQ(totals.begin, Duration(900));
  EXPECT_EQ(totals.end, Duration(990));
}

// With a killed process on a machine with another uptime, too.
TEST(Summary, OfARestartWithTheSameProcessIdShowsTheLastRun) {
  TemporaryDirectory directory;
  std::ofstream(directory / "rank0.1.jsonl") << header_of(0, 0, 1, 100, 1, "one", 7) << summary_after(50, 14);
  std::ofstream(directory / "rank0.1.2.jsonl")
      << header_of(0, 0, 1, 900, 1, "two", 8)
      << R"({"type": "iteration", "time": 1040, "started": 1000, "ended": 1040})"
      << "\n";
  const RunSummary run = summarize_directories({directory.path()});
  ASSERT_EQ(run.ranks.size(), 1u);
  EXPECT_EQ(run.ranks[0].totals.iterations, 1u);
  EXPECT_EQ(run.ranks[0].window, Duration(40));
  EXPECT_TRUE(has_note(run, "traces of earlier runs that are left out: 1"));
}

// A process that has seen so many iterations of so many milliseconds.
std::string trace_of_iterations(int rank, int iterations, std::int64_t milliseconds) {
  std::string text = header_of(rank, 0, rank + 1, 100);
  for (int number = 0; number < iterations; ++number)
    text += R"({"type": "iteration", "started": 1000, "ended": )" + std::to_string(1000 + milliseconds * 1'000'000) +
            R"(, "time": )" + std::to_string(1000 + milliseconds * 1'000'000) + "}\n";
  return text + summary_after(40'000'000'000, iterations);
}

std::string disagreement(int iterations, int milliseconds, int other_iterations, int other_milliseconds) {
  TemporaryDirectory directory;
  std::ofstream(directory / "rank0.1.jsonl") << trace_of_iterations(0, iterations, milliseconds);
  std::ofstream(directory / "rank1.2.jsonl") << trace_of_iterations(1, other_iterations, other_milliseconds);
  const RunSummary run = summarize_directories({directory.path()});
  std::string notes;
  for (const std::string& note : run.notes) notes += note + "\n";
  return notes;
}

// The notes on two ranks that have said these numbers.
std::string notes_on_said(const std::vector<int>& numbers, const std::vector<int>& other_numbers) {
  TemporaryDirectory directory;
  for (const int rank : {0, 1}) {
    const std::vector<int>& said = rank == 0 ? numbers : other_numbers;
    std::ofstream file(directory / ("rank" + std::to_string(rank) + "." + std::to_string(rank + 1) + ".jsonl"));
    file << header_of(rank, 0, rank + 1, 100);
    for (const int number : said)
      file << R"({"type": "iteration", "started": 1000, "ended": 100001000, "time": 100001000, "said": )" << number
           << "}\n";
    file << summary_after(40'000'000'000, static_cast<int>(said.size()));
  }
  std::string notes;
  for (const std::string& note : summarize_directories({directory.path()}).notes)
    if (note.find("annotations") != std::string::npos) notes += note + "\n";
  return notes;
}

std::vector<int> numbers_from(int first, int count, int step = 1) {
  std::vector<int> numbers;
  for (int i = 0; i < count; ++i) numbers.push_back(first + i * step);
  return numbers;
}

// include/weft/annotate.h demands the same ones.
TEST(Summary, SaysWhereTheRanksSayOtherNumbersForTheirIterations) {
  const std::vector<int> twelve = numbers_from(0, 12);
  EXPECT_EQ(notes_on_said(twelve, numbers_from(100, 12)),
            "ranks give their iterations other numbers (annotations): 0 to 11 on rank 0, 100 to 111 on rank 1 (12 and "
            "12 of them); an iteration has to have the same number on all ranks: if these are the same ones, each rank "
            "leaves out fill in other ones\n");
  EXPECT_NE(notes_on_said(twelve, numbers_from(0, 12, 2)), "") << "by two";
  EXPECT_NE(notes_on_said(numbers_from(0, 12, 2), twelve), "");
  EXPECT_NE(notes_on_said(numbers_from(1, 12), twelve), "") << "from one";
  EXPECT_NE(notes_on_said(numbers_from(50, 11), twelve), "");
}

TEST(Summary, RanksMaySayPartOfTheNumbers) {
  const std::vector<int> twelve = numbers_from(0, 12);
  EXPECT_EQ(notes_on_said(twelve, twelve), "");
  EXPECT_EQ(notes_on_said(twelve, numbers_from(1, 11)), "") << "it heard the first too late";
  EXPECT_EQ(notes_on_said(twelve, numbers_from(0, 11)), "") << "it ended earlier";
  EXPECT_EQ(notes_on_said(twelve, numbers_from(6, 6)), "") << "it joined later";
  EXPECT_EQ(notes_on_said(twelve, numbers_from(0, 6, 2)), "") << "it communicates in every second one";
  EXPECT_EQ(notes_on_said(twelve, {0, 1, 2, 3, 4, 6, 7, 8, 9, 10, 11}), "") << "one was left out";
  EXPECT_EQ(notes_on_said(twelve, {}), "") << "it says none";
  EXPECT_EQ(notes_on_said(numbers_from(0, 3), numbers_from(9, 3)), "") << "too few";
}

TEST(Summary, SaysWhereTheRanksHaveDifferentIterations) {
  EXPECT_EQ(
      disagreement(20, 560, 22, 74),
      "iterations take 560.0 ms on rank 0 (20 of them) and 74.0 ms on rank 1 (22 of them): if they are stages of "
      "one pipeline, one of them took something else for an iteration\n"
      "ranks disagree about the number of iterations: 22 on rank 1 (start-up 4.00 s), 20 on rank 0 (start-up 4.00 "
      "s); a rank counts from where it has found what repeats, or took something else for an iteration\n");
  EXPECT_EQ(disagreement(39, 100, 40, 104), "");
  const auto has = [](const std::string& notes, const char* part) { return notes.find(part) != std::string::npos; };
  EXPECT_TRUE(
      disagreement(38, 100, 40, 104).starts_with("ranks disagree about the number of iterations: 40 on rank 1"));
  EXPECT_TRUE(has(disagreement(0, 0, 20, 100), "20 on rank 1 (start-up 4.00 s), 0 on rank 0;"));
  EXPECT_TRUE(has(disagreement(0, 0, 20, 100), "no iteration was found on rank 0: all of the run counts as start-up"));
  EXPECT_EQ(disagreement(3, 100, 4, 300), "") << "too few to tell";
}

// Evaluation, or steps that were cut in pieces.
TEST(Summary, SaysWhereIterationsDiffer) {
  const auto notes = [](int alike, std::int64_t milliseconds, int others, std::int64_t other_milliseconds) {
    TemporaryDirectory directory;
    std::string text = trace_of_iterations(0, alike, milliseconds), more;
    const std::string other = trace_of_iterations(0, others, other_milliseconds);
    more = other.substr(other.find('\n') + 1);  // without its header
    text.erase(text.find(R"({"type": "summary")"));
    std::ofstream(directory / "rank0.1.jsonl")
        << text << more.substr(0, more.find(R"({"type": "summary")")) << summary_after(40'000'000'000, alike + others);
    std::vector<std::string> said = summarize_directories({directory.path()}).notes;
    std::erase_if(said, [](const std::string& note) { return !note.starts_with("iterations differ"); });
    return said;
  };
  EXPECT_EQ(notes(12, 400, 4, 20),
            std::vector<std::string>{"iterations differ on all ranks, one in ten is shorter than 20.0 ms and one in "
                                     "ten longer than 400.0 ms on rank 0: if the training's steps do not, evaluation "
                                     "or parts of a step were taken for iterations"});
  EXPECT_TRUE(notes(20, 400, 1, 20).empty());
  EXPECT_TRUE(notes(12, 400, 4, 300).empty());
  EXPECT_TRUE(notes(5, 400, 4, 20).empty()) << "too few to tell";
}

// Two segments, of which each has a start-up.
std::string trace_with_startup(int rank) {
  std::string text;
  for (int segment = 0; segment < 2; ++segment)
    text += header_of(rank, 0, rank + 1, 100) +
            R"({"type": "summary", "window_begin": 1000000000, "window_end": 2000000000, "iterations": 5, )"
            R"("idle": 500000000, "uncertain": 50000000, "filled": 100000000, "startup": {"length": 200000000, )"
            R"("idle": 180000000, "uncertain": 10000000, "filled": 36000000}})"
            "\n";
  return text;
}

TEST(Summary, ShowsTheSteadyStateAndTheStartupBesideIt) {
  TemporaryDirectory directory;
  for (const int rank : {0, 1})
    std::ofstream(directory / ("rank" + std::to_string(rank) + ".jsonl")) << trace_with_startup(rank);
  const RunSummary run = summarize_directories({directory.path()});
  EXPECT_EQ(run.ranks[0].window, Duration(2s)) << "of all segments, start-up included";
  EXPECT_DOUBLE_EQ(run.ranks[0].idle_share(), 0.5);
  ASSERT_TRUE(run.ranks[0].steady());
  EXPECT_EQ(run.ranks[0].steady()->window, Duration(1600ms));
  EXPECT_DOUBLE_EQ(run.ranks[0].steady()->idle_share(), 0.4);
  EXPECT_DOUBLE_EQ(run.ranks[0].steady()->conversion(), 0.2);
  const std::string text = to_text(run, "here");
  const std::string shares = "0.000    40.00        5.00         20.0      0.400 ";
  EXPECT_NE(text.find("\n   1         10         " + shares), std::string::npos) << text;
  EXPECT_NE(text.find("\n all         10         " + shares), std::string::npos) << "the longest start-up\n" << text;
  EXPECT_NE(
      text.find("start-up, until the first iteration, is not in these shares: 90.0 % of it idle, 5.0 % uncertain, "
                "20.0 % of its idle time filled\n"),
      std::string::npos)
      << text;
  const nlohmann::json total = nlohmann::json::parse(to_json(run))["total"];
  EXPECT_EQ(total["window"], 4000000000);
  EXPECT_EQ(total["idle"], 2000000000);
  EXPECT_EQ(
      total["startup"],
      nlohmann::json::parse(R"({"length": 800000000, "idle": 720000000, "uncertain": 40000000, "filled": 144000000})"));
  EXPECT_EQ(total["steady"]["window"], 3200000000);
  EXPECT_DOUBLE_EQ(total["steady"]["idle_share"], 0.4);
  EXPECT_TRUE(has_note(run, "for 5.0 % of the time (5.0 % after start-up) nobody could tell"));
}

// The other one is of a version that did not tell it: nobody knows that of the whole either.
TEST(Summary, AStartupThatIsNotKnownIsNotZero) {
  TemporaryDirectory directory;
  std::ofstream(directory / "rank0.jsonl") << trace_with_startup(0);
  std::ofstream(directory / "rank1.jsonl")
      << header_of(1, 0, 2, 100) << R"({"type": "summary", "window_begin": 0, "window_end": 1000, )"
      << R"("iterations": 10, "idle": 500})"
      << "\n";
  const RunSummary run = summarize_directories({directory.path()});
  EXPECT_TRUE(
      has_note(run, "the trace does not tell start-up from steady state on rank 1: the shares are of the whole run"));
  const nlohmann::json json = nlohmann::json::parse(to_json(run));
  EXPECT_EQ(json["ranks"][0]["startup"]["length"], 400000000);
  for (const char* key : {"startup", "steady"}) {
    EXPECT_TRUE(json["ranks"][1][key].is_null()) << key;
    EXPECT_TRUE(json["total"][key].is_null()) << key;
  }
  EXPECT_EQ(to_text(run, "here").find("start-up, until"), std::string::npos);
}

TEST(Summary, LeavesOutTheRanksThatOnlyAnEarlierRunHad) {
  TemporaryDirectory directory;
  for (int rank = 0; rank < 4; ++rank)
    std::ofstream(directory / ("rank" + std::to_string(rank) + ".jsonl"))
        << header_of(rank, 0, 10 + rank, 100 + rank, 4) << summary_after(50);
  for (int rank = 0; rank < 2; ++rank)
    std::ofstream(directory / ("rank" + std::to_string(rank) + ".new.jsonl"))
        << header_of(rank, 0, 20 + rank, 1000 + rank, 2) << summary_after(50);
  const RunSummary run = summarize_directories({directory.path()});
  ASSERT_EQ(run.ranks.size(), 2u);
  EXPECT_EQ(run.ranks[0].header.process, 20);
  EXPECT_EQ(run.ranks[1].header.process, 21);
  EXPECT_EQ(run.notes, std::vector<std::string>{"traces of earlier runs that are left out: 4"});
}

// Its rank 1 never opened a trace; the one that is there ran with the earlier rank 0.
TEST(Summary, LeavesOutARankOfAnEarlierRunOfTheSameSize) {
  TemporaryDirectory directory;
  for (int rank = 0; rank < 2; ++rank)
    std::ofstream(directory / ("rank" + std::to_string(rank) + ".jsonl"))
        << header_of(rank, 0, 10 + rank, 100 + rank) << summary_after(50);
  std::ofstream(directory / "rank0.new.jsonl") << header_of(0, 0, 20, 1000) << summary_after(50);
  const RunSummary run = summarize_directories({directory.path()});
  ASSERT_EQ(run.ranks.size(), 1u);
  EXPECT_TRUE(has_note(run, "the job has 2 ranks; 1 left no trace here"));
}

// A machine whose clock is wrong, or a rank that ended early: nothing says that it belongs to another run.
TEST(Summary, KeepsARankOfAnotherTimeThatIsMissingOtherwise) {
  TemporaryDirectory directory;
  std::ofstream(directory / "rank0.1.jsonl") << header_of(0, 0, 1, 1000) << summary_after(50);
  std::ofstream(directory / "rank1.2.jsonl") << header_of(1, 0, 2, 100) << summary_after(50);
  EXPECT_EQ(summarize_directories({directory.path()}).ranks.size(), 2u);
}

TEST(Summary, ShowsAllProcessesThatTookOneRankAtTheSameTime) {
  TemporaryDirectory directory;
  for (const int process : {31, 32, 33})
    std::ofstream(directory / ("rank0." + std::to_string(process) + ".jsonl"))
        << header_of(0, 0, process, 1000 + process) << summary_after(50);
  std::ofstream(directory / "rank0.9.jsonl") << header_of(0, 0, 9, 100) << summary_after(50);
  const RunSummary run = summarize_directories({directory.path()});
  ASSERT_EQ(run.ranks.size(), 3u);
  EXPECT_EQ(run.ranks[1].name, "0 (32)");
  EXPECT_TRUE(has_note(run, "at the same time 3 processes were rank 0"));
  EXPECT_TRUE(has_note(run, "traces of earlier runs that are left out: 1"));
  EXPECT_FALSE(has_note(run, "left no trace here"));
  const std::string text = to_text(run, "here");
  EXPECT_TRUE(text.starts_with("here: 1 rank, 3 processes (rank (process))")) << text;
  EXPECT_NE(text.find("\n  rank iterations "), std::string::npos) << text;
  EXPECT_NE(text.find("\n0 (33)          3 "), std::string::npos) << text;
}

TEST(Summary, BeyondTheLimitTheTotalsAreThoseOfTheProcess) {
  TemporaryDirectory directory;
  std::ofstream(directory / "rank0.1.jsonl")
      << header_of(0, 0, 1, 100, 1) << R"({"type": "iteration", "time": 1040, "started": 1000, "ended": 1040})"
      << "\n"
      << R"({"type": "bubble", "time": 1040, "opened": 1010, "closed": 1020, "cause": "receive"})"
      << "\n"
      << R"({"type": "limit", "time": 1050, "device": 0, "bytes": 1000})"
      << "\n"
      << R"({"type": "summary", "window_begin": 1000, "window_end": 3000, "iterations": 100, "iteration_median": 20, )"
      << R"("idle": 500, "records_left_out": 99})"
      << "\n";
  const RunSummary run = summarize_directories({directory.path()});
  EXPECT_EQ(run.ranks[0].totals.iterations, 100u);
  EXPECT_EQ(run.ranks[0].totals.iteration_median, Duration(20));
  EXPECT_EQ(run.ranks[0].window, Duration(2000));
  EXPECT_EQ(run.total.totals.records_left_out, 99u);
  EXPECT_DOUBLE_EQ(run.ranks[0].idle_share(), 0.25);
  const std::string text = to_text(run, "here");
  EXPECT_NE(text.find("100.0 % of the idle time"), std::string::npos) << "of what the records cover\n" << text;
  EXPECT_TRUE(has_note(run, "rank 0: its trace has reached WEFT_TRACE_LIMIT: causes, slots and forecast errors cover"));
}

TEST(Summary, CopiesOfFillMemoryAreInNoShare) {
  TemporaryDirectory directory;
  const std::string ended = R"({"type": "summary", "window_begin": 1000, "window_end": 9001000, "iterations": 3, )";
  const std::string move = R"({"type": "move", "time": 5000, "job": 0, "way": "to_host", "bytes": 4096, )";
  std::ofstream(directory / "rank0.1.jsonl") << header_of(0, 0, 1, 100, 2) << ended << R"("moved": 3500000})"
                                             << "\n";
  std::ofstream(directory / "rank1.2.jsonl")  // killed: its lines are added up
      << header_of(1, 0, 2, 101, 2) << move << R"("bubble": 0, "launched": 2000, "finished": 5000, "alone": 1500000})"
      << "\n";
  const RunSummary run = summarize_directories({directory.path()});
  EXPECT_EQ(run.total.totals.moved, Duration(5000000));
  EXPECT_EQ(run.total.totals.filled, Duration(0));
  const std::string text = to_text(run, "here");
  EXPECT_NE(text.find("copies of fill memory to the host and back took 5.0 ms, which count as filled nowhere\n"),
            std::string::npos)
      << text;
}

// It was known that something repeats, but not long enough for an iteration.
TEST(Summary, OfARankWithoutIterationsShowsNoMedianAndEachSlotOnce) {
  const auto bubble = [](int ordinal, int opened, int length, const char* cause) {
    return R"({"type": "bubble", "time": 3000, "receive_peer": 1, "send_peer": -1, "bytes": 64, "ordinal": )" +
           std::to_string(ordinal) + R"(, "opened": )" + std::to_string(opened) + R"(, "closed": )" +
           std::to_string(opened + length) + R"(, "cause": ")" + cause + "\"}\n";
  };
  const auto summed_up = [&](int iterations) {
    TemporaryDirectory directory;
    std::ofstream(directory / "rank0.1.jsonl")
        << header_of(0, 0, 1, 100, 1) << bubble(-1, 1100, 100, "receive") << bubble(-1, 1300, 300, "receive")
        << bubble(1, 1700, 200, "receive") << bubble(2, 2000, 50, "host")
        << R"({"type": "summary", "window_begin": 1000, "window_end": 3000, "idle": 650, "iterations": )" << iterations
        << (iterations > 0 ? R"(, "iteration_median": 5000)" : "") << "}\n";
    return summarize_directories({directory.path()});
  };
  const RunSummary none = summed_up(0), some = summed_up(2);
  ASSERT_EQ(none.longest.size(), 2u);
  EXPECT_EQ(none.longest[0].slot.bubbles, 3u);
  EXPECT_EQ(none.longest[0].slot.idle, Duration(600));
  EXPECT_EQ(none.longest[0].slot.median, Duration(200));
  const std::string text = to_text(none, "here");
  EXPECT_NE(text.find("   0          0             - "), std::string::npos) << text;
  EXPECT_NE(text.find("rank 0: receive from rank 1 of communicator 0, in no iteration; 64 bytes, 3 bubbles"),
            std::string::npos)
      << text;
  EXPECT_EQ(text.find("before the rhythm was known"), std::string::npos) << text;
  EXPECT_EQ(some.longest.size(), 3u);
  EXPECT_NE(to_text(some, "here").find("communicator 0, before the rhythm was known; 64 bytes"), std::string::npos);
}

TEST(Summary, OfAKilledProcessBeyondTheLimitSaysThatAllIsOfTheFirstPart) {
  TemporaryDirectory directory;
  std::ofstream(directory / "rank0.1.jsonl")
      << header_of(0, 0, 1, 100, 1) << R"({"type": "limit", "time": 1050, "device": 0, "bytes": 1000})"
      << "\n";
  EXPECT_TRUE(has_note(summarize_directories({directory.path()}), "and cover only what fitted into WEFT_TRACE_LIMIT"));
}

// Rank 1 has one hardware queue.
TEST(Summary, IdleTimeThatWasNotMeasuredIsUnknownAndNotZero) {
  TemporaryDirectory directory;
  const std::string unknown = R"({"type": "header", "format": "weft-trace", "version": 1, "rank": 1, "ranks": 2, )"
                              R"("mode": "observe", "idle_unknown": "one hardware queue", "started": 1000, )"
                              R"("wall_clock": 100, "host": "node", "process": 8})"
                              "\n"
                              R"({"type": "summary", "window_begin": 1000, "window_end": 3000, "iterations": 7, )"
                              R"("iteration_median": 20, "bubbles": 0, "idle": null})"
                              "\n";
  std::ofstream(directory / "rank1.8.jsonl") << unknown;
  RunSummary run = summarize_directories({directory.path()});
  EXPECT_EQ(run.total.header.idle_unknown, "one hardware queue");
  EXPECT_TRUE(has_note(run, "idle time unknown, bubbles were not measured, on all ranks: one hardware queue"));
  nlohmann::json json = nlohmann::json::parse(to_json(run));
  for (const char* key : {"idle", "idle_share", "conversion"}) {
    EXPECT_TRUE(json["total"][key].is_null()) << key;
    EXPECT_TRUE(json["ranks"][0][key].is_null()) << key;
  }
  EXPECT_EQ(json["total"]["iterations"], 7);
  const std::string text = to_text(run, "here");
  EXPECT_NE(text.find("0.000  unknown     unknown      unknown "), std::string::npos) << text;

  std::ofstream(directory / "rank0.7.jsonl")
      << header_of(0, 0, 7, 100)
      << R"({"type": "summary", "window_begin": 1000, "window_end": 2000, "iterations": 7, "idle": 250})"
      << "\n";
  run = summarize_directories({directory.path()});
  EXPECT_EQ(run.total.header.idle_unknown, "");
  EXPECT_DOUBLE_EQ(run.total.idle_share(), 0.25) << "of the rank that was measured";
  EXPECT_TRUE(has_note(run, "idle time unknown, bubbles were not measured, on rank 1: one hardware queue"));
  json = nlohmann::json::parse(to_json(run));
  EXPECT_TRUE(json["ranks"][1]["idle"].is_null());
  EXPECT_EQ(json["total"]["idle"], 250);
}

TEST(Summary, OfADirectoryPerRankAddsUpAll) {
  TemporaryDirectory first, second;
  std::ofstream(first / "rank0.7.jsonl") << header_of(0, 0, 7, 100);
  std::ofstream(second / "rank1.8.jsonl") << header_of(1, 0, 8, 100);
  const RunSummary run = summarize_directories({first.path(), second.path()});
  ASSERT_EQ(run.ranks.size(), 2u);
  EXPECT_EQ(run.ranks[1].header.rank, 1);
}

TEST(Summary, OfADirectoryThatIsNamedTwiceIsThatOfOne) {
  TemporaryDirectory directory;
  std::ofstream(directory / "rank0.7.jsonl") << header_of(0, 0, 7, 100, 1) << summary_after(50);
  std::filesystem::create_symlink(directory / "rank0.7.jsonl", directory / "rank0.7.link.jsonl");
  std::filesystem::create_directory_symlink(directory.path(), directory / "link");
  const RunSummary run = summarize_directories({directory.path(), directory.path() + "/", directory / "link"});
  EXPECT_EQ(run.ranks.size(), 1u);
  EXPECT_EQ(run.notes, std::vector<std::string>{});
}

// One was copied while the process still wrote.
TEST(Summary, TakesATraceOnceOfWhichThereIsACopy) {
  for (const std::string copy : {"rank0.7.copy.jsonl", "rank0.6.jsonl"}) {
    TemporaryDirectory directory;
    std::ofstream(directory / "rank0.7.jsonl") << header_of(0, 0, 7, 100, 1) << summary_after(50);
    std::ofstream(directory / copy) << header_of(0, 0, 7, 100, 1);
    const RunSummary run = summarize_directories({directory.path()});
    ASSERT_EQ(run.ranks.size(), 1u);
    EXPECT_TRUE(run.ranks[0].complete);
    EXPECT_EQ(run.notes, std::vector<std::string>{directory / copy + " is a copy of " + (directory / "rank0.7.jsonl") +
                                                  "; it is left out"});
  }
}

// A process that opens communicators again under another rank has two traces.
TEST(Summary, KeepsTwoTracesOfOneProcessThatBeganAtOtherTimes) {
  TemporaryDirectory directory;
  std::ofstream(directory / "rank0.7.jsonl") << header_of(0, 0, 7, 100, 1) << summary_after(50);
  std::ofstream(directory / "rank0.7.2.jsonl") << header_of(0, 0, 7, 160, 1) << summary_after(50);
  EXPECT_EQ(summarize_directories({directory.path()}).ranks.size(), 2u);
}

TEST(Summary, WithoutASummaryRecordTheNumberOfDroppedRecordsIsNotKnown) {
  TemporaryDirectory directory;
  std::ofstream(directory / "rank0.1.jsonl") << header_of(0, 0, 1, 100) << summary_after(50);
  std::ofstream(directory / "rank1.2.jsonl") << header_of(1, 0, 2, 100);
  const RunSummary run = summarize_directories({directory.path()});
  EXPECT_TRUE(has_note(run,
                       "rank 1: no summary was written (still running, killed, out of disk space, or ended without "
                       "destroying its communicators); its numbers come from its records"));
  const std::string text = to_text(run, "here");
  const auto dropped_of = [&](const std::string& name) {
    std::istringstream row(text.substr(text.find("\n" + std::string(4 - name.size(), ' ') + name + ' ')));
    return std::vector<std::string>(std::istream_iterator<std::string>(row), {}).at(9);
  };
  EXPECT_EQ(dropped_of("0"), "0") << text;
  EXPECT_EQ(dropped_of("1"), "-") << text;
  EXPECT_EQ(dropped_of("all"), "-") << text;
  const std::string json = to_json(run);
  EXPECT_EQ(json.find("\"dropped_records\": 0"), json.rfind("\"dropped_records\": 0")) << json;
  EXPECT_NE(json.find("\"dropped_records\": null"), json.rfind("\"dropped_records\": null")) << json;
}

std::string with_settings(std::string header, const std::string& mode, const std::string& job) {
  header.insert(header.rfind('}'), R"(, "mode": ")" + mode + R"(", "fill_job": ")" + job + R"(")");
  return header;
}

TEST(Summary, NamesTheSettingsOfAllRanks) {
  TemporaryDirectory directory;
  std::ofstream(directory / "rank0.1.jsonl")
      << with_settings(header_of(0, 0, 1, 100, 3), "observe", "") << summary_after(50);
  std::ofstream(directory / "rank1.2.jsonl")
      << with_settings(header_of(1, 0, 2, 100, 3), "fill", "matmul") << summary_after(50);
  std::ofstream(directory / "rank2.3.jsonl")
      << with_settings(header_of(2, 0, 3, 100, 3), "observe", "") << summary_after(50);
  RunSummary run = summarize_directories({directory.path()});
  EXPECT_TRUE(to_text(run, "here").starts_with("here: 3 ranks, modes observe and fill\n")) << to_text(run, "here");
  EXPECT_TRUE(has_note(run, "ranks have other settings: mode observe on rank 0, 2; filled with matmul on rank 1"));
  std::ofstream(directory / "rank0.1.jsonl")
      << with_settings(header_of(0, 0, 1, 100, 3), "fill", "a") << summary_after(50);
  std::filesystem::remove(directory / "rank2.3.jsonl");
  run = summarize_directories({directory.path()});
  EXPECT_TRUE(to_text(run, "here").starts_with("here: 2 ranks, filled with a and matmul\n")) << to_text(run, "here");
  EXPECT_TRUE(has_note(run, "ranks have other settings: filled with a on rank 0; filled with matmul on rank 1"));
}

std::string bubbles(std::initializer_list<int> ids) {
  std::string text;
  for (const int id : ids)
    text += R"({"type": "bubble", "id": )" + std::to_string(id) + R"(, "opened": 1010, "closed": 1011, "time": 1011})" +
            "\n";
  return text;
}

std::string summary_that_dropped(int records) {
  std::string text = summary_after(50);
  text.insert(text.rfind('}'), R"(, "dropped_records": )" + std::to_string(records));
  return text;
}

// They are numbered from 1, in the order in which they are written.
TEST(Summary, NoticesBubblesThatAreMissing) {
  std::uint64_t lost = 0;
  const auto notes_of = [&](const std::string& lines) {
    TemporaryDirectory directory;
    std::ofstream(directory / "rank0.1.jsonl") << header_of(0, 0, 1, 100, 1) << lines;
    RunSummary run = summarize_directories({directory.path()});
    lost = run.lost_lines.bubbles;
    std::erase_if(run.notes, [](const std::string& note) { return note.find(" missing") == std::string::npos; });
    for (std::string& note : run.notes) note.erase(note.find(directory.path()), directory.path().size() + 1);
    return run.notes;
  };
  using Notes = std::vector<std::string>;
  EXPECT_EQ(notes_of(bubbles({1, 2, 3}) + summary_that_dropped(0)), Notes{});
  EXPECT_EQ(notes_of(bubbles({1, 2, 5, 6, 8}) + summary_that_dropped(0)),
            Notes{"rank 0: 3 bubbles are missing, the first before rank0.1.jsonl:4: lines are lost or were cut out"});
  EXPECT_EQ(lost, 3u);
  EXPECT_EQ(notes_of(bubbles({2}) + summary_that_dropped(0)),
            Notes{"rank 0: 1 bubble is missing, before rank0.1.jsonl:2: lines are lost or were cut out"});
  EXPECT_EQ(notes_of(bubbles({1, 4}) + summary_that_dropped(2)), Notes{}) << "a note has the dropped ones already";
  EXPECT_EQ(notes_of(bubbles({1, 4}) + summary_that_dropped(1)).size(), 1u);
  EXPECT_EQ(notes_of(bubbles({1, 4})), Notes{"rank 0: 2 bubbles are missing, the first before rank0.1.jsonl:3: records "
                                             "were dropped, or lines are lost or were cut out"});
  EXPECT_EQ(notes_of(bubbles({1}) + "broken\n" + bubbles({3}) + summary_that_dropped(0)), Notes{})
      << "a note has the line already";
  EXPECT_EQ(
      notes_of(bubbles({1, 2}) + summary_after(50) + header_of(0, 0, 1, 150, 1) + bubbles({1}) + summary_after(50)),
      Notes{})
      << "each segment counts from 1";
}

TEST(Summary, OfADirectoryWithoutTracesFailsInOneLine) {
  TemporaryDirectory directory;
  EXPECT_THROW(summarize_directories({directory.path()}), std::runtime_error);
  EXPECT_THROW(summarize_directories({directory / "missing"}), std::runtime_error);
}

}  // namespace
}  // namespace weft
