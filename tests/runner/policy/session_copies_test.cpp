// Copies of fill memory beside the training's work (WEFT_SLACK_COPIES): when a Session lets them run, in virtual time.
#include <gtest/gtest.h>

#include "runner/policy/session.h"
#include "tests/runner/policy/virtual_device.h"

namespace weft {
namespace {

using namespace std::chrono_literals;
using testing::filling;
using testing::VirtualDevice;

// Copies of 100 us beside the training's work, as often as they may be.
struct CopiesBesideWork {
  explicit CopiesBesideWork(double budget) : device(filling(budget)) { run(device, 60); }

  void run_microbatches(int count) {
    for (int i = 0; i < count; ++i) {
      const TimePoint begin = device.time;
      device.begin_microbatch(4ms, 2ms);
      while (device.time < begin + 3ms) {
        device.advance(device.time + 50us);
        copy();
      }
      device.advance(device.in_bubble_to);
    }
  }
  void copy() {
    if (!device.session.may_copy_beside_work(device.time, device.view(), 100us)) return;
    EXPECT_FALSE(device.session.bubble_is_open());
    const MoveRecord move{0, MoveWay::to_host, 1 << 20, 0, device.time, device.time + 100us, 100us};
    device.session.launched_beside_work(device.time, move.alone);
    device.advance(move.finished);
    device.session.moved(move);
    ++copies;
  }

  VirtualDevice device;
  int copies = 0;
};

TEST(Session, CopiesBesideWorkTakeHalfOfTheSlowdownBudgetAtMost) {
  CopiesBesideWork limited(0.01);
  const TimePoint begin = limited.device.time;
  limited.run_microbatches(600);
  const double share = 100e-6 * limited.copies / std::chrono::duration<double>(limited.device.time - begin).count();
  EXPECT_GT(share, 0.003);
  EXPECT_LT(share, 0.007) << "and once what was saved up for a second";
  EXPECT_EQ(limited.device.session.summary(0).moved, limited.copies * Duration(100us));
  CopiesBesideWork unlimited(Budget::unlimited), none(0);
  unlimited.run_microbatches(100);
  EXPECT_GT(unlimited.copies, 1000);
  none.run_microbatches(100);
  EXPECT_EQ(none.copies, 0);
}

// Those that are compared with the filled ones would look slower than they are.
TEST(Session, NothingIsCopiedBesideWorkInIterationsWithoutFill) {
  VirtualDevice device(filling(1));
  std::uint64_t turn = 0;
  int asked = 0, allowed = 0, control = 0;
  for (int i = 0; i < 900; ++i) {
    device.begin_microbatch(4ms, 2ms);
    device.advance(device.time + 1ms);
    for (const Record& record : device.records)
      if (record.kind == RecordKind::iteration) turn = record.iteration.turn + 1;
    device.records.clear();
    const bool may = device.session.may_copy_beside_work(device.time, device.view(), 1us);
    ++asked;
    allowed += may ? 1 : 0;
    if (turn == 0 || !is_control(turn)) {
      device.advance(device.in_bubble_to);
      continue;
    }
    ++control;
    EXPECT_FALSE(may) << "turn " << turn;
    device.advance(device.in_bubble_to);
  }
  EXPECT_GT(control, 10);
  EXPECT_GT(allowed, asked / 2);
}

TEST(Session, NothingIsCopiedBesideWorkWhereItWouldStandInTheOnlyQueue) {
  VirtualDevice device(filling());
  run(device, 60);
  device.begin_microbatch(4ms, 2ms);
  device.advance(device.time + 1ms);
  EXPECT_TRUE(device.session.may_copy_beside_work(device.time, device.view(), 1us));
  device.fillable = Fillable::host_waits;
  EXPECT_FALSE(device.session.may_copy_beside_work(device.time, device.view(), 1us));
  device.fillable = Fillable::any;
  device.advance(device.in_bubble_from + 1ms);
  EXPECT_FALSE(device.session.may_copy_beside_work(device.time, device.view(), 1us)) << "a bubble is open";
}

}  // namespace
}  // namespace weft
