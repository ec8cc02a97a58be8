// Groups without markers: their ends are not known, so they count as over when they are issued. The rhythm and the
// times of iterations come from the host then, and there is no bubble.
#include <gtest/gtest.h>

#include <algorithm>
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
  Detector detector{DetectorOptions{}};
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
  Detector detector{DetectorOptions{}};
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

}  // namespace
}  // namespace weft
