// Names of slots: that of the groups that their bubbles waited for, and less where these differ or are not known.
#include "trace/names/slot_names.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "tests/trace/names/scheduled_run.h"

namespace weft {
namespace {

using testing::RankRun;

constexpr std::uint64_t rhythm = 7;

// The traces of three stages of 1F1B with three microbatches, and bubbles of the middle one.
class SlotNames : public ::testing::Test {
 protected:
  SlotNames()
      : run_(testing::run_of(pipeline::orders_of({pipeline::Schedule::one_f_one_b, 3, 3, 1, {}}), {.paired = true})) {}

  // In the iteration's group at this place.
  static Bubble bubble_at(const RankRun& rank, std::uint64_t iteration, std::size_t place) {
    Bubble bubble;
    std::size_t next = 0;
    for (const Record& record : rank.records)
      if (record.kind == RecordKind::group && record.group.iteration == iteration && next++ == place) {
        bubble.group = record.group.id;
        bubble.slot.communicator = record.group.communicator;
      }
    bubble.iteration = iteration;
    bubble.rhythm = rhythm;
    bubble.cause = Cause::receive;
    bubble.slot.ordinal = 1;
    bubble.slot.receive_peer = 0;
    bubble.slot.bytes = 32768;
    return bubble;
  }

  SlotName name_of(const std::vector<Bubble>& bubbles) {
    places_.clear();
    std::vector<names::NamedRank> traces;
    for (std::size_t rank = 0; rank < run_.size(); ++rank) {
      SlotPlaces& places = *places_.emplace_back(std::make_unique<SlotPlaces>());
      places.header(TraceHeader{}, TraceLine{});
      for (const Bubble& bubble : bubbles)
        if (rank == 1) places.record(Record(0, TimePoint{}, bubble), TraceLine{});
      for (const Record& record : run_[rank].records) places.record(record, TraceLine{});
      places.finish();
      traces.push_back({static_cast<std::int64_t>(rank), 3, &places.iterations()});
    }
    names_ = std::make_unique<RunNames>(traces);
    SlotTotals totals;
    totals.slot = bubbles.front().slot;
    totals.cause = bubbles.front().cause;
    return name_of_slot(*names_, 1, *places_[1], totals, true);
  }
  Bubble bubble_at(std::uint64_t iteration, std::size_t place) const { return bubble_at(run_[1], iteration, place); }

  std::vector<RankRun> run_;
  std::vector<std::unique_ptr<SlotPlaces>> places_;
  std::unique_ptr<RunNames> names_;
};

TEST_F(SlotNames, AreThoseOfTheGroupsInAllIterations) {
  const SlotName name = name_of({bubble_at(1, 2), bubble_at(2, 2), bubble_at(3, 2)});
  EXPECT_EQ(name.text, "activation 2 of 3 from stage 0 (rank 0)");
  EXPECT_EQ(name.phase, Phase::warm_up);
  ASSERT_TRUE(name.message);
  EXPECT_EQ(name.message->microbatch, 1);
  EXPECT_EQ(name.message->peer_rank, 0);
}

TEST_F(SlotNames, AreOfTheReceiveThatIsWaitedFor) {
  EXPECT_EQ(name_of({bubble_at(1, 4)}).text, "activation 3 of 3 from stage 0 (rank 0)");
  Bubble sending = bubble_at(1, 4);
  sending.cause = Cause::send;
  EXPECT_EQ(name_of({sending}).text, "gradient 1 of 3 to stage 0 (rank 0)");
}

TEST_F(SlotNames, SayLessWhereBubblesWaitedForDifferentGroups) {
  const SlotName name = name_of({bubble_at(1, 2), bubble_at(2, 0)});
  EXPECT_EQ(name.text, "receive from rank 0, slot 1");
  EXPECT_FALSE(name.message);
  EXPECT_EQ(name.phase, Phase::unknown);
}

TEST_F(SlotNames, SayLessWhereSomeBubblesAreOfARhythmThatIsNotKnown) {
  Bubble other = bubble_at(9, 0);  // an iteration without groups
  EXPECT_EQ(name_of({bubble_at(1, 2), other}).text, "activation 2 of 3 from stage 0 (rank 0)") << "of the same rhythm";
  other.rhythm = rhythm + 1;
  EXPECT_EQ(name_of({bubble_at(1, 2), other}).text, "receive from rank 0, slot 1");
}

TEST_F(SlotNames, HaveNoNumberBeforeTheRhythm) {
  Bubble early = bubble_at(1, 2);
  early.iteration = early.rhythm = 0;
  early.slot.ordinal = -1;
  EXPECT_EQ(name_of({early}).text, "receive from rank 0, before the rhythm was known");
}

TEST_F(SlotNames, AreNotGivenWhereTheTrainingSaysOtherwise) {
  Bubble said = bubble_at(1, 2);
  said.said = {1, 2, 5};
  EXPECT_EQ(name_of({said}).text, "receive from rank 0, slot 1");
  said.said = {1, 0, 5};
  EXPECT_EQ(name_of({said}).text, "activation 2 of 3 from stage 0 (rank 0)");
}

TEST_F(SlotNames, OfAnUnknownOrderHaveTheMicrobatchThatTheTrainingSays) {
  run_ = testing::run_of(pipeline::orders_of({pipeline::Schedule::zb_v, 3, 6, 1, {}}), {});
  Bubble said = bubble_at(1, 0);
  said.said = {1, 0, 0};
  EXPECT_EQ(name_of({said}).text, "receive from rank 0, 1st of the iteration, annotated microbatch 0");
  Bubble next = bubble_at(2, 0);
  next.said = {1, 0, 1};
  EXPECT_EQ(name_of({said, next}).text, "receive from rank 0, 1st of the iteration");
}

TEST_F(SlotNames, OfAnnotatedBubblesAreTheirNumbers) {
  Bubble said = bubble_at(1, 0);
  said.cause = Cause::schedule;
  said.group = 0;
  EXPECT_EQ(name_of({said}).text, "annotated bubble 1");
  said.slot.ordinal = -1;
  EXPECT_EQ(name_of({said}).text, "pieces of annotated bubbles");
}

}  // namespace
}  // namespace weft
