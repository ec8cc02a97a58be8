// Random legal programs under the real hooks on the fake driver: it lets go of each piece of work when the program says
// that it ends, so what is proved of the detector behind the oracle's events holds behind this shim. See
// program_player.h. The fake driver lets no stream wait for another one without a call that says so.
#include <queue>
#include <tuple>

#include "tests/shim/program_player.h"
#include "tests/shim/shim_fixture.h"

namespace {

class RandomCalls : public ProgramPlayer {
 protected:
  void SetUp() override {
    ncclCommInitRank(&communicator_, 4, ncclUniqueId{}, 1);
    core()->shim->set_launches_counted(true);
    events();
  }

 private:
  struct Work {
    std::int64_t end;
    std::size_t number;  // of one time, in the order of their launches
    CUstream stream;
    bool operator>(const Work& other) const { return std::tie(end, number) > std::tie(other.end, other.number); }
  };

  void let_go(std::int64_t time) override {
    for (; !work_.empty() && work_.top().end <= time; work_.pop()) fake_release(work_.top().stream);
  }

  void works_until(std::int64_t end, CUstream stream) { work_.push({end, launched_++, stream}); }

  void launch(const Call& call, CUstream of) override {
    cuLaunchKernel(nullptr, 1, 1, 1, 1, 1, 1, 0, of, nullptr, nullptr);
    fake_block(of);
    works_until(call.end, of);
  }
  void begin_capture(CUstream of) override {
    ProgramPlayer::begin_capture(of);
    cuLaunchKernel(nullptr, 1, 1, 1, 1, 1, 1, 0, of, nullptr, nullptr);
  }
  void copy(const Call& call, CUstream of) override {
    cuMemcpyHtoDAsync_v2(0, buffer_, 1 << 20, of);
    fake_block(of);
    works_until(call.end, of);
  }
  void group(const Call& call, CUstream of) override {
    if (call.receives)
      ncclRecv(buffer_, 1, ncclInt8, 0, communicator_, of);
    else
      ncclSend(buffer_, 1, ncclInt8, 0, communicator_, of);
    works_until(call.end, of);
  }

  ncclComm_t communicator_ = nullptr;
  std::priority_queue<Work, std::vector<Work>, std::greater<>> work_;
  std::size_t launched_ = 0;
  char buffer_[64]{};
};

TEST_F(RandomCalls, GiveTheEventsOfTheOracle) {
  play_all();
  EXPECT_EQ(fake_dead_streams(), 0);
}

}  // namespace
