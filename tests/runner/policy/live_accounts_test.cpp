// The numbers of a rank's page, from its records.
#include "runner/policy/live_accounts.h"

#include <gtest/gtest.h>

#include "runner/policy/accounts.h"

namespace weft {
namespace {

using namespace std::chrono_literals;

TimePoint at(Duration time) {
  return TimePoint{} + time;
}

Record record_of(const auto& what) {
  return {0, at(0s), what};
}

Bubble bubble(Duration length, Cause cause = Cause::receive, std::int32_t peer = 1, CommunicatorId communicator = 4) {
  Bubble made;
  made.opened = at(1ms);
  made.closed = at(1ms + length);
  made.cause = cause;
  made.slot.communicator = communicator;
  (cause == Cause::send ? made.slot.send_peer : made.slot.receive_peer) = peer;
  return made;
}

Iteration iteration(std::uint64_t number, Duration length = 100ms) {
  Iteration made;
  made.number = number;
  made.started = at(1s);
  made.ended = at(1s + length);
  made.idle = length / 4;
  return made;
}

LiveNumbers numbers_of(const LiveAccounts& accounts, Snapshot::Filling filling = Snapshot::Filling::fills) {
  LiveNumbers numbers;
  Snapshot now;
  now.filling = filling;
  accounts.fill(now, numbers);
  return numbers;
}

TEST(LiveAccounts, AddUpIdleTimeByCauseToWhatTheTotalsHave) {
  LiveAccounts live;
  Accounts accounts;
  for (const Cause cause : {Cause::receive, Cause::send, Cause::collective, Cause::host, Cause::receive}) {
    live.push(record_of(bubble(3ms, cause)));
    accounts.note(record_of(bubble(3ms, cause)));
  }
  const LiveNumbers numbers = numbers_of(live);
  EXPECT_EQ(numbers.idle_by_cause[static_cast<std::size_t>(Cause::receive)], 6'000'000);
  std::int64_t sum = 0;
  for (const std::int64_t idle : numbers.idle_by_cause) sum += idle;
  EXPECT_EQ(sum, accounts.totals().idle.count());
}

TEST(LiveAccounts, KeepTheLatestIterationsInTheirOrder) {
  LiveAccounts live;
  SliceRecord slice;
  slice.alone = 2ms;
  for (std::uint64_t number = 1; number <= 40; ++number) {
    live.push(record_of(slice));
    live.push(record_of(iteration(number, std::chrono::milliseconds(number))));
  }
  Iteration dark = iteration(41);
  dark.dark = true;
  live.push(record_of(dark));
  const LiveNumbers numbers = numbers_of(live);
  EXPECT_EQ(numbers.last_iteration, 41u);
  ASSERT_EQ(numbers.recent_count, live_iterations);
  EXPECT_EQ(numbers.recent.front().length, 9'000'000);
  EXPECT_EQ(numbers.recent.back().length, 40'000'000);
  EXPECT_EQ(numbers.recent.back().idle, 10'000'000);
  EXPECT_EQ(numbers.recent.back().filled, 2'000'000);
}

TEST(LiveAccounts, KnowHowGoodForecastsAre) {
  LiveAccounts live;
  EXPECT_EQ(numbers_of(live).forecasts, 0u);
  for (int round = 0; round < 100; ++round) {
    Bubble made = bubble(10ms);
    made.forecast = Forecast{9ms, round < 50 ? Duration(20ms) : Duration(11ms), round % 4 == 0 ? 9500us : 12ms, 5};
    live.push(record_of(made));
  }
  const LiveNumbers numbers = numbers_of(live);
  EXPECT_EQ(numbers.forecasts, 100u);
  EXPECT_EQ(numbers.forecasts_within, 75u);
  EXPECT_NEAR(numbers.forecast_error, 0.1, 1e-6);  // of the latest ones
}

TEST(LiveAccounts, KnowWhichPeerIsWaitedFor) {
  LiveAccounts live;
  CommunicatorRecord opened;
  opened.communicator = 4;
  opened.id = 0xabc;
  opened.rank = 2;
  opened.ranks = 8;
  live.push(record_of(opened));
  live.push(record_of(bubble(3ms)));
  live.push(record_of(bubble(2ms)));
  live.push(record_of(bubble(1ms, Cause::send, 3)));
  live.push(record_of(bubble(1ms, Cause::receive, 1, 9)));
  live.push(record_of(bubble(7ms, Cause::collective, -1)));
  const LiveNumbers numbers = numbers_of(live);
  ASSERT_EQ(numbers.wait_count, 3u);
  EXPECT_EQ(numbers.waits[0].communicator, 0xabcu);
  EXPECT_EQ(numbers.waits[0].idle, 5'000'000);
  EXPECT_EQ(numbers.waits[0].peer, 1);
  EXPECT_EQ(numbers.waits[1].peer, 3);
  EXPECT_EQ(numbers.waits[2].communicator, 0u);  // of one that is not known
  ASSERT_EQ(numbers.communicator_count, 1u);
  EXPECT_EQ(numbers.communicators[0].rank, 2);
}

TEST(LiveAccounts, CountWhatTheirListsHaveNoRoomFor) {
  LiveAccounts live;
  for (std::int32_t peer = 0; peer < 100; ++peer) {
    live.push(record_of(bubble(1ms, Cause::receive, peer)));
    CommunicatorRecord opened;
    opened.communicator = static_cast<CommunicatorId>(peer) + 1;
    opened.id = static_cast<std::uint64_t>(peer) + 1;
    live.push(record_of(opened));
  }
  const LiveNumbers numbers = numbers_of(live);
  EXPECT_EQ(numbers.wait_count, live_waits);
  EXPECT_EQ(numbers.idle_of_other_waits, (100 - static_cast<std::int64_t>(live_waits)) * 1'000'000);
  EXPECT_EQ(numbers.communicator_count, live_communicators);
  EXPECT_EQ(numbers.communicators_left_out, 100 - live_communicators);
}

TEST(LiveAccounts, NameTheJobsThatRun) {
  LiveAccounts live;
  const auto job = [&](std::uint32_t number, std::string_view name, JobEvent event) {
    JobRecord record;
    record.job = number;
    record.name = name;
    record.event = event;
    live.push(record_of(record));
  };
  job(0, "matmul", JobEvent::ready);
  job(1, "score", JobEvent::ready);
  EXPECT_EQ(text_of(numbers_of(live).fill_jobs), "matmul, score");
  job(0, "matmul", JobEvent::done);
  EXPECT_EQ(text_of(numbers_of(live).fill_jobs), "score");
  for (std::uint32_t number = 0; number < most_jobs; ++number) job(number, std::string(60, 'x'), JobEvent::ready);
  const LiveNumbers numbers = numbers_of(live);
  EXPECT_TRUE(text_of(numbers.fill_jobs).ends_with("x, ..."));
}

TEST(LiveAccounts, SayWhyFillingIsPausedOrOver) {
  LiveAccounts live;
  AnomalyRecord late;
  late.text = "a slice is late";
  live.push(record_of(late));
  EXPECT_EQ(text_of(numbers_of(live).why), "");
  EXPECT_EQ(text_of(numbers_of(live, Snapshot::Filling::paused).why), "a slice is late");
  AnomalyRecord stop;
  stop.text = "the budget cannot be kept";
  stop.stops_filling = true;
  live.push(record_of(stop));
  live.push(record_of(late));
  const LiveNumbers numbers = numbers_of(live, Snapshot::Filling::ended);
  EXPECT_EQ(text_of(numbers.why), "the budget cannot be kept");
  EXPECT_EQ(text_of(numbers.anomaly), "a slice is late");
  EXPECT_EQ(numbers.anomalies, 3u);
  EXPECT_EQ(numbers.filling, LiveFilling::ended);
}

TEST(LiveAccounts, TakeTheSumsFromTheSummary) {
  TraceSummary totals;
  totals.window_begin = at(1s);
  totals.window_end = at(9s);
  totals.idle = 2s;
  totals.iterations = 7;
  totals.unfilled[1] = 5;
  totals.slowdown = SlowdownRecord{.estimate = 0.01, .control = 3, .budget = 0.02};
  LiveNumbers numbers;
  set_totals(totals, StartupRecord{.length = 1s, .idle = 300ms}, numbers);
  EXPECT_EQ(numbers.window_end - numbers.window_begin, 8'000'000'000);
  EXPECT_EQ(numbers.idle, 2'000'000'000);
  EXPECT_EQ(numbers.iterations, 7u);
  EXPECT_EQ(numbers.unfilled[1], 5u);
  EXPECT_EQ(numbers.slowdown_control, 3u);
  EXPECT_EQ(numbers.startup_idle, 300'000'000);
  set_totals({}, std::nullopt, numbers);
  EXPECT_EQ(numbers.startup_known, 0u);
  EXPECT_EQ(numbers.slowdown_known, 0u);
}

}  // namespace
}  // namespace weft
