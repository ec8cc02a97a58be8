// Groups without markers: their ends are not known. Where none has any, the rhythm and the times of iterations come
// from the host, and there is no bubble. Where some have, iterations that end with others are left out.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "detector/detector.h"

namespace weft {
namespace {

using namespace std::chrono_literals;

// A receive, a send, and a collective that occurs once: an iteration of 30 ms.
std::vector<Finding> observe_iterations(Detector& detector, int iterations) {
  std::vector<Finding> found;
  TimePoint time = TimePoint{} + 1s;
  GroupId group = 0;
  for (int iteration = 0; iteration < iterations; ++iteration) {
    for (int i = 0; i < 3; ++i) {
      Event event{};
      event.kind = EventKind::group_issued;
      event.time = time += 10ms;
      event.stream = 1;
      event.communicator = 1;
      event.group = ++group;
      event.summary.signature = 70 + static_cast<std::uint64_t>(i);
      event.summary.receives = i == 0 ? 1 : 0;
      event.summary.sends = i == 1 ? 1 : 0;
      event.summary.collectives = i == 2 ? 1 : 0;
      event.summary.send_peer = event.summary.receive_peer = i == 2 ? -1 : 1;
      for (const Finding& finding : detector.observe(event)) found.push_back(finding);
      EXPECT_FALSE(detector.open_bubble());
    }
  }
  return found;
}

TEST(Unmarked, IterationsAreKnownFromWhenTheirGroupsAreIssued) {
  Detector detector{{.checks_kept = true}};
  std::uint64_t ended = 0;
  for (const Finding& finding : observe_iterations(detector, 12)) {
    EXPECT_NE(finding.kind, FindingKind::bubble_opened);
    EXPECT_NE(finding.kind, FindingKind::anomaly) << finding.text;
    if (finding.kind != FindingKind::iteration_ended) continue;
    ++ended;
    EXPECT_EQ(finding.iteration.number, ended);
    EXPECT_EQ(finding.iteration.groups, 3u);
    EXPECT_EQ(finding.iteration.ended - finding.iteration.started, Duration(30ms));
    EXPECT_FALSE(finding.iteration.idle_known);
  }
  EXPECT_GE(ended, 8u);
}

// The same where iterations differ: four microbatches and more in each.
TEST(Unmarked, IterationsBetweenBounds) {
  Detector detector{{.checks_kept = true}};
  TimePoint time = TimePoint{} + 1s;
  GroupId group = 0;
  std::vector<Duration> expected, found;
  for (int iteration = 0; iteration < 20; ++iteration) {
    const int microbatches = 4 + iteration * iteration % 7;
    for (int i = 0; i <= 2 * microbatches; ++i) {
      Event event{};
      event.kind = EventKind::group_issued;
      event.time = time += 10ms;
      event.stream = event.communicator = 1;
      event.group = ++group;
      const bool transfer = i < 2 * microbatches;
      event.summary.signature = transfer ? 70 + static_cast<std::uint64_t>(i % 2) : 72;
      event.summary.receives = transfer && i % 2 == 0 ? 1 : 0;
      event.summary.sends = transfer && i % 2 == 1 ? 1 : 0;
      event.summary.collectives = transfer ? 0 : 1;
      event.summary.send_peer = event.summary.receive_peer = transfer ? 1 : -1;
      for (const Finding& finding : detector.observe(event)) {
        if (finding.kind != FindingKind::iteration_ended) continue;
        EXPECT_FALSE(finding.iteration.idle_known);
        found.push_back(finding.iteration.ended - finding.iteration.started);
      }
    }
    expected.push_back(10ms * (2 * microbatches + 1));
  }
  ASSERT_EQ(found.size(), 16U);  // all but three and the last
  EXPECT_TRUE(std::equal(found.begin(), found.end(), expected.begin() + 3));
}

// Groups of the host, of which some have markers. Iterations of three groups on one stream, 30 ms long.
struct Job {
  Detector detector{{.checks_kept = true}};
  std::vector<Iteration> iterations;
  std::vector<std::string> notes;
  TimePoint time = TimePoint{} + 1s;
  GroupId issued = 0;
  bool alternating = false;  // more groups in every second iteration: bounds lead

  void observe(const Event& event) {
    for (const Finding& finding : detector.observe(event)) {
      if (finding.kind == FindingKind::iteration_ended) iterations.push_back(finding.iteration);
      if (finding.kind == FindingKind::note) notes.push_back(finding.text);
    }
  }
  void group(int what, bool marked) {
    Event event{};
    event.kind = EventKind::group_issued;
    event.time = time;
    event.stream = event.communicator = 1;
    event.group = ++issued;
    event.ticket = marked ? static_cast<Ticket>(2 * issued) : 0;
    event.done_ticket = marked ? static_cast<Ticket>(2 * issued + 1) : 0;
    event.summary.signature = 70 + static_cast<std::uint64_t>(what);
    event.summary.receives = what == 0 ? 1 : 0;
    event.summary.sends = what == 1 ? 1 : 0;
    event.summary.collectives = event.summary.reduces = what == 2 ? 1 : 0;
    event.summary.send_peer = event.summary.receive_peer = what == 2 ? -1 : 1;
    observe(event);
    time += 10ms;
    if (!marked) return;
    for (const EventKind kind : {EventKind::group_started, EventKind::group_done}) {
      event.kind = kind;
      event.time = time;
      observe(event);
    }
  }
  // The last groups of some iterations get no markers, as the host is far ahead.
  void train(int iterations_with, int without, int iterations_behind) {
    for (int i = 0; i < iterations_with + without + iterations_behind; ++i) {
      const bool marked = i < iterations_with || i >= iterations_with + without;
      for (int part = 0; part < (alternating && i % 2 == 1 ? 6 : 4); ++part) group(part % 2, marked);
      group(2, marked);
    }
  }
};

TEST(Unmarked, IterationsWhoseEndsNobodySeesAreNotCounted) {
  for (const bool alternating : {false, true}) {
    Job job;
    job.alternating = alternating;
    job.train(30, 5, 15);
    ASSERT_FALSE(job.iterations.empty());
    std::uint64_t last = 0;
    for (const Iteration& each : job.iterations) {
      const bool long_one = each.groups == 7;
      EXPECT_EQ(each.ended - each.started, Duration(long_one ? 70ms : 50ms)) << each.number;
      EXPECT_GT(each.number, last);
      last = each.number;
    }
    const auto count = [&](std::uint64_t from, std::uint64_t to) {
      return std::ranges::count_if(job.iterations,
                                   [=](const Iteration& i) { return i.number >= from && i.number < to; });
    };
    EXPECT_EQ(job.iterations.back().number - job.iterations.front().number + 1 - job.iterations.size(), 6u)
        << "five that nobody saw, and the one that begins with such an end";
    EXPECT_GT(count(1, last), 10);
    EXPECT_EQ(job.notes.size(), 1u);
  }
}

TEST(Unmarked, NothingIsSaidWhereAllEndsAreSeen) {
  Job job;
  job.train(20, 0, 0);
  EXPECT_TRUE(job.notes.empty());
}

}  // namespace
}  // namespace weft
