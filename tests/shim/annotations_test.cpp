// Annotations of the main job on their way into the ring: from when on, of which device, by whom.
#include "weft/annotate.h"

#include <sys/wait.h>
#include <unistd.h>

#include <thread>

#include "tests/shim/shim_fixture.h"

namespace {

class Annotations : public ShimTest {};

TEST_F(Annotations, GoIntoTheRingAsTheyAreSaid) {
  ASSERT_EQ(weft_is_preloaded(), 1);
  communicator();
  events();
  weft_begin_iteration(7);
  weft_begin_microbatch(2);
  weft_begin_bubble();
  weft_end_bubble();
  weft_end_microbatch(2);
  weft_end_iteration(7);
  weft_set_stage(3, 1);
  const auto seen = events();
  EXPECT_EQ(kinds(seen),
            (Kinds{EventKind::said_iteration_begun, EventKind::said_microbatch_begun, EventKind::said_bubble_begun,
                   EventKind::said_bubble_ended, EventKind::said_microbatch_ended, EventKind::said_iteration_ended,
                   EventKind::said_stage}));
  EXPECT_EQ(seen[0].saying.number, 7);
  EXPECT_EQ(seen[1].saying.number, 2);
  EXPECT_EQ(seen[6].saying.number, 3);
  EXPECT_EQ(seen[6].saying.chunk, 1);
  for (const weft::Event& each : seen) {
    EXPECT_EQ(each.device, 0);
    EXPECT_EQ(each.saying.thread, seen[0].saying.thread);
  }
  for (std::size_t i = 1; i < seen.size(); ++i) EXPECT_GE(seen[i].time, seen[i - 1].time);
}

TEST_F(Annotations, BeforeTheCoreOnlyTheStageIsKept) {
  weft_set_stage(1, -1);
  weft_begin_iteration(0);
  weft_set_stage(2, 0);
  communicator();
  auto seen = events();
  ASSERT_EQ(kinds(seen), Kinds{EventKind::said_stage});
  EXPECT_EQ(seen[0].device, 0);
  EXPECT_EQ(seen[0].saying.number, 2);
  EXPECT_EQ(seen[0].saying.chunk, 0);
  weft_say(WEFT_SET_STAGE, 0, -4, 0);  // none any more: what was said of all devices stays
  events();
  communicator();
  seen = events();
  ASSERT_EQ(kinds(seen), Kinds{EventKind::said_stage});
  EXPECT_EQ(seen[0].saying.number, 2);
}

TEST_F(Annotations, AStageOfOneDeviceIsNotThatOfAnother) {
  weft_say(WEFT_SET_STAGE, 1, 5, -1);
  communicator();
  EXPECT_TRUE(events().empty());
  weft_say(WEFT_SET_STAGE, 0, 4, -1);
  events();
  communicator();
  const auto seen = events();
  ASSERT_EQ(kinds(seen), Kinds{EventKind::said_stage});
  EXPECT_EQ(seen[0].saying.number, 4);
  EXPECT_EQ(seen[0].saying.chunk, -1);
}

TEST_F(Annotations, AStageOfAllDevicesReplacesThatOfEach) {
  weft_say(WEFT_SET_STAGE, 0, 4, -1);
  weft_set_stage(6, -1);  // of all: nobody has a context
  communicator();
  const auto seen = events();
  ASSERT_EQ(kinds(seen), Kinds{EventKind::said_stage});
  EXPECT_EQ(seen[0].saying.number, 6);
}

TEST_F(Annotations, NameTheirThreadAndTheDeviceThatIsGiven) {
  communicator();
  events();
  weft_begin_iteration(1);
  std::thread([] { weft_begin_iteration(2); }).join();
  weft_say(WEFT_BEGIN_ITERATION, 1, 3, 0);
  const auto seen = events();
  ASSERT_EQ(seen.size(), 3u);
  EXPECT_NE(seen[0].saying.thread, seen[1].saying.thread);
  EXPECT_EQ(seen[0].saying.thread, seen[2].saying.thread);
  EXPECT_EQ(seen[2].device, 1);
}

TEST_F(Annotations, WithoutSenseAreNotNoted) {
  communicator();
  events();
  weft_find()(0, 0, 1, 0);
  weft_find()(WEFT_END_BUBBLE + 1, 0, 1, 0);
  EXPECT_TRUE(events().empty());
}

TEST_F(Annotations, OfADeviceThatCannotBeAreRefused) {
  weft_say(WEFT_BEGIN_BUBBLE, 64, 0, 0);  // nobody listens yet
  communicator();
  events();
  for (const std::int32_t device : {1 << 20, 64, -2, INT32_MIN}) weft_say(WEFT_BEGIN_BUBBLE, device, 0, 0);
  weft_say(WEFT_SET_STAGE, 64, 3, 0);
  EXPECT_TRUE(events().empty());
  EXPECT_EQ(core()->shim->unheard_annotations().refused, 5U);
  weft_say(WEFT_BEGIN_BUBBLE, -1, 0, 0);
  weft_say(WEFT_BEGIN_BUBBLE, 63, 0, 0);
  EXPECT_EQ(events().size(), 2U);
  EXPECT_EQ(core()->shim->unheard_annotations().refused, 5U);
}

TEST_F(Annotations, NeverDisplaceTheJobsOwnEvents) {
  const ncclComm_t open = communicator();
  const CUstream transfer = stream();
  events();
  constexpr int many = 20'000, room = 16'384 / 4 * 3 + 1;
  for (int number = 0; number < many; ++number) weft_begin_iteration(number);
  EXPECT_EQ(core()->shim->unheard_annotations().held_back, static_cast<std::uint64_t>(many - room));
  EXPECT_EQ(core()->shim->dropped_events(), 0U);
  for (int group = 0; group < 100; ++group) ncclRecv(buffer, 1, ncclInt8, 0, open, transfer);
  EXPECT_EQ(core()->shim->dropped_events(), 0U);
  EXPECT_GE(events().size(), static_cast<std::size_t>(room + 100));
  weft_begin_iteration(many);
  EXPECT_EQ(kinds(events()), Kinds{EventKind::said_iteration_begun});
}

// A fill job may be a training that says where it is.
TEST_F(Annotations, OfWeftsOwnThreadsAreNotTheMainJobs) {
  communicator();
  events();
  std::thread([] {
    core()->shim->mark_own_thread();
    weft_begin_iteration(2);
    weft_set_stage(1, -1);
  }).join();
  EXPECT_TRUE(events().empty());
}

TEST_F(Annotations, InAChildOfForkAreNotNoted) {
  communicator();
  events();
  const pid_t child = fork();
  if (child == 0) {
    weft_begin_iteration(1);
    weft_set_stage(1, 1);
    _exit(events().empty() ? 0 : 1);
  }
  int status = 1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_TRUE(events().empty());
}

}  // namespace
