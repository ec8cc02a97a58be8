// The run that pages show: which pages are of it, whether ranks are there, for whom they wait, their shares.
#include "trace/live/live_run.h"

#include <gtest/gtest.h>

#include "tests/trace/live/sample_pages.h"

namespace weft {
namespace {

using test::sample_observer;
using test::sample_page;
using test::sample_pages;
using test::sample_run;

LiveRank only_rank(const LivePage& page, const LiveObserver& observer = sample_observer()) {
  return live_run_of({{"rank0.1.live", page}}, observer).ranks.at(0);
}

TEST(LiveRun, OfNoPageHasNoRank) {
  EXPECT_TRUE(live_run_of({}, sample_observer()).ranks.empty());
}

TEST(LiveRun, HasItsRanksInOrder) {
  std::vector<LivePageOf> pages = sample_pages(64);
  std::reverse(pages.begin(), pages.end());
  const LiveRun run = live_run_of(pages, sample_observer());
  ASSERT_EQ(run.ranks.size(), 64u);
  for (std::size_t rank = 0; rank < 64; ++rank) EXPECT_EQ(run.ranks[rank].rank(), static_cast<std::int64_t>(rank));
  EXPECT_EQ(run.ranks_of_job(), 64);
  EXPECT_TRUE(run.notes.empty());
}

// As weft summary chooses.
TEST(LiveRun, LeavesEarlierRunsOut) {
  std::vector<LivePageOf> pages = sample_pages(4);
  for (std::int32_t rank = 0; rank < 4; ++rank) {
    LivePage old = sample_page(rank, 4);
    constexpr std::int64_t hour = 3'600'000'000'000;
    old.identity.process += 500;
    old.identity.wall_clock -= hour;
    old.identity.start_id -= hour;
    old.ended = 1;
    pages.push_back({"old" + std::to_string(rank) + ".live", old});
  }
  const LiveRun run = live_run_of(pages, sample_observer());
  ASSERT_EQ(run.ranks.size(), 4u);
  for (const LiveRank& rank : run.ranks) EXPECT_LT(rank.page.identity.process, 1100);
  ASSERT_EQ(run.notes.size(), 1u);
  EXPECT_EQ(run.notes[0], "traces of earlier runs that are left out: 4");
}

TEST(LiveRank, ThatHasJustWrittenRuns) {
  const LiveRank rank = only_rank(sample_page(0, 8));
  EXPECT_EQ(rank.presence, LivePresence::running);
  EXPECT_EQ(rank.age, std::chrono::milliseconds(400));
  EXPECT_TRUE(rank.process_is_known);
}

TEST(LiveRank, WhoseProcessIsNotThereIsGone) {
  LiveObserver observer = sample_observer();
  observer.start_of_process = [](std::int64_t) { return std::nullopt; };
  EXPECT_EQ(only_rank(sample_page(0, 8), observer).presence, LivePresence::gone);
  // The number was given to another process.
  observer.start_of_process = [](std::int64_t) { return std::optional<std::uint64_t>(123); };
  EXPECT_EQ(only_rank(sample_page(0, 8), observer).presence, LivePresence::gone);
}

// In a container of its own numbers mean other processes: nothing is guessed.
TEST(LiveRank, OfAnotherNamespaceOrMachineIsJudgedByItsLastWord) {
  for (const char* const where : {"namespace", "machine"}) {
    LiveObserver observer = sample_observer();
    observer.start_of_process = [](std::int64_t) { return std::nullopt; };
    if (std::string_view(where) == "namespace")
      observer.process_namespace = 78;
    else
      observer.boot = "another";
    LivePage page = sample_page(0, 8);
    EXPECT_EQ(only_rank(page, observer).presence, LivePresence::running) << where;
    EXPECT_FALSE(only_rank(page, observer).process_is_known);
    page.numbers.time -= 12'000'000'000;
    EXPECT_EQ(only_rank(page, observer).presence, LivePresence::silent) << where;
    EXPECT_EQ(only_rank(page, observer).age, std::chrono::milliseconds(12'400));
  }
}

TEST(LiveRank, ThatHasSaidItsEndHasEndedWhateverItsAge) {
  LivePage page = sample_page(0, 8);
  page.ended = 1;
  page.numbers.time -= 100'000'000'000;
  LiveObserver observer = sample_observer();
  observer.start_of_process = [](std::int64_t) { return std::nullopt; };
  EXPECT_EQ(only_rank(page, observer).presence, LivePresence::ended);
}

TEST(LiveRank, HasAnAgeOfItsOwnClockWhateverTheWallClocks) {
  LiveObserver observer = sample_observer();
  observer.wall_clock += std::chrono::hours(1);
  EXPECT_EQ(only_rank(sample_page(0, 8), observer).age, std::chrono::milliseconds(400));
  observer.clock_offset = std::chrono::seconds(-2);  // this process's clock is behind the kernel's
  observer.monotonic -= std::chrono::seconds(2);
  EXPECT_EQ(only_rank(sample_page(0, 8), observer).age, std::chrono::milliseconds(400));
  observer.boot = "another";
  EXPECT_EQ(only_rank(sample_page(0, 8), observer).age, std::chrono::hours(1) + std::chrono::milliseconds(400));
}

TEST(LiveRank, HasAStateByModeAndFilling) {
  LivePage page = sample_page(0, 8);
  EXPECT_EQ(only_rank(page).state, LiveState::filling);
  page.numbers.fill_share = 0;
  EXPECT_EQ(only_rank(page).state, LiveState::held);
  page.numbers.filling = LiveFilling::paused;
  EXPECT_EQ(only_rank(page).state, LiveState::paused);
  page.numbers.filling = LiveFilling::ended;
  EXPECT_EQ(only_rank(page).state, LiveState::stopped);
  page.numbers.filling = LiveFilling::observes;
  EXPECT_EQ(only_rank(page).state, LiveState::waiting);
  set_text(page.numbers.why, "none of the fill jobs can be run");
  EXPECT_EQ(only_rank(page).state, LiveState::stopped);
  set_text(page.identity.mode, "observe");
  EXPECT_EQ(only_rank(page).state, LiveState::observing);
}

TEST(LiveRank, HasSharesWithoutItsStartUp) {
  LivePage page = sample_page(0, 8);
  page.numbers.window_begin = sample_page(0, 8).numbers.window_end - 10'000'000'000;
  page.numbers.idle = 3'000'000'000;
  page.numbers.startup_length = 2'000'000'000;
  page.numbers.startup_idle = 1'000'000'000;
  const LiveRank rank = only_rank(page);
  EXPECT_DOUBLE_EQ(rank.whole.idle_share(), 0.3);
  EXPECT_DOUBLE_EQ(rank.shown().idle_share(), 0.25);
  EXPECT_NEAR(rank.recent.idle_share(), 0.35, 0.001);
  page.numbers.iterations = 0;
  EXPECT_DOUBLE_EQ(only_rank(page).shown().idle_share(), 0.3);
}

TEST(LiveRank, WaitsForTheRankThatACommunicatorNames) {
  const LiveRun run = sample_run(8);
  EXPECT_EQ(run.ranks[5].waits_for.name, "r4");
  EXPECT_EQ(run.ranks[5].waits_for.rank, 4);
  EXPECT_NEAR(run.ranks[5].waits_for.share, 0.5, 1e-6);
  EXPECT_EQ(run.ranks[4].waits_for.name, "r7");
  // Without the page of that rank nobody can tell which it is.
  const LiveRun alone = live_run_of({{"rank5.live", sample_page(5, 8)}}, sample_observer());
  EXPECT_EQ(alone.ranks[0].waits_for.name, "peer 0");
  EXPECT_EQ(alone.ranks[0].waits_for.rank, -1);
  LivePage collectives = sample_page(0, 8);
  collectives.numbers.wait_count = 0;
  EXPECT_EQ(only_rank(collectives).waits_for.name, "collective");
  collectives.numbers.idle_by_cause = {};
  EXPECT_EQ(only_rank(collectives).waits_for.name, "");
}

TEST(LiveRank, WithoutMeasuredBubblesIsInNoShare) {
  std::vector<LivePageOf> pages = sample_pages(2);
  set_text(pages[0].page.identity.idle_unknown, "every launch waits");
  const LiveRun run = live_run_of(pages, sample_observer());
  EXPECT_FALSE(run.ranks[0].idle_known);
  EXPECT_EQ(run.steady.window, run.ranks[1].shown().window);
}

}  // namespace
}  // namespace weft
