// Names of the messages of all schedules that sim/pipeline has: right where the schedule is known, less elsewhere, and
// never wrong.
#include "trace/names/names.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <string>
#include <tuple>

#include "tests/trace/names/scheduled_run.h"

namespace weft {
namespace {

using pipeline::Schedule;
using testing::NamedRun;
using testing::RankRun;
using testing::RunStyle;
using testing::Score;
using Communicators = RunStyle::Communicators;

std::vector<RankRun> make_run(Schedule schedule, int ranks, int microbatches, const RunStyle& style = {},
                              int chunks = 2) {
  pipeline::ScheduleOptions options{schedule, ranks, microbatches, chunks, {}};
  if (schedule == Schedule::graph) {  // the first one's output goes to two, whose outputs go to the last one
    options.followers.resize(static_cast<std::size_t>(ranks));
    for (int stage = 1; stage + 1 < ranks; ++stage) {
      options.followers[0].push_back(stage);
      options.followers[static_cast<std::size_t>(stage)] = {ranks - 1};
    }
  }
  return testing::run_of(pipeline::orders_of(options), style);
}

std::string described(const RunStyle& style) {
  return "communicators " + std::to_string(static_cast<int>(style.communicators)) + (style.paired ? ", paired" : "") +
         ", " + std::to_string(style.ahead) + " ahead, " + std::to_string(style.parts) + " parts, " +
         (style.planned ? "planned, uneven " + std::to_string(style.uneven) : "not planned");
}

std::vector<RunStyle> styles() {
  std::vector<RunStyle> all;
  for (const Communicators communicators : {Communicators::one, Communicators::pairs, Communicators::lanes})
    for (const bool paired : {false, true})
      for (const int ahead : {0, 1})
        for (const int parts : {1, 2})
          if (!paired || communicators != Communicators::lanes)  // a group is on one communicator
            all.push_back({.communicators = communicators, .paired = paired, .ahead = ahead, .parts = parts});
  return all;
}

bool is_possible(Schedule schedule, int ranks, int microbatches) {
  if (schedule == Schedule::interleaved || schedule == Schedule::offload) return microbatches % ranks == 0;
  if (schedule == Schedule::graph) return ranks >= 4;
  return schedule != Schedule::dualpipe_v || microbatches >= 2 * ranks;
}

// Looks at the score of each number of ranks and of microbatches, and each way to talk.
template <class Look>
void for_all_runs(Schedule schedule, const std::vector<int>& ranks, Look look) {
  for (const int each : ranks)
    for (const int microbatches : {1, 2, 3, 4, 6, 8, 10, 12, 16})
      for (const int chunks : {2, 3, 4})
        for (const RunStyle& style : styles()) {
          const bool has_chunks = schedule == Schedule::interleaved || schedule == Schedule::offload;
          if (!is_possible(schedule, each, microbatches) || (chunks > 2 && !has_chunks)) continue;
          SCOPED_TRACE(std::to_string(each) + " ranks, " + std::to_string(microbatches) + " microbatches, " +
                       std::to_string(chunks) + " chunks, " + described(style));
          const std::vector<RankRun> run = make_run(schedule, each, microbatches, style, chunks);
          const NamedRun named(run, each);
          look(named.score(run, microbatches), style, microbatches);
        }
}

class KnownSchedules : public ::testing::TestWithParam<Schedule> {};

TEST_P(KnownSchedules, GiveEveryMessageItsName) {
  for_all_runs(GetParam(), {3, 4, 5, 8}, [&](const Score& score, const RunStyle& style, int) {
    EXPECT_EQ(score.wrong, 0u);
    // Weight gradients of their own make zero-bubble H1 post receives now earlier, now later.
    if (GetParam() == Schedule::zb_h1 && style.ahead > 0) return;
    EXPECT_GT(score.right, 0u);
    EXPECT_EQ(score.less, 0u);
  });
}

INSTANTIATE_TEST_SUITE_P(All, KnownSchedules,
                         ::testing::Values(Schedule::gpipe, Schedule::one_f_one_b, Schedule::interleaved,
                                           Schedule::zb_h1, Schedule::offload));

// Stages of two ranks that make the calls of another schedule, too, have no names then.
TEST(Names, OfTwoRanksAreRightOrSayLess) {
  for (const Schedule schedule : {Schedule::gpipe, Schedule::one_f_one_b})
    for_all_runs(schedule, {2}, [&](const Score& score, const RunStyle& style, int microbatches) {
      EXPECT_EQ(score.wrong, 0u);
      const bool is_ambiguous = schedule == Schedule::gpipe || microbatches < 3 || microbatches == 4 ||
                                (microbatches >= 6 && microbatches % 4 == 2);
      if (is_ambiguous) {
        EXPECT_EQ(score.right, 0u);
      }
      if (style.ahead == 0 && !is_ambiguous) {
        EXPECT_EQ(score.less, 0u);
      }
    });
}

class OtherSchedules : public ::testing::TestWithParam<Schedule> {};

TEST_P(OtherSchedules, AreNamedByPeerAndNeverWrong) {
  for_all_runs(GetParam(), {2, 3, 4, 5, 8}, [](const Score& score, const RunStyle&, int) {
    EXPECT_EQ(score.wrong, 0u);
    EXPECT_EQ(score.right, 0u);
    EXPECT_GT(score.less, 0u);
  });
}

INSTANTIATE_TEST_SUITE_P(All, OtherSchedules, ::testing::Values(Schedule::zb_v, Schedule::dualpipe_v, Schedule::graph));

constexpr std::array every_schedule{Schedule::gpipe, Schedule::one_f_one_b, Schedule::interleaved, Schedule::zb_h1,
                                    Schedule::zb_v,  Schedule::dualpipe_v,  Schedule::graph,       Schedule::offload};

TEST(Names, OfReceivesThatComeByAPlanOfAllRanksAreNeverWrong) {
  for (const Schedule schedule : every_schedule)
    for (const int ranks : {2, 3, 4, 5})
      for (const int microbatches : {1, 2, 3, 4, 6, 8, 10, 12})
        for (const std::uint32_t uneven : {0U, 02222U})
          for (const bool paired : {false, true})
            for (const bool apart : {false, true}) {
              if (!is_possible(schedule, ranks, microbatches)) continue;
              const RunStyle style{
                  .paired = paired, .planned = true, .uneven = uneven, .parts = apart ? 2 : 1, .apart = apart};
              const std::vector<RankRun> run = make_run(schedule, ranks, microbatches, style);
              const Score score = NamedRun(run, ranks).score(run, microbatches);
              EXPECT_EQ(score.wrong, 0u) << pipeline::schedule_names[static_cast<std::size_t>(schedule)] << ", "
                                         << ranks << " ranks, " << microbatches << " microbatches, "
                                         << described(style);
            }
}

TEST(Names, OfInterleavedStagesOnTwoRanksSayLess) {
  for_all_runs(Schedule::interleaved, {2},
               [](const Score& score, const RunStyle&, int) { EXPECT_EQ(score.right + score.wrong, 0u); });
}

// Texts of all groups of a rank, with their phases.
std::vector<std::string> texts(const NamedRun& named, std::size_t trace) {
  std::vector<std::string> all;
  for (const GroupName& group : named.names().groups(trace, 0))
    all.push_back(group.text() + "; " + phase_names[static_cast<std::size_t>(group.phase)]);
  return all;
}

TEST(Names, ReadAsPeopleSpeak) {
  const NamedRun named(make_run(Schedule::one_f_one_b, 3, 3, {.paired = true}), 3);
  EXPECT_EQ(texts(named, 1),
            (std::vector<std::string>{
                "activation 1 of 3 from stage 0 (rank 0); warm-up", "activation 1 of 3 to stage 2 (rank 2); warm-up",
                "activation 2 of 3 from stage 0 (rank 0); warm-up",
                "activation 2 of 3 to stage 2 (rank 2), with gradient 1 of 3 from stage 2 (rank 2); "
                "steady",
                "gradient 1 of 3 to stage 0 (rank 0), with activation 3 of 3 from stage 0 (rank 0); "
                "steady",
                "activation 3 of 3 to stage 2 (rank 2), with gradient 2 of 3 from stage 2 (rank 2); "
                "steady",
                "gradient 2 of 3 to stage 0 (rank 0); cool-down", "gradient 3 of 3 from stage 2 (rank 2); cool-down",
                "gradient 3 of 3 to stage 0 (rank 0); cool-down", "all-reduce of 8 bytes among 3 ranks; optimizer"}));
  EXPECT_TRUE(named.names().notes().empty());
  const GroupName exchange = named.names().groups(1, 0)[3];
  EXPECT_EQ(exchange.awaited(Cause::receive)->text, "gradient 1 of 3 from stage 2 (rank 2)");
  EXPECT_EQ(exchange.awaited(Cause::send)->text, "activation 2 of 3 to stage 2 (rank 2)");
}

TEST(Names, OfAWrappingMessageHaveTheChunkItComesFrom) {
  const NamedRun named(make_run(Schedule::interleaved, 4, 8), 4);
  EXPECT_EQ(texts(named, 3)[0], "activation 1 of 8 from stage 2, chunk 0 (rank 2); warm-up");
  EXPECT_EQ(texts(named, 3)[1], "activation 1 of 8 to stage 0, chunk 1 (rank 0); warm-up");
  ASSERT_TRUE(named.names().stage(3));
  EXPECT_EQ(named.names().stage(3)->chunks, 2);
  EXPECT_EQ(named.names().stage(3)->stage, 3);
}

TEST(Names, OfOtherOrdersCountTheMessagesOfEachPeer) {
  const NamedRun named(make_run(Schedule::zb_v, 4, 8), 4);
  EXPECT_EQ(texts(named, 0)[0], "send to rank 1, 1st of the iteration; ");
  ASSERT_EQ(named.names().notes().size(), 1u);
  EXPECT_EQ(named.names().notes()[0],
            "messages of rank 0, 1, 2, 3 are named by peer and number: the order of their messages is of no schedule "
            "that Weft knows");
  EXPECT_FALSE(named.names().stage(0));
}

// Of the traces only some are there.
NamedRun with_traces(const std::vector<RankRun>& run, const std::vector<std::size_t>& there, int ranks) {
  std::vector<RankRun> some;
  for (const std::size_t trace : there) some.push_back(run[trace]);
  return {some, ranks};
}

// It talks to both others, so there are no further ones.
TEST(Names, OfARankAloneInTheMiddleOfThreeComeFromItsOrderIn1F1B) {
  const std::vector<RankRun> run = make_run(Schedule::one_f_one_b, 3, 8);
  const NamedRun alone = with_traces(run, {1}, 3);
  ASSERT_TRUE(alone.names().stage(0));
  EXPECT_EQ(alone.names().stage(0)->stage, 1);
  const Score score = alone.score({run[1]}, 8);
  EXPECT_EQ(std::tuple(score.wrong, score.less), std::tuple(0u, 0u));
}

TEST(Names, OfARankAmongOthersWithoutTracesSayLess) {
  const std::vector<RankRun> run = make_run(Schedule::one_f_one_b, 4, 8);
  for (const std::size_t rank : {0, 1, 2, 3}) {
    const NamedRun alone = with_traces(run, {rank}, 4);
    EXPECT_FALSE(alone.names().stage(0));
    EXPECT_EQ(alone.names().notes().size(), 1u) << rank;
  }
  EXPECT_EQ(with_traces(run, {1, 2}, 4).score({run[1], run[2]}, 8).less, 0u) << "they talk to both ends";
}

TEST(Names, WithoutAllRanksAreNeverWrong) {
  std::vector<RunStyle> all_styles = styles();
  all_styles.push_back({.planned = true});
  all_styles.push_back({.planned = true, .uneven = 02222U});
  for (const Schedule schedule : every_schedule)
    for (const RunStyle& style : all_styles)
      for (const int microbatches : {4, 12})
        for (unsigned there = 1; there < 16; ++there) {
          if (!is_possible(schedule, 4, microbatches)) continue;
          const std::vector<RankRun> run = make_run(schedule, 4, microbatches, style);
          std::vector<std::size_t> traces;
          std::vector<RankRun> some;
          for (std::size_t rank = 0; rank < 4; ++rank)
            if ((there >> rank & 1U) != 0) traces.push_back(rank), some.push_back(run[rank]);
          EXPECT_EQ(with_traces(run, traces, 4).score(some, microbatches).wrong, 0u)
              << pipeline::schedule_names[static_cast<std::size_t>(schedule)] << ", " << described(style) << ", "
              << microbatches << " microbatches, ranks " << there;
        }
}

// A rank whose iterations are cut at another place has other messages first than its peers.
TEST(Names, OfIterationsThatBeginElsewhereSayLess) {
  std::vector<RankRun> run = make_run(Schedule::one_f_one_b, 3, 8, {.iterations = 4});
  const std::uint32_t per_iteration = 17;  // of the last rank: 8 in, 8 out, one sum
  for (Record& record : run[2].records)
    if (record.kind == RecordKind::group) {
      const std::uint64_t id = record.group.id + 2;  // a receive and a send earlier
      record.group.iteration = id <= 2 * per_iteration ? 0 : (id - 1) / per_iteration - 1;
    }
  const NamedRun named(run, 3);
  EXPECT_EQ(named.score(run, 8).wrong, 0u);
  EXPECT_EQ(named.score(run, 8).right, 0u);
  ASSERT_EQ(named.names().notes().size(), 1u);
  EXPECT_NE(named.names().notes()[0].find("are named by peer and number"), std::string::npos);
}

TEST(Names, OfIterationsThatLackAGroupAreNotMade) {
  std::vector<RankRun> run = make_run(Schedule::gpipe, 3, 4);
  for (RankRun& rank : run)
    std::erase_if(rank.records,
                  [](const Record& record) { return record.kind == RecordKind::group && record.group.id % 5 == 0; });
  const NamedRun named(run, 3);
  EXPECT_TRUE(named.iterations(0).shapes().empty());
  EXPECT_EQ(named.iterations(0).incomplete(), 3u);
  const auto sum = std::ranges::find_if(run[1].records, [](const Record& record) {
    return record.kind == RecordKind::group && record.group.operations.begin()->kind == Operation::all_reduce;
  });
  ASSERT_NE(sum, run[1].records.end());
  EXPECT_EQ(named.names().group(1, sum->group).text(), "all-reduce of 8 bytes among 3 ranks");
}

TEST(Names, TellTheCommunicatorsApart) {
  const RunStyle style{.replicas = 2, .splits_tensors = true};
  const NamedRun named(make_run(Schedule::one_f_one_b, 3, 6, style), 6);
  const auto roles = [&](std::size_t trace) {
    std::map<std::string, Role> by_use;
    for (const names::IssuedGroup& group : named.iterations(trace).shapes()[0].groups) {
      const Operation kind = group.operations[0].kind;
      const std::string use = kind != Operation::all_reduce ? "messages" : std::to_string(group.operations[0].bytes);
      by_use[use] = named.names().roles(trace).at(group.communicator);
    }
    return by_use;
  };
  for (std::size_t trace = 0; trace < 6; ++trace) {
    const auto all = roles(trace);
    EXPECT_EQ(all.at("messages"), Role::pipeline);
    EXPECT_EQ(all.at("4096"), Role::data) << "sums of gradients";
    EXPECT_EQ(all.at("8"), Role::other) << "it has all stages";
    EXPECT_EQ(all.at("512"), Role::other) << "the other rank of its tensor group left no trace";
  }
}

// The name of an all-reduce there, and the communicator's role.
std::pair<std::string, Role> with_name(const std::string& name) {
  names::RankIterations iterations;
  CommunicatorRecord communicator;
  communicator.communicator = 1;
  communicator.ranks = 4;
  communicator.name = name;
  iterations.take(Record(0, TimePoint{}, communicator));
  iterations.finish();
  GroupRecord group;
  group.communicator = 1;
  group.operations.add({Operation::all_reduce, -1, 8, 1});
  const RunNames names({{0, 4, &iterations}});
  return {names.group(0, group).text(), names.roles(0).at(1)};
}

TEST(Names, OfCollectivesHaveThoseOfTheirCommunicators) {
  using Named = std::pair<std::string, Role>;
  EXPECT_EQ(with_name(""), Named("all-reduce of 8 bytes among 4 ranks", Role::other));
  EXPECT_EQ(with_name("undefined:0"), Named("all-reduce of 8 bytes among 4 ranks", Role::other));
  EXPECT_EQ(with_name("MODEL_PARALLEL_GROUP:12"), Named("all-reduce of 8 bytes in MODEL_PARALLEL_GROUP", Role::other));
  EXPECT_EQ(with_name("host:a"), Named("all-reduce of 8 bytes in host:a", Role::other));
  EXPECT_EQ(with_name("a\nb"), Named("all-reduce of 8 bytes in a\\x0ab", Role::other));
  EXPECT_EQ(with_name("DATA_PARALLEL_GROUP").second, Role::data);
  EXPECT_EQ(with_name("mesh_pp:3").second, Role::pipeline);
  EXPECT_EQ(with_name("TENSOR_MODEL_PARALLEL_GROUP").second, Role::tensor);
  EXPECT_EQ(with_name("TENSOR_AND_DATA_PARALLEL_GROUP").second, Role::other);
  EXPECT_EQ(with_name("EXPERT_DATA_PARALLEL_GROUP").second, Role::other);
}

// The numbers of a trace that comes from a stranger mean nothing, and take no memory.
TEST(Names, OfIterationsThatNeverEndAreGivenUp) {
  names::RankIterations iterations;
  GroupRecord group;
  group.communicator = 1;
  group.operations.add({Operation::send, 1, 8, 1});
  for (std::uint64_t number = 1; number <= 1000; ++number) {
    group.id = number;
    group.iteration = number * 1'000'000'007;
    iterations.take(Record(0, TimePoint{}, group));
  }
  iterations.finish();
  EXPECT_EQ(iterations.incomplete(), 1000u);
  EXPECT_TRUE(iterations.shapes().empty());
}

}  // namespace
}  // namespace weft
