// One clock for all hosts of a run: which ranks share a clock, and how offsets go from host to host.
#include "trace/clocks/run_clocks.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>

#include "tests/trace/clocks/simulated_hosts.h"
#include "trace/clocks/clock_text.h"
#include "trace/read/line_values.h"

namespace weft {
namespace {

using test::Dice;
using test::SimulatedCase;
using test::SimulatedClock;

TimePoint at(long time) {
  return TimePoint{Duration{time}};
}

TraceHeader header_on(const char* boot, const char* host, long started, long wall_clock, long offset = 0) {
  TraceHeader header;
  header.boot = std::string_view(boot);
  header.host = std::string_view(host);
  header.started = at(started);
  header.wall_clock = Duration{wall_clock};
  header.clock_offset = Duration{offset};
  return header;
}

constexpr long today = 1'700'000'000'000'000'000;  // since 1970

// To be added to times of a trace: then they are on the clock of the first one.
long shift_of(const RunClocks& run, std::size_t trace, long time) {
  const TraceClock& clock = run.hosts().traces[trace];
  const KnownOffset reading = run.clocks()[clock.clock].to_first->at(at(time) - clock.offset);
  return (reading.ahead - clock.offset).count();
}

RunClocks without_messages(const std::vector<TraceHeader>& headers) {
  return {host_clocks(headers), {}, 0};
}

TEST(HostClocks, RanksOfOneBootShareAClockWhateverTheirWallClocksSay) {
  const RunClocks run = without_messages({header_on("b", "x", 1000, 5'000'000), header_on("b", "y", 3000, 9'000'000)});
  EXPECT_EQ(run.clocks().size(), 1U);
  EXPECT_EQ(shift_of(run, 0, 5000), 0);
  EXPECT_EQ(shift_of(run, 1, 5000), 0);
  EXPECT_TRUE(clock_notes(run).empty());
  EXPECT_TRUE(clock_lines(run).empty());
}

TEST(HostClocks, TakesOffTheOffsetOfATimeNamespace) {
  const RunClocks run = without_messages({header_on("b", "x", 1000, 0), header_on("b", "x", 1700, 0, 700)});
  EXPECT_EQ(shift_of(run, 0, 5000), 0);
  EXPECT_EQ(shift_of(run, 1, 5000), -700);
}

TEST(HostClocks, WithoutMessagesTheWallClocksCountAndThatIsSaid) {
  const RunClocks run = without_messages({header_on("b", "x", 1000, today), header_on("c", "y", 70'000, today + 300)});
  EXPECT_EQ(shift_of(run, 1, 80'000), 1000 - 70'000 + 300);
  EXPECT_EQ(run.clocks()[1].by, PlacedBy::wall_clock);
  EXPECT_FALSE(run.within(0, at(1000), 1, at(70'000)));
  ASSERT_EQ(clock_notes(run).size(), 1U);
  EXPECT_NE(clock_notes(run)[0].find("host y: its traces have no groups"), std::string::npos);
  EXPECT_NE(clock_notes(run)[0].find("beside host x by wall clocks"), std::string::npos);
}

TEST(HostClocks, TheHostStandsForABootThatIsNotKnown) {
  EXPECT_EQ(host_clocks({header_on("", "x", 1000, 1), header_on("", "x", 3000, 2)}).clocks.size(), 1U);
  EXPECT_EQ(host_clocks({header_on("", "x", 1000, 1), header_on("", "y", 3000, 2)}).clocks.size(), 2U);
}

TEST(HostClocks, AWallClockThatIsNotSetIsNotBelieved) {
  const RunClocks run = without_messages({header_on("b", "x", 1000, today), header_on("c", "y", 5000, 12)});
  EXPECT_EQ(shift_of(run, 1, 6000), -4000);
  EXPECT_NE(clock_notes(run).at(1).find("is not set"), std::string::npos);
}

TEST(HostClocks, AMachineThatTakesItToBe1970HasNoWallClock) {
  const RunClocks run = without_messages({header_on("b", "x", 1000, 3'000'000'000), header_on("c", "y", 5000, 12)});
  EXPECT_EQ(shift_of(run, 1, 6000), -4000);
  EXPECT_FALSE(run.hosts().has_wall_clock(1, 0));
}

TEST(HostClocks, ARankThatDoesNotKnowItsOffsetDoesNotStandForItsHost) {
  TraceHeader unknown = header_on("b", "x", 1'000, today), known = header_on("b", "x", 9'700, today + 5, 700);
  unknown.clock_offset_known = false;
  known.clock_offset_known = true;
  const HostClocks hosts = host_clocks({unknown, known}, {at(90'000), at(20'700)});
  EXPECT_FALSE(hosts.traces[0].is_sure);
  EXPECT_TRUE(hosts.traces[1].is_sure);
  EXPECT_EQ(hosts.clocks[0].started, at(9'000));
  EXPECT_EQ(hosts.clocks[0].wall_clock, Duration(today + 5));
  EXPECT_EQ(hosts.clocks[0].first, at(9'000));
  EXPECT_EQ(hosts.clocks[0].last, at(20'000));
  EXPECT_TRUE(host_clocks({unknown, unknown}).traces[0].is_sure);
}

TEST(HostClocks, SaysThatSomeOffsetsAreNotKnown) {
  TraceHeader known = header_on("b", "x", 1000, 1, 700);
  known.clock_offset_known = true;
  EXPECT_TRUE(clock_notes(without_messages({known, known})).empty());
  const RunClocks run = without_messages({known, header_on("b", "x", 1000, 1)});
  ASSERT_EQ(clock_notes(run).size(), 1U);
  EXPECT_NE(clock_notes(run)[0].find("clock_offset is null"), std::string::npos);
}

TEST(HostClocks, HostsOfOneNameAreToldApartByTheirBoots) {
  const HostClocks hosts = host_clocks({header_on("0123456789", "node", 1, 1), header_on("abcdefghij", "node", 1, 1)});
  EXPECT_EQ(hosts.clocks[0].name, "host node (boot 01234567)");
  EXPECT_EQ(hosts.clocks[1].name, "host node (boot abcdefgh)");
  EXPECT_EQ(host_clocks({header_on("b", "x", 1, 1), header_on("", "x", 1, 1)}).clocks[1].name,
            "host x (boot not known)");
}

TEST(RunClocks, NoNumberOverflows) {
  const long most = latest_time;
  const RunClocks run = without_messages({header_on("b", "x", most, most, -most), header_on("c", "y", 0, most, most),
                                          header_on("d", "z", most, most, most)});
  for (const std::size_t trace : {0U, 1U, 2U}) EXPECT_LT(std::abs(shift_of(run, trace, most)), 1L << 62);
}

// Hosts in a row, each with messages to the next one only; started at the same time by wall clocks that are wrong.
struct Row {
  static constexpr double seconds = 120;
  std::vector<SimulatedClock> clocks;
  std::vector<TraceHeader> headers;
  ClockBounds bounds;

  explicit Row(std::size_t hosts, std::uint64_t seed = 1) : dice(seed) {
    const char* names[] = {"a", "b", "c", "d", "e", "f", "g", "h"};
    for (std::size_t host = 0; host < hosts; ++host) {
      SimulatedClock clock;
      clock.start = dice.between(1000, 100'000);
      clock.rate = dice.between(-30e-6, 30e-6);
      clocks.push_back(clock);
      wall_errors.push_back(host == 0 ? 0 : dice.between(-5e-3, 5e-3));
      const double wall = 1.7e9 + wall_errors.back();
      headers.push_back(
          header_on(names[host], names[host], std::llround(clock.at(0) * 1e9),
                    static_cast<long>(wall) * 1'000'000'000 + std::llround((wall - std::floor(wall)) * 1e9)));
      bounds.note_groups(static_cast<std::uint32_t>(host));
    }
  }
  void connect(std::uint32_t one, std::uint32_t other, double least = 30e-6, int microbatches = 4,
               double until = seconds) {
    SimulatedCase simulated;
    simulated.base = clocks[std::min(one, other)];
    simulated.other = clocks[std::max(one, other)];
    simulated.length = until;
    simulated.microbatches = microbatches;
    simulated.to_other = simulated.to_base = {least, 20e-6};
    test::add_messages(simulated, std::min(one, other), std::max(one, other), bounds, dice);
  }
  RunClocks run(std::uint32_t first = 0) const { return {host_clocks(headers), bounds, first}; }

  // Of a host's times against those of the first one, beyond the interval. Nanoseconds.
  double worst_excess(const RunClocks& run, std::uint32_t host) const {
    double worst = -1e18;
    for (double time = 1; time < seconds; time += 0.7) {
      const double own = clocks[host].at(time) * 1e9, truth = clocks[run.first()].at(time) * 1e9 - own;
      const KnownOffset found = run.clocks()[host].to_first->at(TimePoint(Duration(std::llround(own))));
      worst = std::max(worst, std::abs(truth - static_cast<double>(found.ahead.count())) -
                                  static_cast<double>(found.within.count()));
    }
    return worst;
  }

  Dice dice;
  std::vector<double> wall_errors;
};

TEST(RunClocks, GoesFromHostToHost) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    Row row(6, seed);
    for (std::uint32_t host = 0; host < 5; ++host) row.connect(host, host + 1);
    const RunClocks run = row.run();
    for (std::uint32_t host = 1; host < 6; ++host) {
      const PlacedClock& placed = run.clocks()[host];
      EXPECT_EQ(placed.by, PlacedBy::messages);
      EXPECT_EQ(placed.by_way_of, host - 1);
      EXPECT_LT(row.worst_excess(run, host), 5);
      EXPECT_LT(placed.ahead.median_within(), std::chrono::microseconds(250) * host);
      ASSERT_TRUE(placed.wall_ahead);
      EXPECT_NEAR(static_cast<double>(placed.wall_ahead->count()), row.wall_errors[host] * 1e9,
                  static_cast<double>(placed.ahead.most_within().count()) + 1e5);
      EXPECT_NEAR(placed.ahead.rate(), row.clocks[host].rate - row.clocks[0].rate, placed.ahead.rate_within() + 1e-8);
    }
  }
}

TEST(RunClocks, AnyHostMayBeTheFirst) {
  Row row(4);
  for (std::uint32_t host = 0; host < 3; ++host) row.connect(host, host + 1);
  const RunClocks run = row.run(2);
  EXPECT_EQ(run.clocks()[2].by, PlacedBy::reference);
  for (const std::uint32_t host : {0U, 1U, 3U}) EXPECT_LT(row.worst_excess(run, host), 5);
}

TEST(RunClocks, TakesTheNarrowestWay) {
  Row row(3);
  row.connect(0, 2, 5e-3);
  row.connect(0, 1);
  row.connect(1, 2);
  EXPECT_EQ(row.run().clocks()[2].by_way_of, 1U);
  EXPECT_LT(row.worst_excess(row.run(), 2), 5);
}

// b's messages are of the first two seconds: tight there, and of the rest of the run they say little.
TEST(RunClocks, TakesTheWayThatIsNarrowestOverTheRun) {
  Row row(3);
  row.connect(0, 2, 1e-6, 4, 3);
  row.connect(0, 1, 200e-6);
  row.connect(1, 2, 200e-6);
  std::vector<TimePoint> ends;
  for (const SimulatedClock& clock : row.clocks) ends.push_back(at(std::llround(clock.at(Row::seconds) * 1e9)));
  const RunClocks run(host_clocks(row.headers, ends), row.bounds, 0);
  EXPECT_EQ(run.clocks()[2].by_way_of, 1U);
  EXPECT_LT(row.worst_excess(run, 2), 5);
}

TEST(RunClocks, HowSureItIsHoldsForTheRunAndNotForTheTimeOfMessagesAlone) {
  Row row(2);
  row.connect(0, 1, 30e-6, 4, 3);
  std::vector<TimePoint> ends;
  for (const SimulatedClock& clock : row.clocks) ends.push_back(at(std::llround(clock.at(3600) * 1e9)));
  const RunClocks short_run = row.run(), run(host_clocks(row.headers, ends), row.bounds, 0);
  const PlacedClock& placed = run.clocks()[1];
  EXPECT_GT(placed.within, 100 * short_run.clocks()[1].within);
  EXPECT_EQ(placed.to_first->knots().front().time, at(std::llround(row.clocks[1].at(0) * 1e9)));
  EXPECT_EQ(placed.to_first->knots().back().time, ends[1]);
  EXPECT_LE(abs(placed.most_within - placed.to_first->knots().back().within), Duration(2));
}

TEST(RunClocks, OfAChainTheDriftIsThatOfAllItsLinks) {
  Row row(3);
  for (const std::uint32_t host : {1U, 2U}) {
    row.clocks[host].slew_from = Row::seconds / 2;
    row.clocks[host].slew_rate = 60e-6;
  }
  row.connect(0, 1);
  row.connect(1, 2);
  const RunClocks run = row.run();
  for (const std::uint32_t host : {1U, 2U})
    EXPECT_NEAR(run.clocks()[host].most_rate - run.clocks()[host].least_rate, 60e-6, 10e-6) << host;
}

TEST(RunClocks, HowFarAnUnsetWallClockIsAheadIsUnknown) {
  Row row(2);
  row.connect(0, 1);
  EXPECT_TRUE(row.run().clocks()[1].wall_ahead);
  row.headers[1].wall_clock = std::chrono::seconds(3);
  const RunClocks run = row.run();
  EXPECT_FALSE(run.clocks()[1].wall_ahead);
  EXPECT_EQ(clock_lines(run).at(0).substr(0, 41), "host b is on the clock of host a, within ") << clock_lines(run)[0];
  ASSERT_EQ(clock_notes(run).size(), 1U);
  EXPECT_NE(clock_notes(run)[0].find("host b: the wall clock here or on the host beside which it stands is not set"),
            std::string::npos);
}

TEST(RunClocks, SaysThatRanksOfOneClockAreNotOfOne) {
  ClockBounds bounds;
  bounds.add_message({0, false, at(9'000'000'000), at(9'000'001'000)}, {0, false, at(500), at(2'000'000'000)});
  const RunClocks run(host_clocks({header_on("b", "x", 1, today), header_on("b", "x", 1, today)}), bounds, 0);
  ASSERT_EQ(clock_notes(run).size(), 1U);
  EXPECT_NE(clock_notes(run)[0].find("host x: 1 message or collective reached one of its ranks before another one had "
                                     "sent them, by up to 7.000 s"),
            std::string::npos)
      << clock_notes(run)[0];
}

// c and d have messages with each other only.
TEST(RunClocks, HostsApartFromTheOthersStayBesideEachOther) {
  Row row(4);
  row.connect(0, 1);
  row.connect(2, 3);
  const RunClocks run = row.run();
  EXPECT_EQ(run.clocks()[2].by, PlacedBy::wall_clock);
  EXPECT_EQ(run.clocks()[2].why, WithoutMessages::apart);
  EXPECT_NE(clock_notes(run).at(0).find("host c: its messages are with hosts that have none with the first one"),
            std::string::npos);
  EXPECT_EQ(run.clocks()[3].by, PlacedBy::messages);
  EXPECT_EQ(run.clocks()[3].beside, 2U);
  const auto on = [&](std::uint32_t host) { return at(std::llround(row.clocks[host].at(50) * 1e9)); };
  EXPECT_TRUE(run.within(2, on(2), 3, on(3)));
  EXPECT_FALSE(run.within(0, on(0), 3, on(3)));
  EXPECT_EQ(run.within(3, on(3), 3, on(3)), Duration{});
  const auto shifted = [&](std::uint32_t host) {
    return static_cast<double>((on(host) + run.clocks()[host].to_first->at(on(host)).ahead).time_since_epoch().count());
  };
  EXPECT_NEAR(shifted(3), shifted(2), static_cast<double>(run.within(2, on(2), 3, on(3))->count()) + 2);
  EXPECT_NEAR(shifted(2), shifted(0), 1e7);  // the wall clocks are wrong by 5 ms at most, and drift
}

TEST(RunClocks, OneWayIsNotEnough) {
  Row row(2);
  row.bounds.add_message({0, false, at(1000), at(2000)}, {1, false, at(500), at(2500)});
  const RunClocks run = row.run();
  EXPECT_EQ(run.clocks()[1].by, PlacedBy::wall_clock);
  EXPECT_EQ(run.clocks()[1].why, WithoutMessages::one_way);
  EXPECT_NE(clock_notes(run).at(0).find("one way only"), std::string::npos);
}

// The text of one host that is ahead by so much; with looks and latencies of nothing.
RunClocks exact(double ahead, double rate, std::size_t messages) {
  std::vector<TraceHeader> headers{header_on("a", "a", 1'000'000'000, today),
                                   header_on("b", "b", 2'000'000'000, today)};
  ClockBounds bounds;
  for (std::size_t k = 0; k < messages; ++k) {
    const double time = 1e9 * (1 + static_cast<double>(k / 2) * 0.05), other = time + 1e9 + ahead + rate * (time - 1e9);
    const TimedSide here{0, false, at(std::llround(time)), at(std::llround(time) + 12'000)};
    const TimedSide there{1, false, at(std::llround(other)), at(std::llround(other) + 12'000)};
    k % 2 == 0 ? bounds.add_message(here, there) : bounds.add_message(there, here);
  }
  return {host_clocks(headers), std::move(bounds), 0};
}

TEST(ClockText, SaysHowFarHostsAreApartAndHowSureThatIs) {
  EXPECT_EQ(clock_lines(exact(5'012'000, 19.9e-6, 1234)).at(0),
            "host b is 5.012 ms ahead of host a, within 13 us, drifting 19.9 ppm (from 1,234 messages)");
  EXPECT_TRUE(clock_notes(exact(5'012'000, 19.9e-6, 1234)).empty());
  EXPECT_EQ(clock_lines(exact(-72'000, -3e-6, 12'345)).at(0),
            "host b is 72 us behind host a, within 13 us, drifting -3.0 ppm (from 12,345 messages)");
}

TEST(ClockText, OfAShortTimeTheDriftIsNotKnown) {
  const std::string line = clock_lines(exact(5'012'000, 0, 6)).at(0);
  EXPECT_NE(line.find(", drifting less than 2"), std::string::npos) << line;
  EXPECT_NE(line.find("(from 6 messages)"), std::string::npos) << line;
}

TEST(ClockText, OfTwoMessagesTheDriftIsNotKnown) {
  const std::string line = clock_lines(exact(5'012'000, 300e-6, 2)).at(0);
  EXPECT_NE(line.find(", drifting less than "), std::string::npos) << line;
}

TEST(ClockText, SaysThatAClockStepped) {
  Row row(2);
  row.clocks[1].step_at = 60;
  row.clocks[1].step = 0.25;
  row.connect(0, 1);
  const RunClocks run = row.run();
  ASSERT_EQ(clock_notes(run).size(), 1U);
  EXPECT_NE(clock_notes(run)[0].find("host b did not keep one rate against host a: "), std::string::npos);
  EXPECT_NE(clock_notes(run)[0].find("it was 2"), std::string::npos) << clock_notes(run)[0];  // 249.9 ms
  EXPECT_NE(clock_lines(run)[0].find(", at times "), std::string::npos) << clock_lines(run)[0];
  EXPECT_LT(row.worst_excess(run, 1), 5);
}

TEST(ClockText, OfThousandsOfHostsTheFirstHaveALineEach) {
  std::vector<TraceHeader> headers;
  ClockBounds bounds;
  for (std::uint32_t host = 0; host < 2000; ++host) {
    const std::string name = std::to_string(host);
    headers.push_back(header_on(name.c_str(), name.c_str(), 1000, today));
    if (host == 0) continue;
    bounds.add_message({0, false, at(1000), at(1100)}, {host, false, at(900), at(1200)});
    bounds.add_message({host, false, at(2000), at(2100)}, {0, false, at(1900), at(2200)});
  }
  const RunClocks run(host_clocks(headers), std::move(bounds), 0);
  EXPECT_EQ(clock_lines(run).size(), 17U);
  EXPECT_EQ(clock_lines(run).back().substr(0, 17), "1,983 more hosts:");
}

}  // namespace
}  // namespace weft
