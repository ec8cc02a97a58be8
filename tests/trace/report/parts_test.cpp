// The pure parts of a report: which stage is the frontier, and the theory of pipelines.
#include <gtest/gtest.h>

#include "trace/report/file_names.h"
#include "trace/report/frontier.h"
#include "trace/report/report.h"
#include "trace/report/what_if.h"

namespace weft::report {
namespace {

using namespace std::chrono_literals;

// So many iterations of 100 ms, in which the units work for these times, and for so much more where uncertain time was
// work.
Frontier frontier_of(const std::vector<std::vector<Duration>>& work, const std::vector<Duration>& uncertain = {},
                     std::size_t ranks = 0) {
  std::vector<UnitOfWork> units;
  std::map<IterationKey, Duration> lengths;
  for (std::size_t unit = 0; unit < work.size(); ++unit) {
    units.push_back({"stage " + std::to_string(unit), {}});
    for (std::size_t number = 0; number < work[unit].size(); ++number) {
      const Duration least = work[unit][number];
      units.back().work[{0, number + 1}] = {least, least + (uncertain.empty() ? 0ms : uncertain[unit])};
      lengths[{0, number + 1}] = 100ms;
    }
  }
  return find_frontier(units, lengths, ranks);
}

std::string sentence_of(const Frontier& frontier) {
  const ReportedRun run;
  Report report;
  report.run = &run;
  report.frontier = frontier;
  return sentences_of(report)[1];
}

TEST(Frontier, IsTheStageThatWorksLongestInMostIterations) {
  const Frontier found = frontier_of({{60ms, 60ms, 60ms, 60ms}, {80ms, 81ms, 70ms, 82ms}, {70ms, 70ms, 75ms, 70ms}});
  ASSERT_EQ(found.lead, Lead::clear);
  EXPECT_EQ(found.longest, 1u);
  EXPECT_EQ(found.next, 2u);
  EXPECT_EQ(found.units[1].least, 81ms);
  EXPECT_DOUBLE_EQ(found.units[1].at_frontier, 0.75);
  EXPECT_EQ(found.length, 100ms);
  EXPECT_EQ(sentence_of(found),
            "The delay starts at stage 1: it works longest in 75 % of the iterations, 81.0 ms of 100.0 ms, 11.0 ms "
            "longer than the next one (stage 2), and the others wait for it.");
}

TEST(Frontier, IsNobodyWhereTheyTakeTurnsOrDifferByNothing) {
  EXPECT_NE(frontier_of({{80ms, 70ms, 80ms, 70ms}, {70ms, 80ms, 70ms, 80ms}}).lead, Lead::clear);
  const Frontier alike = frontier_of({{80500us, 80500us, 80500us, 80500us}, {80ms, 80ms, 80ms, 80ms}});
  EXPECT_EQ(alike.lead, Lead::alike);
  EXPECT_TRUE(sentence_of(alike).starts_with("No single one makes the others wait: ")) << sentence_of(alike);
}

// Stage 2 is slow: most of its uncertain time may be work.
TEST(Frontier, CannotBeToldWhereUncertainTimeDecides) {
  const std::vector<std::vector<Duration>> work{
      {70ms, 70ms, 70ms, 70ms}, {78ms, 78ms, 78ms, 78ms}, {70ms, 70ms, 70ms, 70ms}};
  const Frontier found = frontier_of(work, {0ms, 0ms, 25ms});
  EXPECT_EQ(found.lead, Lead::uncertain);
  EXPECT_EQ(sentence_of(found),
            "Which stage makes the others wait cannot be told: 25.0 % of stage 2's time is uncertain.");
  EXPECT_EQ(frontier_of(work, {0ms, 0ms, 2ms}).lead, Lead::clear);
  EXPECT_EQ(frontier_of(work, {0ms, 10ms, 0ms}).lead, Lead::clear);
  EXPECT_EQ(frontier_of({work[0], work[2]}, {0ms, 25ms}).lead, Lead::uncertain);
}

TEST(Frontier, SaysHowMuchLongerAtLeastWhereTimeIsUncertain) {
  const Frontier found = frontier_of({{90ms, 90ms, 90ms, 90ms}, {70ms, 70ms, 70ms, 70ms}}, {3ms, 4ms});
  EXPECT_EQ(sentence_of(found),
            "The delay starts at stage 0: it works longest in 100 % of the iterations, 90.0 to 93.0 ms of 100.0 ms, at "
            "least 16.0 ms longer than the next one (stage 1), and the others wait for it.");
}

TEST(Frontier, UncertainTimeInSomeIterationsMayDecideHowOftenAStageLeads) {
  std::vector<UnitOfWork> units{{"stage 0", {}}, {"stage 1", {}}};
  std::map<IterationKey, Duration> lengths;
  for (std::uint64_t number = 1; number <= 10; ++number) {
    lengths[{0, number}] = 100ms;
    units[0].work[{0, number}] = {80ms, 80ms};
    units[1].work[{0, number}] = {60ms, number <= 4 ? 90ms : 60ms};
  }
  const Frontier found = find_frontier(units, lengths, 2);
  EXPECT_DOUBLE_EQ(found.units[0].at_frontier, 0.6);
  EXPECT_EQ(found.lead, Lead::uncertain);
  EXPECT_NE(sentence_of(found).find("12.0 % of stage 1's time is uncertain"), std::string::npos) << sentence_of(found);
}

TEST(Frontier, MoreOftenIsSaidOfTheOneThatLeadsMostOftenOnly) {
  const Frontier often =
      frontier_of({{70ms, 70ms, 70ms, 70ms, 70ms}, {80ms, 80ms, 80ms, 60ms, 60ms}, {60ms, 60ms, 60ms, 90ms, 60ms}});
  EXPECT_EQ(often.lead, Lead::more_often);
  EXPECT_TRUE(sentence_of(often).starts_with("The delay starts at stage 1 more often than elsewhere"));
  std::vector<std::vector<Duration>> work(3);
  for (int number = 0; number < 20; ++number) {
    work[0].push_back(70ms);
    work[1].push_back(number < 9 ? 90ms : 30ms);
    work[2].push_back(number >= 9 && number < 13 ? 90ms : 30ms);
  }
  const Frontier mixed = frontier_of(work);
  EXPECT_EQ(mixed.lead, Lead::mixed);
  EXPECT_EQ(sentence_of(mixed),
            "The delay does not start at one place: stage 0 has the most work in the middle of all iterations (70.0 ms "
            "of 100.0 ms), but stage 1 is the longest in more of them (45 %).");
}

TEST(Frontier, IsOfTheRanksThatCanBeComparedWhereSomeAreMissing) {
  const std::vector<std::vector<Duration>> slow{{90ms, 90ms, 90ms, 90ms}, {70ms, 70ms, 70ms, 70ms}};
  const Frontier found = frontier_of(slow, {}, 3);
  EXPECT_EQ(found.ranks_compared, 2u);
  EXPECT_EQ(sentence_of(found),
            "Of the ranks that can be compared (2 of 3) stage 0 works longest: in 100 % of the iterations, 90.0 ms of "
            "100.0 ms, 20.0 ms longer than the next one (stage 1); the others may be slower.");
  const std::string alike = sentence_of(frontier_of({slow[1], slow[1]}, {}, 3));
  EXPECT_TRUE(alike.starts_with("Of the ranks that can be compared (2 of 3) no single one works longest: ")) << alike;
  EXPECT_EQ(sentence_of(frontier_of(slow, {}, 2)).find("can be compared"), std::string::npos);
}

// Of a pipeline of three stages, one rank each, those that left a trace; they work for 80, 100 and 120 ms of 200.
ReportedRun run_of_stages(const std::vector<int>& stages) {
  ReportedRun run;
  for (const int stage : stages) {
    RankSummary& rank = run.named.summary.ranks.emplace_back();
    rank.name = std::to_string(stage);
    rank.header.rank = stage;
    rank.header.ranks = 3;
    rank.stage = {stage, 3, 1};
    ReportedTrace& trace = run.traces.emplace_back();
    for (std::uint64_t number = 1; number <= 4; ++number) {
      Iteration iteration;
      iteration.number = number;
      iteration.started = TimePoint{} + number * 200ms;
      iteration.ended = iteration.started + 200ms;
      iteration.idle = 120ms - stage * 20ms;
      trace.series.record(Record(0, {}, iteration), {});
    }
  }
  return run;
}

TEST(Frontier, IsNotKnownWhereAStageIsMissing) {
  EXPECT_EQ(find_frontier(run_of_stages({0, 1, 2})).lead, Lead::clear);
  const Frontier found = find_frontier(run_of_stages({0, 2}));
  EXPECT_EQ(found.missing, "no rank of stage 1 can be compared");
  EXPECT_EQ(sentence_of(found), "Which stage makes the others wait is not known: no rank of stage 1 can be compared.");
}

TEST(Frontier, ComparesRanksWhereStagesAreNotKnown) {
  ReportedRun run = run_of_stages({0, 2});
  for (RankSummary& rank : run.named.summary.ranks) rank.stage.reset();
  const Frontier found = find_frontier(run);
  EXPECT_EQ(found.units[found.longest].name, "rank 2");
  EXPECT_EQ(found.ranks_compared, 2u);
  EXPECT_EQ(found.ranks, 3u);
}

TEST(Frontier, NamesTheRankOfTheStageThatHasTheMostWork) {
  std::vector<UnitOfWork> units{{"stage 0", {}}, {"stage 1", {}}};
  std::map<IterationKey, Duration> lengths;
  for (std::uint64_t number = 1; number <= 4; ++number) {
    lengths[{0, number}] = 100ms;
    units[0].work[{0, number}] = {50ms, 50ms};
    units[1].work[{0, number}] = {80ms, 80ms, 2, number == 2 ? "5" : "9"};
  }
  const Frontier found = find_frontier(units, lengths, 3);
  EXPECT_EQ(found.units[1].rank, "9");
  EXPECT_DOUBLE_EQ(found.units[1].of_rank, 0.75);
  EXPECT_EQ(found.units[0].rank, "");
  EXPECT_TRUE(found.has_all_ranks());
}

TEST(Frontier, SaysWhyItIsNotKnown) {
  EXPECT_NE(frontier_of({{80ms, 70ms, 80ms, 70ms}}).missing, "");
  EXPECT_NE(frontier_of({{80ms, 70ms}, {70ms, 80ms}}).missing, "");
  EXPECT_EQ(frontier_of({{80ms, 70ms, 80ms, 70ms}, {70ms, 80ms, 70ms, 80ms}}).missing, "");
}

TEST(Frontier, ComparesOnlyIterationsThatAllHave) {
  EXPECT_EQ(frontier_of({{80ms, 70ms, 80ms, 70ms, 70ms, 70ms}, {70ms, 80ms, 70ms, 80ms}}).iterations, 4u);
}

TEST(Theory, OfTheBubble) {
  EXPECT_DOUBLE_EQ(bubble_of_theory(4, 8, 1), 3.0 / 11);
  EXPECT_DOUBLE_EQ(bubble_of_theory(4, 8, 2), 3.0 / 19);
  EXPECT_DOUBLE_EQ(bubble_of_theory(1, 8, 1), 0);
}

TEST(Theory, IsOfAnotherOrderWhereTheRunWaitsForClearlyLess) {
  EXPECT_TRUE(is_below_theory(0.13, bubble_of_theory(4, 8, 1)));
  EXPECT_FALSE(is_below_theory(0.25, bubble_of_theory(4, 8, 1)));
  EXPECT_FALSE(is_below_theory(0.3, bubble_of_theory(4, 8, 1)));
  EXPECT_FALSE(is_below_theory(0, bubble_of_theory(4, 8, 1)));  // nothing was measured
}

// With equal stages the idle share is that of the bubble.
TEST(Theory, OfTheIterationAgreesWithThatOfTheBubble) {
  const double iteration = iteration_of_theory({80, 80, 80, 80}, 8, 1);
  EXPECT_DOUBLE_EQ(1 - 80 / iteration, bubble_of_theory(4, 8, 1));
}

TEST(Theory, TheLongestStageSetsThePace) {
  EXPECT_DOUBLE_EQ(iteration_of_theory({80, 160}, 8, 1), 160 + 80.0 / 8);
}

TEST(FileNames, StandAloneInTexts) {
  const auto text = [](const std::string& of, const std::string& directory = "/home/alice/run 1/") {
    return with_names_of_files(of, {directory});
  };
  EXPECT_EQ(text("rank 2: 1 line not readable: /home/alice/run 1/rank2.3.jsonl:17"),
            "rank 2: 1 line not readable: rank2.3.jsonl:17");
  EXPECT_EQ(text("/home/alice/run 1//rank2.3.jsonl is a copy of /home/alice/run 1/rank2.4.jsonl; it is left out"),
            "rank2.3.jsonl is a copy of rank2.4.jsonl; it is left out");
  EXPECT_EQ(text("weft-1/rank2.3.jsonl:17, my-weft-1/x", "weft-1"), "rank2.3.jsonl:17, my-weft-1/x");
  EXPECT_EQ(text("./rank2.3.jsonl:17", "."), "rank2.3.jsonl:17");
  EXPECT_EQ(text("the fill job was refused ('/opt/secret/job.so' cannot be opened)"),
            "the fill job was refused ('job.so' cannot be opened)");
  EXPECT_EQ(text("/a/b/"), "b/");
  EXPECT_EQ(text("80 % / 20 %, and/or 3/4, https://weft.example/x"), "80 % / 20 %, and/or 3/4, https://weft.example/x");
}

}  // namespace
}  // namespace weft::report
