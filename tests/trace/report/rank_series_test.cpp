// The part of one trace that a report keeps: iterations that are the same ones on all ranks, waits by peer, forecasts,
// and fill work by the bubble that it ran in.
#include "trace/report/rank_series.h"

#include <gtest/gtest.h>

namespace weft::report {
namespace {

using namespace std::chrono_literals;

TimePoint at(Duration since) {
  return TimePoint{} + since;
}

class Series {
 public:
  explicit Series(std::optional<std::uint64_t> always = {}) : series(always) { header(7); }
  void header(std::int64_t process) {
    TraceHeader header;
    header.process = process;
    series.header(header, {});
  }
  void add(const auto& what) { series.record(Record(0, {}, what), {}); }

  // 10 ms long, the n-th from n * 10 ms on.
  void iteration(std::uint64_t number, Duration idle = 2ms) {
    Iteration made;
    made.number = number;
    made.started = at(number * 10ms);
    made.ended = at((number + 1) * 10ms);
    made.idle = idle;
    add(made);
  }
  void bubble(std::uint64_t id, std::uint64_t iteration, Duration length, Cause cause = Cause::receive,
              std::optional<Forecast> forecast = {}) {
    Bubble made;
    made.id = id;
    made.iteration = iteration;
    made.opened = at(iteration * 10ms);
    made.closed = made.opened + length;
    made.cause = cause;
    made.slot = {5, 1, -1, 3, 4096};
    made.forecast = forecast;
    add(made);
  }
  void slice(std::uint64_t bubble, Duration alone) {
    SliceRecord made;
    made.bubble = bubble;
    made.alone = alone;
    add(made);
  }

  RankSeries series;
};

TEST(RankSeries, OfManyIterationsAllRanksKeepTheSameOnes) {
  Series one, other;
  for (std::uint64_t number = 1; number <= 1000; ++number) one.iteration(number);
  for (std::uint64_t number = 300; number <= 1000; ++number) other.iteration(number);
  one.series.finish();
  EXPECT_LE(one.series.iterations().size(), RankSeries::most_iterations);
  EXPECT_GE(one.series.iterations().size(), RankSeries::most_iterations / 2);
  for (const auto& [key, iteration] : one.series.iterations())
    EXPECT_TRUE(key.number < 304 || other.series.iterations().contains(key)) << key.number;
}

TEST(RankSeries, KeepsTheIterationThatIsWanted) {
  Series one(501);
  for (std::uint64_t number = 1; number <= 1000; ++number) one.iteration(number);
  EXPECT_TRUE(one.series.iterations().contains({0, 501}));
  EXPECT_FALSE(one.series.iterations().contains({0, 503}));
}

TEST(RankSeries, FillWorkCountsForItsBubbleWhetherItComesBeforeOrAfterIt) {
  Series one;
  one.slice(1, 300us);
  one.bubble(1, 1, 2ms);
  one.slice(1, 200us);
  one.iteration(1);
  one.series.finish();
  EXPECT_EQ(one.series.iterations().at({0, 1}).filled, 500us);
  EXPECT_EQ(one.series.slot({5, 1, -1, 3, 4096}, Cause::receive)->filled, 500us);
  EXPECT_EQ(one.series.slot({6, 1, -1, 3, 4096}, Cause::receive), nullptr);
}

TEST(RankSeries, WaitsGoByPeerOnlyWhereThereIsOne) {
  Series one;
  one.bubble(1, 1, 2ms);
  one.bubble(2, 1, 3ms);
  one.bubble(3, 1, 4ms, Cause::collective);
  one.bubble(4, 1, 5ms, Cause::host);
  const auto& waits = one.series.waits();
  EXPECT_EQ(waits.at({1, 3, Cause::receive}).time, 5ms);
  EXPECT_EQ(waits.at({1, 3, Cause::receive}).bubbles, 2u);
  EXPECT_EQ(waits.at({1, -1, Cause::collective}).time, 4ms);
  EXPECT_EQ(waits.at({0, -1, Cause::host}).time, 5ms);
}

TEST(RankSeries, ForecastsAreBelowWithinOrAboveAndFallIntoBins) {
  const Forecast forecast{1ms, 2ms, 3ms, 10};
  Series one;
  one.bubble(1, 1, 500us, Cause::receive, forecast);
  one.bubble(2, 1, 2ms, Cause::receive, forecast);
  one.bubble(3, 1, 100ms, Cause::receive, forecast);
  const Calibration& found = one.series.forecasts();
  EXPECT_EQ(found.below, 1u);
  EXPECT_EQ(found.within, 1u);
  EXPECT_EQ(found.above, 1u);
  EXPECT_EQ(found.error, 1500us + 0us + 98ms);
  EXPECT_EQ(found.ratios[Calibration::bins / 2], 1u);                                      // just as forecast
  EXPECT_EQ(found.ratios[Calibration::bins / 2 - 2 * Calibration::bins_of_doubling], 1u);  // a fourth of it
  EXPECT_EQ(found.ratios.back(), 1u);
}

TEST(RankSeries, AnEarlierProcessInTheFileDoesNotCountAndALaterSegmentDoes) {
  Series one;
  one.iteration(1);
  one.header(8);
  one.iteration(2);
  one.header(8);
  one.iteration(2);
  EXPECT_EQ(one.series.iterations().size(), 2u);
  EXPECT_TRUE(one.series.iterations().contains({0, 2}));
  EXPECT_TRUE(one.series.iterations().contains({1, 2}));
}

TEST(RankSeries, DarkIterationsAndThoseWithoutAnEndAreNotKept) {
  Series one;
  Iteration dark;
  dark.number = 1;
  dark.started = at(10ms);
  dark.ended = at(20ms);
  dark.dark = true;
  one.add(dark);
  one.bubble(1, 2, 1ms);
  one.series.finish();
  EXPECT_TRUE(one.series.iterations().empty());
}

}  // namespace
}  // namespace weft::report
