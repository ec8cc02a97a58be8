// The verdict is kept while nothing changes that it depends on: what the host enqueues behind much else may change it
// all the same. The fixture's Streams find each kept verdict anew and throw where it differs.
#include "streams_fixture.h"

namespace weft {
namespace {

// The stream is about to copy, and has more to copy behind that: another mark there is no obstacle of its own.
class KeptVerdict : public StreamsTest {
 protected:
  void copy(StreamId stream, Ticket ticket) { mark(stream, ticket, true); }
};

// A wait for something outside of the device that outlasts so many others is not for communication.
TEST_F(KeptVerdict, IsAnotherOneWhenAWaitOutlastsManyMarks) {
  wait(1, {}, 10, 11);
  EXPECT_TRUE(streams.marker_reached(1, 10));
  copy(2, 12);
  EXPECT_TRUE(uncertain());
  for (Ticket ticket = 13; ticket < 300; ++ticket) {
    copy(2, ticket);
    EXPECT_EQ(uncertain(), ticket - 11 < 256) << ticket;
  }
}

TEST_F(KeptVerdict, IsAnotherOneWhenSomebodyIsToWaitForAGroupThatWasInline) {
  for (const GroupId id : {1, 2}) {
    issue(id, 1);
    run(id);
  }
  issue(3, 1);
  streams.group_started(3);
  copy(2, 4000);
  EXPECT_EQ(pattern(), Pattern::inline_group);
  wait_for_group(2, 3, 1002);
  EXPECT_EQ(pattern(), Pattern::posted_early);
}

TEST_F(KeptVerdict, IsAnotherOneWhenTheHostWaitsForAReceiveBehindSends) {
  issue(1, 1, true);
  streams.group_started(1);
  issue(2, 1, true);
  streams.host_wait_begun(0);
  EXPECT_EQ(idle_for(), 1u);
  issue(3, 1, true);
  EXPECT_EQ(idle_for(), 1u);
  issue(4, 1);
  EXPECT_EQ(idle_for(), 4u);
}

// It may hold up a stream that has something to compute, if both share a queue. In its own stream it stands behind
// another group.
TEST_F(KeptVerdict, IsAnotherOneWhenAnObstacleIsIssuedBehindAGroup) {
  issue(1, 1);
  issue(2, 1);
  streams.group_started(1);
  streams.verdict();
  streams.answered(3, {StreamAnswer::busy, 0});
  EXPECT_TRUE(busy());
  wait(1, {}, 5000, 5001);
  EXPECT_TRUE(uncertain());
}

// Keeping is one thing, and checking another: here the kept verdict is wrong, as somebody else has changed a group.
TEST_F(KeptVerdict, IsFoundAnewWhereItIsChecked) {
  issue(1, 1);
  streams.group_started(1);
  EXPECT_EQ(idle_for(), 1u);
  groups.find(1)->done = true;
  EXPECT_THROW(streams.verdict(), BrokenInvariant);
}

}  // namespace
}  // namespace weft
