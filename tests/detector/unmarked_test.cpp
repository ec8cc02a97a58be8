// Groups without markers: their ends are not known, so they count as over when they are issued. The rhythm and the
// times of iterations come from the host then, and there is no bubble.
#include <gtest/gtest.h>

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

}  // namespace
}  // namespace weft
