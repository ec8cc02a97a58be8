// Iterations that the framework says, against those that the detector finds.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "detector/detector.h"

namespace weft {
namespace {

constexpr Duration group_length{100};

// One stream; the host issues a group, and the GPU is done with it some time later.
class Job {
 public:
  std::vector<Iteration> iterations;
  std::vector<Bubble> bubbles;
  std::vector<std::string> notes;
  std::uint64_t lost = 0, found = 0;
  Detector detector{{.checks_kept = true}};

  void begin(std::int64_t number, std::uint64_t thread = 1) { say(EventKind::said_iteration_begun, number, thread); }
  void end(std::int64_t number, std::uint64_t thread = 1) { say(EventKind::said_iteration_ended, number, thread); }
  void say(EventKind kind, std::int64_t number, std::uint64_t thread = 1, std::int32_t chunk = -1) {
    Event event = at(kind);
    event.saying = {number, chunk, 0, thread};
    observe(event);
  }

  // A receive that the GPU waits for.
  void receive(std::uint64_t signature) {
    issue(signature, false);
    done();
  }
  void collective() {
    issue(99, true);
    done();
  }
  void issue(std::uint64_t signature, bool collective) {
    Event event = at(EventKind::group_issued);
    event.stream = 1;
    event.group = ++issued_;
    event.ticket = static_cast<Ticket>(2 * issued_ - 1);
    event.done_ticket = static_cast<Ticket>(2 * issued_);
    event.communicator = collective ? 2 : 1;
    event.summary.signature = signature;
    event.summary.send_peer = -1;
    event.summary.receive_peer = collective ? -1 : static_cast<std::int32_t>(signature % 2);
    (collective ? event.summary.collectives : event.summary.receives) = 1;
    observe(event);
  }
  void done() {
    Event event = at(EventKind::group_started);
    event.stream = 1;
    event.group = ++done_;
    observe(event);
    time += group_length;
    event.time = time;
    event.kind = EventKind::group_done;
    observe(event);
  }
  void pass(Duration length) { time += length; }
  // Signatures that never come again, so that nothing repeats.
  void work(int receives) {
    for (int i = 0; i < receives; ++i) receive(1000 + issued_);
  }
  void iteration(std::int64_t number, int receives) {
    begin(number);
    work(receives);
    end(number);
  }

  TimePoint time{Duration{1000}};

 private:
  Event at(EventKind kind) {
    time += Duration{10};
    Event event{};
    event.time = time;
    event.kind = kind;
    return event;
  }
  void observe(const Event& event) {
    for (const Finding& f : detector.observe(event)) {
      if (f.kind == FindingKind::iteration_ended) iterations.push_back(f.iteration);
      if (f.kind == FindingKind::bubble_closed) bubbles.push_back(f.bubble);
      if (f.kind == FindingKind::note) notes.push_back(f.text);
      if (f.kind == FindingKind::rhythm_lost) ++lost;
      if (f.kind == FindingKind::rhythm_found) ++found;
    }
  }
  GroupId issued_ = 0, done_ = 0;
};

TEST(SaidIterations, LeadFromTheFirstOne) {
  Job job;
  job.work(3);
  for (int i = 0; i < 6; ++i) job.iteration(40 + i, 3 + i % 3);
  ASSERT_EQ(job.iterations.size(), 6u);
  for (std::size_t i = 0; i < 6; ++i) {
    const Iteration& each = job.iterations[i];
    EXPECT_EQ(each.number, i + 1);
    EXPECT_EQ(each.said, 40 + static_cast<int>(i));
    EXPECT_EQ(each.turn, 41 + i) << "the same on all ranks";
    EXPECT_EQ(each.groups, 3 + i % 3);
    EXPECT_EQ(each.rhythm, job.iterations[0].rhythm);
    EXPECT_TRUE(each.idle_known);
    if (i > 0) {
      EXPECT_GE(each.started, job.iterations[i - 1].ended);
      EXPECT_EQ(each.idle, static_cast<int>(each.groups) * group_length);
    }
  }
  EXPECT_TRUE(job.notes.empty());
  EXPECT_EQ(job.detector.refused_annotations(), 0u);
}

TEST(SaidIterations, HaveForecastsThoughNothingRepeats) {
  Job job;
  for (int i = 0; i < 6; ++i) job.iteration(i, 3 + i % 3);
  const Bubble& last = job.bubbles.back();
  ASSERT_TRUE(last.forecast);
  EXPECT_EQ(last.forecast->median, group_length);
  EXPECT_EQ(last.iteration, 6u);
}

// The host is ahead of the GPU: the end is said before it has come.
TEST(SaidIterations, EndWithTheirLastGroup) {
  Job job;
  job.iteration(0, 2);
  job.begin(1);
  job.receive(1);
  job.issue(2, false);
  job.end(1);
  job.begin(2);
  EXPECT_EQ(job.iterations.size(), 1u);
  job.pass(Duration{5000});
  job.done();
  ASSERT_EQ(job.iterations.size(), 2u);
  EXPECT_EQ(job.iterations[1].ended, job.time);
  job.receive(3);
  job.end(2);
  ASSERT_EQ(job.iterations.size(), 3u);
  EXPECT_EQ(job.iterations[2].started, job.iterations[1].ended);
}

// Samples, or every eighth iteration: ranks agree whenever they begin to hear it, and number what they report as ever.
TEST(SaidIterations, HaveTurnsThatRiseByOne) {
  for (const int step : {1, 2, 8, 4096}) {
    std::vector<std::uint64_t> turns[2];
    for (const int late : {0, 1}) {
      Job job;
      job.work(1);
      for (int i = late; i < 50; ++i) job.iteration(std::int64_t{step} * (i + 3), 3);
      for (const Iteration& each : job.iterations) {
        turns[late].push_back(each.turn);
        EXPECT_EQ(each.number, turns[late].size());
        EXPECT_EQ(each.since_found, turns[late].size());
        EXPECT_EQ(each.said, step * (static_cast<int>(each.number) + 2 + late));
      }
      EXPECT_TRUE(job.notes.empty());
      ASSERT_EQ(turns[late].size(), static_cast<std::size_t>(50 - late));
    }
    for (std::size_t i = 2; i < 50; ++i) {
      EXPECT_EQ(turns[0][i], i + 4) << "step " << step;
      EXPECT_EQ(turns[1][i - 1], i + 4) << "step " << step;
    }
  }
}

TEST(SaidIterations, AreCountedWhereTheirNumbersGoByNoStep) {
  Job job;
  job.work(1);
  std::int64_t number = 0;
  for (int i = 0; i < 60; ++i) job.iteration(number += 100 + i * i % 37, 3);
  ASSERT_EQ(job.notes.size(), 1u);
  EXPECT_NE(job.notes[0].find("no fixed step"), std::string::npos);
  ASSERT_EQ(job.iterations.size(), 60u);
  for (std::size_t i = 20; i < 60; ++i) EXPECT_EQ(job.iterations[i].turn, job.iterations[i - 1].turn + 1);
  EXPECT_EQ(job.detector.refused_annotations(), 0u);
}

// An annotation that was lost on one rank, a step that was skipped, a run that goes on elsewhere: by the number.
TEST(SaidIterations, LeaveTurnsOutWithTheirNumbers) {
  Job job;
  job.work(1);
  for (const int i : {0, 8, 24, 32, 8000, 8008, 8016}) job.iteration(i, 3);
  EXPECT_EQ(job.iterations.back().turn, 1003u);
  EXPECT_EQ(job.iterations.back().number, 7u);
  EXPECT_TRUE(job.notes.empty());
}

// An evaluation between two iterations belongs to none, and so does a pause.
TEST(SaidIterations, LeaveOutWhatIsBetween) {
  Job job;
  job.iteration(0, 3);
  job.work(20);
  job.pass(Duration{100000});
  job.iteration(1, 3);
  ASSERT_EQ(job.iterations.size(), 2u);
  EXPECT_EQ(job.iterations[1].groups, 3u);
  EXPECT_LT(job.iterations[1].ended - job.iterations[1].started, Duration{1000});
  EXPECT_EQ(job.iterations[1].idle, 3 * group_length);
  for (std::size_t i = 3; i < 23; ++i) EXPECT_EQ(job.bubbles[i].iteration, 0u) << i;
}

// And the one between that still runs when the next iteration is said.
TEST(SaidIterations, BeginWhenWhatWasBeforeIsOver) {
  Job job;
  job.iteration(0, 3);
  job.issue(7, false);
  job.begin(1);
  job.pass(Duration{5000});
  job.done();
  const TimePoint over = job.time;
  job.receive(8);
  job.end(1);
  ASSERT_EQ(job.iterations.size(), 2u);
  EXPECT_EQ(job.iterations[1].started, over);
  EXPECT_EQ(job.iterations[1].groups, 1u);
}

// Twelve groups repeat; the framework says that two repeats are one iteration.
TEST(SaidIterations, GoBeforeAFoundRhythm) {
  Job job;
  const auto half = [&] {
    for (std::uint64_t i = 0; i < 11; ++i) job.receive(i);
    job.collective();
  };
  for (int i = 0; i < 6; ++i) half();
  ASSERT_FALSE(job.iterations.empty());
  EXPECT_EQ(job.iterations.back().groups, 12u);
  const std::size_t before = job.iterations.size();
  const std::uint64_t number = job.iterations.back().number;
  for (int i = 0; i < 4; ++i) {
    job.begin(i);
    half();
    half();
    job.end(i);
  }
  ASSERT_EQ(job.iterations.size(), before + 4);
  EXPECT_EQ(job.iterations.back().groups, 24u);
  EXPECT_EQ(job.iterations[before].said, 0);
  EXPECT_GT(job.iterations[before].number, number);
  EXPECT_EQ(job.lost, 1u);
}

TEST(SaidIterations, FallBackWhenNoneIsSaidAnyMore) {
  Job job;
  for (int i = 0; i < 4; ++i) job.iteration(i, 3);
  const std::uint64_t number = job.iterations.back().number;
  const auto found = [&] {
    for (std::uint64_t i = 0; i < 7; ++i) job.receive(i);
    job.collective();
  };
  for (int i = 0; i < 32; ++i) found();
  EXPECT_TRUE(job.notes.empty());
  for (int i = 0; i < 8; ++i) found();
  ASSERT_EQ(job.notes.size(), 1u);
  EXPECT_NE(job.notes[0].find("no longer said"), std::string::npos);
  EXPECT_EQ(job.iterations.back().groups, 8u);
  EXPECT_EQ(job.iterations.back().said, -1);
  EXPECT_GT(job.iterations.back().number, number);
  // It may say them again.
  const std::size_t before = job.iterations.size();
  for (int i = 10; i < 13; ++i) job.iteration(i, 4);
  EXPECT_EQ(job.iterations.size(), before + 3);
  EXPECT_EQ(job.iterations.back().said, 12);
}

TEST(SaidIterations, AreNotFollowedAfterAContradiction) {
  Job job;
  for (int i = 0; i < 3; ++i) job.iteration(i, 3);
  job.begin(3);
  job.work(2);
  job.begin(4, 2);
  job.work(2);
  job.end(3, 1);
  job.work(2);
  job.end(4, 2);
  EXPECT_EQ(job.iterations.size(), 3u);
  EXPECT_EQ(job.lost, 1u);
  EXPECT_EQ(job.detector.refused_annotations(), 3u);
  ASSERT_EQ(job.notes.size(), 2u) << "each kind once";
  EXPECT_EQ(job.notes[0], "annotations: two threads say iterations at a time");
  job.iteration(5, 3);
  job.iteration(6, 3);
  EXPECT_EQ(job.iterations.size(), 3u) << "believed from the third one on";
  job.iteration(7, 3);
  ASSERT_EQ(job.iterations.size(), 4u);
  EXPECT_EQ(job.iterations.back().said, 7);
  EXPECT_EQ(job.detector.dropped(), 0u) << "nothing of the GPU is unknown for it";
}

TEST(SaidIterations, WithoutCommunicationAreNotReported) {
  Job job;
  job.work(1);
  for (int i = 0; i < 3; ++i) job.iteration(i, 0);
  EXPECT_TRUE(job.iterations.empty());
  job.iteration(3, 2);
  ASSERT_EQ(job.iterations.size(), 1u);
  EXPECT_EQ(job.iterations[0].said, 3);
  EXPECT_EQ(job.iterations[0].groups, 2u);
}

TEST(SaidSchedule, IsWhereTheGroupWasIssued) {
  Job job;
  job.say(EventKind::said_stage, 2, 1, 1);
  job.say(EventKind::said_microbatch_begun, 7);
  job.issue(1, false);
  job.say(EventKind::said_microbatch_ended, 7);
  job.say(EventKind::said_microbatch_begun, 8);
  job.done();
  job.receive(2);
  job.say(EventKind::said_microbatch_ended, 8);
  job.receive(3);
  job.say(EventKind::said_iteration_begun, 0);
  ASSERT_EQ(job.bubbles.size(), 3u);
  for (const Bubble& bubble : job.bubbles) {
    EXPECT_EQ(bubble.said.stage, 2);
    EXPECT_EQ(bubble.said.chunk, 1);
  }
  EXPECT_EQ(job.bubbles[0].said.microbatch, 7);
  EXPECT_EQ(job.bubbles[1].said.microbatch, 8);
  EXPECT_EQ(job.bubbles[2].said.microbatch, -1);
}

}  // namespace
}  // namespace weft
