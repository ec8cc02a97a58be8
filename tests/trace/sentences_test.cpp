// The sentences of a run: the numbers of the tables in words, and "unknown" where there is none.
#include "trace/read/sentences.h"

#include <gtest/gtest.h>

#include <random>
#include <regex>
#include <sstream>

#include "trace/totals.h"

namespace weft {
namespace {

using namespace std::chrono_literals;

constexpr Duration run_length = 10s;

// A rank that is idle for so many thousandths of a run.
RankSummary rank_of(int number, int idle, std::optional<int> stages = std::nullopt) {
  RankSummary rank;
  rank.header.rank = number;
  rank.header.mode = "observe";
  rank.name = std::to_string(number);
  rank.window = run_length;
  rank.totals.iterations = 40;
  rank.totals.iteration_median = 200ms;
  rank.totals.idle = run_length * idle / 1000;
  rank.totals.startup.emplace();
  if (stages) rank.stage = StageOfRank{number, *stages, 1};
  return rank;
}

// As summary.cpp adds them up.
RunSummary run_of(std::vector<RankSummary> ranks) {
  RunSummary run;
  run.groups.recorded = 1;
  run.total.totals.startup.emplace();
  for (RankSummary& rank : ranks) {
    rank.header.ranks = static_cast<std::int32_t>(ranks.size());
    add_up(run.total.totals, rank.totals);
    run.total.totals.iterations = rank.totals.iterations;
    run.total.totals.iteration_median = rank.totals.iteration_median;
    run.total.window += rank.window;
    run.total.complete = run.total.complete && rank.complete;
    for (const auto& [cause, idle] : rank.idle_by_cause) run.total.idle_by_cause[cause] += idle;
    if (!is_measured(rank.header)) run.total.header.idle_unknown = rank.header.idle_unknown;
  }
  run.ranks = std::move(ranks);
  return run;
}

std::string all_of(const RunSummary& run) {
  std::string text;
  for (const std::string& sentence : sentences_of(run)) text += sentence + "\n";
  return text;
}

bool has(const RunSummary& run, const std::string& text) {
  return all_of(run).find(text) != std::string::npos;
}
#define EXPECT_SAYS(run, text) EXPECT_TRUE(has(run, text)) << all_of(run)
#define EXPECT_SAYS_NOT(run, text) EXPECT_FALSE(has(run, text)) << all_of(run)

TEST(Sentences, NameTheStageThatMakesTheOthersWait) {
  const RunSummary run = run_of({rank_of(0, 300, 3), rank_of(1, 50, 3), rank_of(2, 250, 3)});
  EXPECT_EQ(all_of(run),
            "An iteration takes 200.000 ms, the median over 40 iterations and all ranks.\n"
            "The GPUs are idle for 20.00 % of the time after start-up, and for 0.00 % nobody could tell; of which "
            "cause is unknown, as there are no bubbles in the traces.\n"
            "Stage 1 (rank 1) makes the others wait: it is idle for 5.00 %, the others for 25.00 % and more.\n"
            "Nothing was filled: Weft observed.\n"
            "Nothing is known to be missing.\n");
}

TEST(Sentences, NameNoStageWhereTheyAreAlike) {
  const RunSummary run = run_of({rank_of(0, 200, 2), rank_of(1, 205, 2)});
  EXPECT_SAYS(run, "No stage makes the others wait: they are idle for 20.00 % to 20.50 % of the time.");
}

TEST(Sentences, NameNoStageWhereUncertainTimeMayTurnItRound) {
  RankSummary doubtful = rank_of(0, 50, 2);
  doubtful.totals.uncertain = run_length * 200 / 1000;
  const RunSummary run = run_of({doubtful, rank_of(1, 200, 2)});
  EXPECT_SAYS(run, "Which stage makes the others wait is unknown: the uncertain time is longer");
}

TEST(Sentences, NameAllStagesThatMakeTheOthersWait) {
  EXPECT_SAYS(run_of({rank_of(0, 50, 4), rank_of(1, 50, 4), rank_of(2, 500, 4), rank_of(3, 600, 4)}),
              "Stages 0 and 1 (rank 0, 1) make the others wait: they are idle for 5.00 %, the others for 50.00 % and");
  EXPECT_SAYS(run_of({rank_of(0, 600, 4), rank_of(1, 70, 4), rank_of(2, 500, 4), rank_of(3, 50, 4)}),
              "Stages 1 and 3 (rank 1, 3) make the others wait: they are idle for 5.00 % to 7.00 %, the others for");
  // One that waits itself is not among them.
  EXPECT_SAYS(run_of({rank_of(0, 50, 3), rank_of(1, 250, 3), rank_of(2, 600, 3)}), "Stage 0 (rank 0) makes the others");
  const std::string steps = "is unknown: they are idle for 20.00 % to 26.00 % of the time, with no gap between them.";
  EXPECT_SAYS(run_of({rank_of(0, 200, 4), rank_of(1, 220, 4), rank_of(2, 240, 4), rank_of(3, 260, 4)}), steps);
}

TEST(Sentences, NameNoStageWhereNothingCanBeTold) {
  std::vector<RankSummary> ranks{rank_of(0, 50, 2), rank_of(1, 50, 2)};
  for (RankSummary& rank : ranks) rank.totals.uncertain = run_length * 900 / 1000;
  EXPECT_SAYS(run_of(ranks), "Which stage makes the others wait is unknown: the uncertain time is longer");
  EXPECT_SAYS_NOT(run_of(ranks), "No stage makes");
}

// Two pipelines.
RankSummary of_stage(int stage, RankSummary rank) {
  rank.stage = StageOfRank{stage, 2, 1};
  return rank;
}

TEST(Sentences, NameTheRankWhereThoseOfAStageDiffer) {
  const auto run = [](int first, int second, int third, int fourth) {
    return run_of({of_stage(0, rank_of(0, first)), of_stage(1, rank_of(1, second)), of_stage(0, rank_of(2, third)),
                   of_stage(1, rank_of(3, fourth))});
  };
  EXPECT_SAYS(run(300, 50, 300, 550), "Rank 1 makes the others wait: it is idle for 5.00 %, the others for 30.00 %");
  EXPECT_SAYS(run(100, 100, 400, 400), "Ranks 0, 1 make the others wait: they are idle for 10.00 %, the others for");
  EXPECT_SAYS(run(50, 500, 70, 600), "Stage 0 (rank 0, 2) makes the others wait: it is idle for 5.00 % to 7.00 %");
  EXPECT_SAYS(run(200, 220, 240, 260),
              "unknown: the ranks of a stage differ, those of stage 0 are idle for 20.00 % to 24.00 % of the time.");
}

TEST(Sentences, SayWhyNoStageIsNamed) {
  RankSummary unmeasured = rank_of(0, 0, 2);
  unmeasured.header.idle_unknown = "every launch waits";
  EXPECT_SAYS(run_of({unmeasured, rank_of(1, 200, 2)}), "is unknown: idle time is not known on rank 0.");
  RunSummary absent = run_of({rank_of(0, 200), rank_of(1, 200)});
  absent.ranks.front().header.ranks = 3;
  EXPECT_SAYS(absent, "is unknown: no pipeline was recognised, as rank 2 left no trace.");
}

TEST(Sentences, NameTheRankWhereNoPipelineIsKnown) {
  EXPECT_SAYS(run_of({rank_of(0, 300), rank_of(1, 50), rank_of(2, 250)}),
              "Which stage makes the others wait is unknown: no pipeline was recognised; rank 1 is the least idle, for "
              "5.00 %, the others for 25.00 % and more.");
  EXPECT_SAYS(run_of({rank_of(0, 300)}), "unknown: no pipeline was recognised.");
  RunSummary groupless = run_of({rank_of(0, 300), rank_of(1, 290)});
  groupless.groups.recorded = 0;
  EXPECT_SAYS(groupless, "unknown: there are no groups in the traces.");
  EXPECT_SAYS(run_of({rank_of(0, 300, 3), rank_of(1, 50, 3)}), "unknown: not all stages are known; rank 1 is");
  EXPECT_SAYS(run_of({rank_of(0, 300, 2), rank_of(1, 50)}), "unknown: the stage of rank 1 is not known; rank 1 is");
}

TEST(Sentences, SayWhyTheGpusAreIdle) {
  RankSummary rank = rank_of(0, 200);
  rank.idle_by_cause = {{"receive", 900ms}, {"collective", 600ms}, {"send", 500ms}, {"host", 1ms}};
  EXPECT_SAYS(
      run_of({rank}),
      "; over the whole run 45.0 % of the idle time is waits to receive, 30.0 % waits in collectives, 25.0 % waits to "
      "send.");
}

TEST(Sentences, SayWhatFillingGaveAndCost) {
  RankSummary rank = rank_of(0, 200);
  rank.header.mode = "fill";
  rank.totals.filled = 500ms;
  rank.totals.fill_units = 7;
  EXPECT_SAYS(run_of({rank}),
              "Fill work took 25.0 % of the idle time (7 units, 0 of them wrong); its cost is unknown, "
              "as no slowdown is recorded.");
  rank.totals.slowdown = SlowdownRecord{};
  EXPECT_SAYS(run_of({rank}), "its cost is unknown, as too few iterations went without fill.");
  rank.totals.slowdown = {-0.0112, -0.0121, -0.0045, 6, 30, 0.01, 1, 40};
  EXPECT_SAYS(run_of({rank}), "its cost is unknown, as iterations with fill were shorter, which is not its doing.");
  rank.totals.slowdown = SlowdownRecord{0.0029, 0.001, 0.005, 10, 20, 0.01};
  rank.totals.fill_units_wrong = 1;
  EXPECT_SAYS(run_of({rank}),
              "(7 units, 1 of them wrong), at a slowdown of at most +0.29 % on any rank (95 % "
              "interval +0.10 to +0.50 %).");
}

TEST(Sentences, SayWhereTheFillJobWasRefused) {
  RankSummary refused = rank_of(0, 200), filled = rank_of(1, 200);
  refused.header.mode = filled.header.mode = "fill";
  refused.refused = {1, "no room"};
  EXPECT_SAYS(run_of({refused}), "Nothing was filled: the fill job was refused on all ranks (no room).\n");
  filled.totals.filled = 500ms;
  filled.totals.fill_units = 7;
  EXPECT_SAYS(run_of({refused, filled}),
              "(7 units, 0 of them wrong; the fill job was refused on rank 0 (no room)); its cost");
  RankSummary other = refused;
  other.refused.why = "no GPU";
  EXPECT_SAYS(run_of({refused, other}), "refused on all ranks (no room, and other reasons).");
  refused.refused = {2, ""};
  EXPECT_SAYS(run_of({refused}), "Nothing was filled: fill jobs were refused on all ranks (no reason is recorded).\n");
}

TEST(Sentences, SayUnknownWhereNothingWasMeasured) {
  RankSummary rank = rank_of(0, 0);
  rank.header.idle_unknown = "every launch waits";
  rank.totals.iterations = 0;
  rank.header.mode = "fill";
  const RunSummary run = run_of({rank});
  EXPECT_SAYS(run, "How long an iteration takes is unknown: none was found.");
  EXPECT_SAYS(run, "How idle the GPUs are is unknown: every launch waits.");
  EXPECT_SAYS(run, "Which stage makes the others wait is unknown: idle time was not measured.");
  EXPECT_SAYS(run, "How much of the idle time fill work took is unknown");
  EXPECT_SAYS_NOT(run, "0.00 %");
}

TEST(Sentences, SayWhatIsMissing) {
  RankSummary rank = rank_of(0, 200);
  rank.complete = false;
  rank.totals.dropped_records = 5;
  RunSummary run = run_of({rank});
  run.ranks[0].header.ranks = 4;
  run.notes = {"one", "two"};
  EXPECT_SAYS(run,
              "Missing: 3 ranks left no trace, 1 trace has no summary, at least 5 records were dropped; 2 notes "
              "below.");
}

TEST(Sentences, CountLinesThatCouldNotBeReadAndRanksWithoutIdleTime) {
  RankSummary unmeasured = rank_of(0, 0);
  unmeasured.header.idle_unknown = "every launch waits";
  RunSummary run = run_of({unmeasured, rank_of(1, 200)});
  EXPECT_SAYS(run, "Missing: the idle time of 1 rank.");
  run = run_of({rank_of(0, 200)});
  run.lost_lines = {98, 1, 3, 2};
  EXPECT_SAYS(run,
              "Missing: the rest of 2 traces that could not be read, 98 lines are not readable, 1 line is too long, "
              "3 bubbles' lines are lost.");
}

TEST(Sentences, SayNothingMoreWhereNoRankIsSure) {
  RankSummary rank = rank_of(0, 200);
  rank.unsure = true;
  const RunSummary run = run_of({rank});
  EXPECT_SAYS(run, "is unknown: something in each trace cannot be true.");
  EXPECT_SAYS_NOT(run, "20.00 %");
}

// The columns of the row of all ranks.
std::vector<std::string> total_row(const std::string& text) {
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string word;
    std::vector<std::string> columns;
    while (words >> word) columns.push_back(word);
    if (!columns.empty() && columns.front() == "all") return columns;
  }
  return {};
}
enum Column : std::size_t {
  iterations = 1,
  median,
  idle,
  uncertain,
  conversion,
  startup,
  units,
  wrong,
  dropped,
  forecast_error,
  slowdown
};

RunSummary random_run(std::mt19937& random) {
  const auto up_to = [&](int most) { return static_cast<int>(random() % static_cast<unsigned>(most + 1)); };
  const int count = 1 + up_to(4);
  const bool has_stages = up_to(1) == 1, fills = up_to(1) == 1;
  std::vector<RankSummary> ranks;
  for (int number = 0; number < count; ++number) {
    RankSummary rank = rank_of(number, up_to(600), has_stages ? std::optional(count) : std::nullopt);
    rank.totals.uncertain = run_length * up_to(300) / 1000;
    rank.header.mode = fills ? "fill" : "observe";
    if (fills) rank.totals.filled = rank.totals.idle * up_to(1000) / 1000;
    if (fills) rank.totals.fill_units = static_cast<std::uint64_t>(up_to(100));
    if (fills && up_to(1) == 1)
      rank.totals.slowdown = SlowdownRecord{0.001 * up_to(20), 0, 0.03, static_cast<std::uint32_t>(up_to(2)), 9, 0.01};
    if (up_to(3) == 0) rank.totals.startup.reset();
    if (up_to(3) == 0) rank.totals.iterations = 0;
    if (up_to(5) == 0) rank.complete = false;
    rank.totals.dropped_records = static_cast<std::uint64_t>(up_to(2));
    rank.idle_by_cause["receive"] = rank.totals.idle;
    ranks.push_back(rank);
  }
  if (up_to(5) == 0)
    for (RankSummary& rank : ranks) rank.header.idle_unknown = "every launch waits";
  return run_of(ranks);
}

TEST(Sentences, NeverContradictTheTables) {
  std::mt19937 random(13);
  std::size_t named = 0, unknown = 0;
  for (int round = 0; round < 2000; ++round) {
    const RunSummary run = random_run(random);
    const std::string text = to_text(run, "run");
    const std::vector<std::string> row = total_row(text);
    ASSERT_EQ(row.size(), slowdown + 1) << text;
    ASSERT_LE(sentences_of(run).size(), 5U);
    for (const std::string& sentence : sentences_of(run)) EXPECT_NE(text.find(sentence + "\n"), std::string::npos);
    const bool fills = run.ranks.front().header.mode == "fill", measured = row[idle] != "unknown";
    EXPECT_SAYS(run, row[median] == "-" ? "takes is unknown" : "takes " + row[median] + " ms");
    EXPECT_SAYS(run, measured ? "are idle for " + row[idle] + " %" : "the GPUs are is unknown");
    EXPECT_SAYS(run, measured ? "for " + row[uncertain] + " % nobody could tell" : "unknown");
    if (fills) {
      EXPECT_SAYS(run, measured ? "took " + row[conversion] + " % of the" : "fill work took is unknown");
      EXPECT_SAYS(run, "(" + row[units] + " unit");
      EXPECT_SAYS(run, row[slowdown] == "-" ? "cost is unknown" : "most " + row[slowdown] + " %");
    } else {
      EXPECT_SAYS(run, "Nothing was filled");
    }
    std::smatch stage;
    const std::string sentences = all_of(run);
    if (std::regex_search(sentences, stage,
                          std::regex("Stage ([0-9]+) \\(rank ([0-9]+)\\) makes.*idle for ([0-9.]+)"))) {
      ++named;
      EXPECT_EQ(stage[1], stage[2]);
      for (const RankSummary& rank : run.ranks)
        EXPECT_GE(100 * rank.steady().value_or(rank.whole()).idle_share() + 0.01, std::stod(stage[3])) << text;
    }
    unknown += has(run, "unknown") ? 1 : 0;
  }
  EXPECT_GT(named, 100U);
  EXPECT_GT(unknown, 100U);
}

}  // namespace
}  // namespace weft
