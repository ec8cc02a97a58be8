// The detector against pipelines in virtual time: bubbles equal to the truth, rhythm, forecasts. Exact: no tolerance.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>
#include <tuple>
#include <utility>

#include "detector/detector.h"
#include "sim/pipeline/pipelines.h"

namespace weft::testing {
namespace {

struct Seen {
  std::vector<Bubble> bubbles;
  std::vector<Iteration> iterations;
  std::vector<Finding> rhythm;
  std::size_t anomalies = 0, uncertain = 0;
};

Seen observe(const Timeline& timeline, Duration poll = {}) {
  Seen seen;
  Detector detector{{.checks_kept = true}};
  const auto take = [&](std::span<const Finding> findings) {
    for (const Finding& f : findings) {
      // Where nobody waits it is the host's time, between two calls: there is no true bubble to compare it with.
      if (f.kind == FindingKind::bubble_closed && f.bubble.cause != Cause::host) seen.bubbles.push_back(f.bubble);
      if (f.kind == FindingKind::iteration_ended) seen.iterations.push_back(f.iteration);
      if (f.kind == FindingKind::rhythm_found || f.kind == FindingKind::rhythm_lost) seen.rhythm.push_back(f);
      if (f.kind == FindingKind::anomaly) ++seen.anomalies;
      if (f.kind == FindingKind::uncertain_time) ++seen.uncertain;
    }
  };
  if (poll == Duration{}) {
    watch(timeline, detector, take);
  } else {
    std::vector<TimePoint> looks;
    for (TimePoint time{}; time <= timeline.events.back().time + poll; time += poll) looks.push_back(time);
    watch_at(timeline, looks, detector, take);
  }
  EXPECT_FALSE(detector.open_bubble().has_value());
  return seen;
}

std::string text(TimePoint opened, TimePoint closed, GroupId group) {
  return std::to_string(group) + ": " + std::to_string(opened.time_since_epoch().count()) + "-" +
         std::to_string(closed.time_since_epoch().count());
}

// From the second iteration on: in the first one the detector still learns which stream is which.
void expect_bubbles(const Timeline& timeline, const Seen& seen) {
  const TimePoint from = timeline.iteration_ends.at(0);
  std::vector<std::string> expected, found;
  for (const TrueBubble& b : timeline.bubbles)
    if (b.opened >= from) expected.push_back(text(b.opened, b.closed, b.group));
  for (const Bubble& b : seen.bubbles)
    if (b.opened >= from) found.push_back(text(b.opened, b.closed, b.group));
  EXPECT_EQ(found, expected);
}

TimePoint end_of(const Timeline& timeline, int iteration) {
  return timeline.iteration_ends[static_cast<std::size_t>(iteration - 1)];
}

void expect_rhythm(const Timeline& timeline, const Seen& seen) {
  ASSERT_FALSE(seen.rhythm.empty());
  EXPECT_EQ(seen.rhythm.back().kind, FindingKind::rhythm_found);
  EXPECT_EQ(seen.rhythm.back().period, timeline.groups_per_iteration);
  EXPECT_LE(seen.rhythm.back().time, end_of(timeline, 3));
}

void expect_forecasts(const Timeline& timeline, const Seen& seen) {
  for (const Bubble& b : seen.bubbles) {
    if (b.opened < end_of(timeline, 3)) continue;
    ASSERT_TRUE(b.forecast.has_value()) << "bubble " << b.id << " of group " << b.group;
    EXPECT_EQ(b.forecast->low, b.closed - b.opened) << "bubble " << b.id << " of group " << b.group;
    EXPECT_EQ(b.forecast->high, b.closed - b.opened);
  }
}

void expect_iterations(const Timeline& timeline, const Seen& seen) {
  ASSERT_GE(seen.iterations.size(), timeline.iteration_ends.size() - 4);
  std::size_t i = timeline.iteration_ends.size() - seen.iterations.size();
  for (const Iteration& iteration : seen.iterations) {
    EXPECT_EQ(iteration.ended, timeline.iteration_ends[i]);
    EXPECT_EQ(iteration.started, timeline.iteration_ends[i - 1]);
    EXPECT_EQ(iteration.groups, timeline.groups_per_iteration);
    ++i;
  }
}

struct Case {
  Schedule schedule;
  Wait wait;
  int stages, microbatches, chunks;
};

std::string name_of_case(const ::testing::TestParamInfo<Case>& info) {
  const Case& c = info.param;
  const char* schedules[] = {"gpipe", "one_f_one_b", "interleaved"};
  const char* waits[] = {"event", "in_stream", "host"};
  return std::string(schedules[static_cast<int>(c.schedule)]) + "_" + waits[static_cast<int>(c.wait)] + "_p" +
         std::to_string(c.stages) + "_m" + std::to_string(c.microbatches) + "_c" + std::to_string(c.chunks);
}

class Pipelines : public ::testing::TestWithParam<Case> {
 protected:
  PipelineOptions options() const {
    PipelineOptions o;
    o.schedule = GetParam().schedule;
    o.wait = GetParam().wait;
    o.stages = GetParam().stages;
    o.microbatches = GetParam().microbatches;
    o.chunks = GetParam().chunks;
    o.eager = o.schedule == Schedule::interleaved;
    return o;
  }
};

TEST_P(Pipelines, BubblesRhythmAndForecastsAreExact) {
  PipelineOptions o = options();
  o.startup_groups = 3;
  const std::vector<Timeline> ranks = simulate(o);
  for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
    SCOPED_TRACE("rank " + std::to_string(rank));
    const Seen seen = observe(ranks[rank]);
    EXPECT_EQ(seen.anomalies, 0u);
    EXPECT_EQ(seen.uncertain, 0u);
    ASSERT_EQ(ranks[rank].iteration_ends.size(), static_cast<std::size_t>(o.iterations));
    expect_bubbles(ranks[rank], seen);
    expect_rhythm(ranks[rank], seen);
    expect_forecasts(ranks[rank], seen);
    expect_iterations(ranks[rank], seen);
  }
}

TEST_P(Pipelines, BubblesAreExactWithJitter) {
  PipelineOptions o = options();
  o.jitter = 0.2;
  o.seed = 7;
  const std::vector<Timeline> ranks = simulate(o);
  for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
    SCOPED_TRACE("rank " + std::to_string(rank));
    const Seen seen = observe(ranks[rank]);
    expect_bubbles(ranks[rank], seen);
    expect_rhythm(ranks[rank], seen);
  }
}

// As a dispatcher sees it: words are looked at every so often, stream by stream, and get the time of the look.
Timeline polled(Timeline timeline, Duration poll) {
  const auto is_word = [](const Event& e) { return e.kind >= EventKind::group_started; };
  for (Event& e : timeline.events)
    if (is_word(e)) e.time = TimePoint{(e.time.time_since_epoch() + poll - Duration{1}) / poll * poll};
  std::stable_sort(timeline.events.begin(), timeline.events.end(), [&](const Event& a, const Event& b) {
    const auto key = [&](const Event& e) { return std::tuple{e.time, is_word(e), is_word(e) ? e.stream : 0}; };
    return key(a) < key(b);
  });
  return timeline;
}

TEST_P(Pipelines, PollingShiftsBubblesByOnePollAtMost) {
  constexpr Duration poll_period = std::chrono::microseconds(50);
  PipelineOptions o = options();
  o.jitter = 0.1;
  const std::vector<Timeline> ranks = simulate(o);
  for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
    SCOPED_TRACE("rank " + std::to_string(rank));
    const Seen seen = observe(polled(ranks[rank], poll_period), poll_period);
    const TimePoint from = ranks[rank].iteration_ends.at(0) + poll_period;
    std::vector<Bubble> found;
    for (const Bubble& b : seen.bubbles)
      if (b.opened >= from && b.closed - b.opened > 4 * poll_period) found.push_back(b);
    std::size_t next = 0;
    for (const TrueBubble& b : ranks[rank].bubbles) {
      if (b.opened < from || b.closed - b.opened <= 6 * poll_period) continue;
      while (next < found.size() && found[next].group != b.group) ++next;
      ASSERT_LT(next, found.size()) << text(b.opened, b.closed, b.group);
      EXPECT_GE(found[next].opened, b.opened);
      EXPECT_LT(found[next].opened, b.opened + poll_period);
      EXPECT_GE(found[next].closed, b.closed);
      EXPECT_LT(found[next].closed, b.closed + poll_period);
      ++next;
    }
  }
}

std::vector<Case> cases() {
  std::vector<Case> all;
  for (const Schedule schedule : {Schedule::gpipe, Schedule::one_f_one_b})
    for (const Wait wait : {Wait::event, Wait::in_stream, Wait::host})
      for (const int stages : {2, 3, 4, 8})
        for (const int microbatches : {1, 2, 4, 7, 16, 64}) all.push_back({schedule, wait, stages, microbatches, 1});
  for (const int stages : {2, 4})
    for (const int rounds : {1, 2, 4, 16})
      for (const int chunks : {2, 3})
        all.push_back({Schedule::interleaved, Wait::event, stages, rounds * stages, chunks});
  return all;
}

// Without a collective nothing marks the iteration: the rhythm takes one repeat more, and the steady state may be taken
// for it before, at most once. Bubbles do not depend on it.
TEST(PipelinesWithoutCollective, TheIterationIsFoundAfterThreeRepeats) {
  for (const Schedule schedule : {Schedule::gpipe, Schedule::one_f_one_b})
    for (const int stages : {2, 3, 4, 8})
      for (const int microbatches : {8, 16, 50}) {
        PipelineOptions o;
        o.schedule = schedule;
        o.stages = stages;
        o.microbatches = microbatches;
        o.all_reduce = false;
        const std::vector<Timeline> ranks = simulate(o);
        for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
          SCOPED_TRACE(std::to_string(static_cast<int>(schedule)) + " p" + std::to_string(stages) + " m" +
                       std::to_string(microbatches) + " rank " + std::to_string(rank));
          const Seen seen = observe(ranks[rank]);
          expect_bubbles(ranks[rank], seen);
          ASSERT_FALSE(seen.rhythm.empty());
          EXPECT_EQ(seen.rhythm.back().period, ranks[rank].groups_per_iteration);
          EXPECT_LE(seen.rhythm.back().time, end_of(ranks[rank], 4));
          for (const Iteration& iteration : seen.iterations)
            EXPECT_EQ(iteration.groups, ranks[rank].groups_per_iteration);
        }
      }
}

// Puts another run behind the first; returns the number that its groups are behind.
GroupId append(Timeline& run, const Timeline& next) {
  const Duration later = run.events.back().time.time_since_epoch();
  GroupId groups = 0;
  Ticket tickets = 0;
  for (const Event& e : run.events) {
    groups = std::max(groups, e.group);
    tickets = std::max({tickets, e.ticket, e.done_ticket});
  }
  for (Event e : next.events) {
    e.time += later;
    if (e.group != 0) e.group += groups;
    if (e.ticket != 0) e.ticket += tickets;
    if (e.done_ticket != 0) e.done_ticket += tickets;
    if (e.kind == EventKind::wait_issued) e.awaited.ticket += tickets;
    run.events.push_back(e);
  }
  for (const auto& [stream, work] : next.work)
    for (const StreamWork& item : work) run.work[stream].push_back({item.issued + later, item.ended + later});
  for (const TimePoint end : next.iteration_ends) run.iteration_ends.push_back(end + later);
  return groups;
}

TEST(PipelinesChange, OtherNumberOfMicrobatchesGetsNoOldForecast) {
  // Two runs one after the other, the second with fewer microbatches.
  PipelineOptions o;
  o.microbatches = 8;
  std::vector<Timeline> first = simulate(o);
  o.microbatches = 5;
  const std::vector<Timeline> second = simulate(o);
  for (std::size_t rank = 0; rank < first.size(); ++rank) {
    SCOPED_TRACE("rank " + std::to_string(rank));
    const GroupId more = append(first[rank], second[rank]);
    const Timeline& both = first[rank];
    const Seen seen = observe(both);
    EXPECT_EQ(seen.anomalies, 0u);
    EXPECT_EQ(seen.uncertain, 0u);
    EXPECT_EQ(seen.rhythm.back().period, second[rank].groups_per_iteration);
    std::size_t with_forecast = 0;
    for (const Bubble& b : seen.bubbles) {
      if (b.group <= more || !b.forecast) continue;
      ++with_forecast;
      EXPECT_EQ(b.forecast->low, b.closed - b.opened) << "bubble " << b.id << " of group " << b.group;
    }
    EXPECT_GT(with_forecast, second[rank].bubbles.size() / 3);
  }
}

// Every rank's training with an evaluation before, between and after its epochs; `lengths`: iterations of each epoch.
std::vector<Timeline> with_evaluations(PipelineOptions training, const std::vector<int>& lengths) {
  PipelineOptions evaluation;
  evaluation.all_reduce = training.all_reduce;
  evaluation.schedule = Schedule::gpipe;
  evaluation.microbatches = 5;
  evaluation.iterations = 1;
  const std::vector<Timeline> between = simulate(evaluation);
  std::vector<Timeline> ranks = between;
  for (const int length : lengths) {
    training.iterations = length;
    const std::vector<Timeline> part = simulate(training);
    for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
      append(ranks[rank], part[rank]);
      append(ranks[rank], between[rank]);
    }
  }
  return ranks;
}

// Ranks do not talk to each other, and go without fill in the same iterations: they must number them alike, although
// the steady state looks like a rhythm on some of them and not on others.
TEST(PipelinesNumbers, OfOneIterationDifferByOneAtMostBetweenRanks) {
  for (const Schedule schedule : {Schedule::gpipe, Schedule::one_f_one_b})
    for (const int stages : {4, 8})
      for (const int microbatches : {32, 64}) {
        SCOPED_TRACE(std::to_string(static_cast<int>(schedule)) + " p" + std::to_string(stages) + " m" +
                     std::to_string(microbatches));
        PipelineOptions o;
        o.schedule = schedule;
        o.stages = stages;
        o.microbatches = microbatches;
        std::map<std::size_t, std::vector<std::uint64_t>> numbers;  // by what the iteration really is
        for (const Timeline& rank : simulate(o)) {
          const Seen seen = observe(rank);
          std::size_t i = rank.iteration_ends.size() - seen.iterations.size();
          for (const Iteration& iteration : seen.iterations) numbers[i++].push_back(iteration.number);
        }
        for (const auto& [i, of_ranks] : numbers) {
          const auto [low, high] = std::minmax_element(of_ranks.begin(), of_ranks.end());
          EXPECT_LE(*high - *low, 1U) << "iteration " << i;
          EXPECT_LE(*high, i + 1);
        }
        EXPECT_EQ(numbers.rbegin()->second.size(), static_cast<std::size_t>(stages));
      }
}

// Turns are counted anew after each break, so that ranks' earlier differences do not add up. After three breaks bounds
// lead, and turns are the same on all ranks.
TEST(PipelinesNumbers, TurnsDifferByOneAtMostBetweenRanksAfterEachBreak) {
  for (const int microbatches : {8, 32, 64}) {
    SCOPED_TRACE("m" + std::to_string(microbatches));
    PipelineOptions training;
    training.microbatches = microbatches;
    // 8 + epoch^2 mod 7
    const std::vector<Timeline> ranks = with_evaluations(training, {8, 9, 12, 10, 10, 12, 9, 8, 9, 12});
    std::map<std::size_t, std::vector<std::uint64_t>> turns, bounded_turns;  // by what the iteration really is
    for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
      const Seen seen = observe(ranks[rank]);
      EXPECT_GE(seen.iterations.size(), 10U * 5U);
      std::uint64_t last = 0;
      const std::uint64_t period = seen.iterations.front().rhythm, bounds = seen.iterations.back().rhythm;
      for (const Iteration& iteration : seen.iterations) {
        EXPECT_GT(iteration.number, std::exchange(last, iteration.number));
        EXPECT_TRUE(iteration.rhythm == period || iteration.rhythm == bounds);
        const auto& ends = ranks[rank].iteration_ends;
        const auto place = std::find(ends.begin(), ends.end(), iteration.ended);
        ASSERT_NE(place, ends.end());
        auto& of_its_kind = iteration.rhythm == period ? turns : bounded_turns;
        of_its_kind[static_cast<std::size_t>(place - ends.begin())].push_back(iteration.turn);
      }
    }
    for (const auto& [i, of_ranks] : turns) {
      const auto [low, high] = std::minmax_element(of_ranks.begin(), of_ranks.end());
      EXPECT_LE(*high - *low, 1U) << "iteration " << i;
      EXPECT_LE(*high, 14U) << "iteration " << i;
      EXPECT_FALSE(bounded_turns.contains(i));
    }
    EXPECT_GT(bounded_turns.size(), 6U * 8U);
    for (const auto& [i, of_ranks] : bounded_turns)
      EXPECT_EQ(of_ranks, std::vector<std::uint64_t>(ranks.size(), of_ranks.front())) << "iteration " << i;
  }
}

// Nothing marks the iteration, and an evaluation comes before it has gone on for long: what is filled would not be
// measured, so its bubbles belong to no iteration.
TEST(PipelinesNumbers, ARhythmThatIsNeverSureTakesNone) {
  PipelineOptions training;
  training.all_reduce = false;
  const std::vector<Timeline> ranks = with_evaluations(training, {22, 23, 24, 22, 23, 24});  // about 500 groups each
  for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
    SCOPED_TRACE("rank " + std::to_string(rank));
    const Seen seen = observe(ranks[rank]);
    EXPECT_TRUE(seen.iterations.empty());
    const auto forecast = [](const Bubble& b) { return b.forecast.has_value(); };
    EXPECT_TRUE(std::any_of(seen.bubbles.begin(), seen.bubbles.end(), forecast));
    const auto numbered = [](const Bubble& b) { return b.iteration != 0; };
    EXPECT_FALSE(std::any_of(seen.bubbles.begin(), seen.bubbles.end(), numbered));
  }
}

INSTANTIATE_TEST_SUITE_P(All, Pipelines, ::testing::ValuesIn(cases()), name_of_case);

}  // namespace
}  // namespace weft::testing
