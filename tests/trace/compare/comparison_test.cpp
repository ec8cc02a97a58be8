// Two runs that differ in a known way, written as traces: what is said of them, and what is not comparable.
#include "trace/compare/comparison.h"

#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <random>
#include <stdexcept>

#include "tests/trace/temporary_directory.h"
#include "trace/formatted.h"

namespace weft {
namespace {

using test::TemporaryDirectory;

// Iterations of some length, jitter and idle share, on so many ranks.
struct Written {
  int ranks = 2, iterations = 60;
  double milliseconds = 100, jitter = 0.01, idle = 0.2;
  double idle_of_rank_1 = 0.2;
  int groups = 12, start_id = 1;
  const char *weft = "1.0", *mode = "observe";
  double drift = 0;  // of the length, over the run
  int headers = 1;   // the communicators are opened anew, and iterations counted anew
  bool measured = true;
  bool has_groups = false;                  // those of 1F1B
  int silent_rank = -1, short_rank = -1;    // that one has no iterations, or half of them
  int longer_every = 0;                     // each so manieth iteration takes twice as long
  int summary_of = 0;                       // there is a summary line with so many iterations
  bool limited = false, uncertain = false;  // half of the time nobody could tell
  int without_bubbles = 0;                  // each so manieth iteration has none, and records were dropped
};

constexpr int microbatches = 4;

int groups_of(int rank, int ranks) {
  return (rank == 0 || rank + 1 == ranks ? 2 : 4) * microbatches;
}

// The order of 1F1B.
void write_groups(std::ofstream& out, int rank, int ranks, int iteration, std::int64_t time) {
  int id = (iteration - 1) * groups_of(rank, ranks);
  const auto write = [&](const char* kind, int peer, int number) {
    if (peer < 0 || peer >= ranks) return;
    out << R"({"type": "group", "time": )" << time << R"(, "device": 0, "id": )" << ++id
        << R"(, "communicator": 1, "iteration": )" << iteration << R"(, "begun": )" << time << R"(, "ended": )" << time
        << R"(, "operations": [{"kind": ")" << kind << R"(", "peer": )" << peer << R"(, "bytes": 65536, "sequence": )"
        << (iteration - 1) * microbatches + number + 1 << "}]}\n";
  };
  const int ahead = ranks - 1 - rank;  // forward passes before the first backward one
  for (int place = 0; place < microbatches + ahead; ++place) {
    if (place < microbatches) write("receive", rank - 1, place);
    if (place < microbatches) write("send", rank + 1, place);
    if (place >= ahead) write("receive", rank + 1, place - ahead);
    if (place >= ahead) write("send", rank - 1, place - ahead);
  }
}

void write_header(std::ofstream& out, const Written& run, int rank) {
  out << R"({"type": "header", "format": "weft-trace", "version": 2, "weft": ")" << run.weft << R"(", "rank": )" << rank
      << R"(, "ranks": )" << run.ranks << R"(, "device": 0, "mode": ")" << run.mode << R"(", "idle_unknown": ")"
      << (run.measured ? "" : "every launch waits") << R"(", "host": "node", "process": )" << 100 + rank
      << R"(, "start_id": )" << run.start_id << R"(, "started": 0, "wall_clock": 1000000})"
      << "\n";
}

// Half of the idle time waits to receive, half in a collective.
void write_run(const TemporaryDirectory& directory, const Written& run) {
  for (int rank = 0; rank < run.ranks; ++rank) {
    std::mt19937_64 random(static_cast<std::uint64_t>(7 * run.start_id));  // ranks of an iteration are alike
    std::normal_distribution<double> normal;
    std::ofstream out(directory / formatted("rank%d.%d.jsonl", rank, 100 + rank));
    std::int64_t now = 1'000'000, bubble = 0;
    for (int header = 0; header < run.headers; ++header) {
      write_header(out, run, rank);
      if (run.has_groups)
        out << R"({"type": "communicator", "time": 1, "device": 0, "event": "opened", "communicator": 1, "rank": )"
            << rank << R"(, "ranks": )" << run.ranks << R"(, "id": "00000000000000aa", "name": ""})"
            << "\n";
      bubble = 0;
      const int share = rank == run.silent_rank ? 0 : rank == run.short_rank ? run.iterations / 2 : run.iterations;
      for (int number = 1; number <= share / run.headers; ++number) {
        const double grown = 1 + run.drift * number / run.iterations + run.jitter * normal(random) +
                             (run.longer_every > 0 && number % run.longer_every == 0 ? 1 : 0);
        const auto length = static_cast<std::int64_t>(1e6 * run.milliseconds * grown);
        const auto half =
            static_cast<std::int64_t>(static_cast<double>(length) * (rank == 1 ? run.idle_of_rank_1 : run.idle) / 2);
        for (const char* const cause : {"receive", "collective"}) {
          if (run.without_bubbles > 0 && number % run.without_bubbles == 0) continue;
          const std::int64_t opened = now + (cause[0] == 'r' ? 0 : length / 2);
          out << R"({"type": "bubble", "device": 0, "time": )" << opened + half << R"(, "id": )" << ++bubble
              << R"(, "opened": )" << opened << R"(, "closed": )" << opened + half << R"(, "cause": ")" << cause
              << R"(", "iteration": )" << number << "}\n";
        }
        if (run.has_groups) write_groups(out, rank, run.ranks, number, now + length);
        out << R"({"type": "iteration", "device": 0, "time": )" << now + length << R"(, "number": )" << number
            << R"(, "started": )" << now << R"(, "ended": )" << now + length << R"(, "groups": )"
            << (run.has_groups ? groups_of(rank, run.ranks) : run.groups) << R"(, "idle": )"
            << (run.measured ? std::to_string(2 * half) : "null") << R"(, "uncertain": )"
            << (run.uncertain ? length / 2 : 0) << "}\n";
        now += length;
      }
    }
    if (run.limited)
      out << R"({"type": "limit", "device": 0, "time": )" << now << R"(, "limit": 1048576})"
          << "\n";
    if (run.summary_of > 0)
      out << R"({"type": "summary", "rank": )" << rank << R"(, "device": 0, "window_begin": 1000000, "window_end": )"
          << now << R"(, "iterations": )" << run.summary_of << R"(, "bubbles": )" << bubble << R"(, "idle": 1)"
          << R"(, "dropped_records": )" << (run.without_bubbles > 0 ? 40 : 0) << "}\n";
  }
}

struct Compared {
  TemporaryDirectory first_folder, second_folder;
  ComparedRun first, second;
  RunComparison comparison;

  Compared(const Written& one, const Written& other) {
    write_run(first_folder, one);
    write_run(second_folder, other);
    first = read_compared_run(first_folder.path());
    second = read_compared_run(second_folder.path());
    comparison = compare_runs(first, second);
  }
  std::string text() const { return to_text(comparison, first, second); }
  bool has_note(const std::string& part) const {
    for (const std::string& note : comparison.notes)
      if (note.find(part) != std::string::npos) return true;
    return false;
  }
};

TEST(Comparison, FindsByHowMuchIterationsAreLonger) {
  const Compared both({}, {.milliseconds = 104, .start_id = 2});
  const Change& length = both.comparison.all.length;
  EXPECT_NEAR(*length.first, 100e6, 1e6);
  EXPECT_NEAR(*length.second, 104e6, 1e6);
  ASSERT_TRUE(length.change);
  EXPECT_LT(length.change->low, 0.04);
  EXPECT_GT(length.change->high, 0.04);
  EXPECT_FALSE(length.change->has_zero());
  EXPECT_NE(both.text().find("The median iteration of B takes "), std::string::npos) << both.text();
  EXPECT_NE(both.text().find(" % longer: "), std::string::npos) << both.text();
  EXPECT_NE(both.text().find("Idle time: no difference seen, less than 0.01 points; "), std::string::npos)
      << both.text();
}

TEST(Comparison, SaysHowLargeADifferenceMayBeAtMost) {
  const Compared both({}, {.start_id = 2});
  EXPECT_TRUE(both.comparison.all.length.change->has_zero());
  EXPECT_LT(both.comparison.all.length.change->farthest(), 0.02);
  EXPECT_NE(both.text().find("The median iteration: no difference seen, at most "), std::string::npos) << both.text();
}

TEST(Comparison, FindsIdleTimeByCauseAndRank) {
  const Compared both({}, {.idle = 0.2, .idle_of_rank_1 = 0.3, .start_id = 2});
  const ComparedPart& all = both.comparison.all;
  EXPECT_NEAR(*all.idle.first, 0.20, 1e-6);
  EXPECT_NEAR(*all.idle.second, 0.25, 1e-6);
  EXPECT_NEAR(all.idle.change->value, 0.05, 1e-6);
  const Change& receive = all.by_cause[static_cast<std::size_t>(Cause::receive)];
  EXPECT_NEAR(receive.change->value, 0.025, 1e-6);
  ASSERT_EQ(both.comparison.ranks.size(), 2U);
  EXPECT_LT(both.comparison.ranks[0].idle.change->farthest(), 1e-6);
  EXPECT_NEAR(both.comparison.ranks[1].idle.change->value, 0.1, 1e-6);
  EXPECT_TRUE(both.comparison.stages.empty());
  EXPECT_NE(both.text().find("The idle time of rank 1 has changed most: by +10.00 points"), std::string::npos)
      << both.text();
}

TEST(Comparison, FindsIdleTimeByStage) {
  const Compared both({.ranks = 3, .has_groups = true},
                      {.ranks = 3, .idle_of_rank_1 = 0.1, .start_id = 2, .has_groups = true});
  ASSERT_EQ(both.comparison.stages.size(), 3U) << both.text();
  EXPECT_EQ(both.comparison.stages[1].name, "stage 1 (rank 1)");
  EXPECT_LT(both.comparison.stages[0].idle.change->farthest(), 1e-6);
  EXPECT_NEAR(both.comparison.stages[1].idle.change->value, -0.1, 1e-6);
  EXPECT_NE(both.text().find("The idle time of stage 1 (rank 1) has changed most: by -10.00 points"), std::string::npos)
      << both.text();
}

TEST(Comparison, OfARankThatOneRunLacksNothingIsSaidOverAllRanks) {
  const Compared both({.ranks = 3}, {.ranks = 3, .start_id = 2, .silent_rank = 1});
  EXPECT_FALSE(both.comparison.all.length.change);
  EXPECT_FALSE(both.comparison.all.idle.change);
  EXPECT_TRUE(both.comparison.ranks[0].idle.change);
  EXPECT_TRUE(both.has_note("rank 1 of A left no iteration in B: changes over all ranks are unknown"));
  EXPECT_FALSE(both.has_note("other work"));
}

TEST(Comparison, OfAStageWhoseRanksAreOthersNothingIsSaid) {
  const Compared both({.ranks = 3, .has_groups = true},
                      {.ranks = 3, .start_id = 2, .has_groups = true, .silent_rank = 1});
  for (const ComparedPart& stage : both.comparison.stages)
    EXPECT_EQ(stage.idle.change.has_value(), stage.name != "stage 1 (rank 1)") << stage.name;
  EXPECT_TRUE(both.has_note("the values of A have it in"));
}

TEST(Comparison, OfALongRunEachSoManiethIterationIsCompared) {
  const int many = static_cast<int>(IterationTable::most_iterations) + 1000;
  const Compared both({.ranks = 1, .iterations = many}, {.ranks = 1, .iterations = many, .start_id = 2, .drift = 0.2});
  EXPECT_EQ(both.second.all.all, static_cast<std::size_t>(many));
  EXPECT_EQ(both.second.all.iterations, static_cast<std::size_t>(many / 2));
  EXPECT_TRUE(both.has_note("B has more than 20000 iterations: 1 of 2 was compared"));
  EXPECT_NEAR(*both.comparison.all.length.second / *both.comparison.all.length.first, 1.1, 0.002);  // of all of the run
  EXPECT_NEAR(*both.comparison.all.idle.second, 0.2, 1e-3);
  EXPECT_NEAR(*both.comparison.all.of_no_cause.second, 0, 1e-6);
  EXPECT_LT(both.text().find("note: B has more than"), both.text().find("The median iteration of B"));
  EXPECT_NE(both.text().find("21000 iterations"), std::string::npos) << both.text();
}

TEST(IterationTable, RanksThatAreThinnedOutDifferentlyKeepTheSameIterations) {
  IterationTable few, many, all;
  for (std::uint64_t number = 1; number <= IterationTable::most_iterations + 10; ++number) {
    const IterationSums sums{.length = 1, .ranks = 1};
    if (number <= 100) few.add({1, number}, sums);
    many.add({1, number}, sums);
  }
  all.add(few);
  all.add(many);
  EXPECT_EQ(all.iterations().size(), IterationTable::most_iterations / 2 + 5);
  EXPECT_EQ(all.iterations().begin()->second.ranks, 2U);
  for (const auto& [key, sums] : all.iterations()) ASSERT_EQ(key.second % 2, 1U);
  EXPECT_EQ(all.numbers().all, IterationTable::most_iterations + 10);
}

// Iterations that are counted anew so often that there are too many first ones.
TEST(IterationTable, ThinsOutAsFarAsItCan) {
  IterationTable table;
  for (std::uint32_t header = 1; header <= IterationTable::most_iterations + 1; ++header)
    table.add({header, 1}, {.length = 1, .ranks = 1});
  EXPECT_EQ(table.iterations().size(), IterationTable::most_iterations + 1);
}

TEST(Comparison, NoZeroHasASign) {
  const Compared both({}, {.start_id = 2});
  EXPECT_NE(both.text().find("0.00 to 0.00 points"), std::string::npos) << both.text();
  EXPECT_EQ(both.text().find("-0.00"), std::string::npos) << both.text();
  EXPECT_EQ(both.text().find("+0.00"), std::string::npos) << both.text();
}

TEST(Comparison, OfRanksThatDisagreeAboutIterationsThereIsNoChangeOfTime) {
  const Compared both({}, {.start_id = 2, .short_rank = 1});
  EXPECT_FALSE(both.comparison.all.length.change);
  EXPECT_TRUE(both.comparison.all.idle.change);
  EXPECT_TRUE(both.has_note("the ranks of B disagree about the number of iterations"));
}

TEST(Comparison, OfOtherStagesNothingIsComparedByStage) {
  const Compared both({.ranks = 3, .has_groups = true}, {.ranks = 3, .start_id = 2});
  EXPECT_TRUE(both.comparison.stages.empty());
  EXPECT_EQ(both.comparison.ranks.size(), 3U);
  EXPECT_TRUE(both.has_note("other schedule: A has 3 stages of 1 chunk, B has no pipeline that is known"));
}

TEST(Comparison, IterationsAreCountedAnewWithEachHeader) {
  const Compared both({.headers = 2}, {.milliseconds = 110, .start_id = 2, .headers = 3});
  EXPECT_EQ(both.first.all.iterations, 60U);
  EXPECT_EQ(both.second.all.iterations, 60U);
  EXPECT_FALSE(both.comparison.all.length.change->has_zero());
}

TEST(Comparison, OfFewIterationsThereIsNoInterval) {
  const Compared both({.iterations = 12}, {.iterations = 12, .milliseconds = 110, .start_id = 2});
  EXPECT_FALSE(both.comparison.all.length.change);
  EXPECT_TRUE(both.comparison.all.length.first);
  EXPECT_TRUE(both.has_note("A has 12 iterations: 30 are needed for an interval"));
  EXPECT_NE(both.text().find("Whether the median iteration takes longer is unknown"), std::string::npos) << both.text();
  EXPECT_NE(both.text().find("Whether the GPUs are idle for longer is unknown"), std::string::npos) << both.text();
}

TEST(Comparison, IdleTimeThatWasNotMeasuredIsUnknown) {
  const Compared both({.measured = false}, {.start_id = 2});
  EXPECT_FALSE(both.comparison.all.idle.first);
  EXPECT_FALSE(both.comparison.all.idle.change);
  EXPECT_TRUE(both.comparison.all.length.change);
  EXPECT_TRUE(both.has_note("A: idle time was not measured"));
  EXPECT_NE(both.text().find("unknown in A"), std::string::npos) << both.text();
}

TEST(Comparison, OfAnotherNumberOfRanksOnlyAllIsCompared) {
  const Compared both({}, {.ranks = 4, .start_id = 2});
  EXPECT_TRUE(both.comparison.ranks.empty());
  EXPECT_TRUE(both.comparison.all.length.change);
  EXPECT_TRUE(both.has_note("other number of ranks: 2 in A, 4 in B; nothing is compared by stage or rank"));
}

TEST(Comparison, SaysWhatElseDiffers) {
  const Compared both({}, {.groups = 20, .start_id = 2, .weft = "1.1", .mode = "fill"});
  EXPECT_TRUE(both.has_note("other work in an iteration: rank 0 has 12 groups in most of A's, 20 in most of B's"));
  EXPECT_TRUE(both.has_note("other version of Weft: A has 1.0, B has 1.1"));
  EXPECT_TRUE(both.has_note("other mode: A has observe, B has fill"));
  const Compared alike({}, {.start_id = 2});
  EXPECT_FALSE(alike.has_note("other "));
}

TEST(Comparison, OfACutTraceNothingIsSaidOfTheWholeRun) {
  const Compared both({}, {.iterations = 40, .start_id = 2, .summary_of = 200, .limited = true});
  EXPECT_FALSE(both.comparison.all.length.change);
  EXPECT_FALSE(both.comparison.all.idle.change);
  EXPECT_FALSE(both.comparison.ranks[1].idle.change);
  EXPECT_TRUE(both.has_note("B: rank 0: only iterations 1 to 40 of 200 are in the trace (WEFT_TRACE_LIMIT)"));
  EXPECT_FALSE(both.has_note("other numbers"));
  EXPECT_LT(both.text().find("only iterations 1 to 40"),
            both.text().find("Whether the median iteration takes longer is unknown"));
}

TEST(Comparison, IdleTimeIsThatOfTheIterationsAndNotOfTheBubblesThatAreLeft) {
  const Compared both({}, {.start_id = 2, .summary_of = 60, .without_bubbles = 3});
  const ComparedPart& all = both.comparison.all;
  EXPECT_NEAR(*all.idle.second, 0.2, 1e-6);
  EXPECT_TRUE(all.idle.change && all.idle.change->has_zero());
  EXPECT_NEAR(*all.of_no_cause.second, 0.2 / 3, 1e-3);
  EXPECT_FALSE(all.of_no_cause.change);
  EXPECT_FALSE(all.by_cause[static_cast<std::size_t>(Cause::receive)].change);
  EXPECT_TRUE(both.has_note("B: rank 0: records were dropped, or lines are lost or cannot be read: changes by cause"));
}

TEST(Comparison, UncertainTimeMayTurnTheSign) {
  const Compared both({}, {.idle = 0.1, .idle_of_rank_1 = 0.1, .start_id = 2, .uncertain = true});
  EXPECT_FALSE(both.comparison.all.idle.change);
  EXPECT_NE(
      both.text().find("Whether the GPUs are idle for longer is unknown: for 50.0 % of the time nobody could tell"),
      std::string::npos)
      << both.text();
  EXPECT_EQ(both.text().find("has changed most"), std::string::npos) << both.text();
}

TEST(Comparison, OtherWorkIsSaidFirst) {
  const Compared both({}, {.groups = 20, .start_id = 2});
  EXPECT_LT(both.text().find("note: other work"),
            both.text().find("\nAn iteration of B is other work than one of A. "));
}

TEST(Comparison, SaysThatARunDrifts) {
  const Compared both({.iterations = 120}, {.iterations = 120, .start_id = 2, .drift = 0.2});
  EXPECT_TRUE(both.has_note("B drifts: at its end an iteration takes +"));
  EXPECT_FALSE(both.has_note("A drifts"));
}

TEST(Comparison, RefusesARunAgainstItself) {
  TemporaryDirectory folder;
  write_run(folder, {});
  const ComparedRun run = read_compared_run(folder.path());
  EXPECT_THROW(compare_runs(run, run), std::runtime_error);
}

TEST(Comparison, RefusesARunAgainstItselfThatDoesNotTellItsStart) {
  TemporaryDirectory folder, other;
  write_run(folder, {.start_id = 0});
  write_run(other, {.start_id = 0});
  EXPECT_THROW(compare_runs(read_compared_run(folder.path()), read_compared_run(other.path())), std::runtime_error);
}

TEST(Comparison, AMeanThatSaysSomethingElseThanTheMedian) {
  const Compared both({.iterations = 120}, {.iterations = 120, .start_id = 2, .longer_every = 10});
  EXPECT_NE(both.text().find(" But the mean iteration takes "), std::string::npos) << both.text();
  EXPECT_NEAR(*both.comparison.all.mean.second / *both.comparison.all.mean.first, 1.1, 0.01);
  const Compared alike({}, {.start_id = 2});
  EXPECT_EQ(alike.text().find("But the mean"), std::string::npos) << alike.text();
}

TEST(Comparison, RefusesARunWithoutIterations) {
  TemporaryDirectory folder;
  write_run(folder, {.iterations = 0});
  EXPECT_THROW(read_compared_run(folder.path()), std::runtime_error);
}

TEST(Comparison, AsJson) {
  const Compared both({}, {.milliseconds = 104, .start_id = 2});
  const auto json = nlohmann::json::parse(to_json(both.comparison, both.first, both.second));
  EXPECT_EQ(json["a"]["iterations"], 60);
  EXPECT_EQ(json["all"]["iteration_time"]["differs"], true);
  EXPECT_EQ(json["all"]["idle_share"]["differs"], false);
  EXPECT_TRUE(json["all"]["idle_share_by_cause"].contains("receive"));
  EXPECT_EQ(json["by_rank"].size(), 2U);
  EXPECT_EQ(json["by_rank"][1]["name"], "rank 1");
}

}  // namespace
}  // namespace weft
