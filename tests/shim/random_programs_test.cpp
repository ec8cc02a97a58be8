// Random legal programs under the real hooks: the events that these give are those that the oracle of the detector's
// tests says they give (tests/detector/programs.h), so what is proved there of the detector holds behind this shim.
// Time is the programs' own: the fake driver lets go of each piece of work when it ends. WEFT_RANDOM_PROGRAMS: how
// many. Not played: default streams, shared hardware queues, streams that cannot be asked. The fake driver lets no stream
// wait for another one without a call that says so.
#include <cstdlib>
#include <map>
#include <queue>
#include <sstream>
#include <string>

#include "tests/detector/programs.h"
#include "tests/shim/shim_fixture.h"

namespace {

using weft::Event;
using weft::testing::Call;
using weft::testing::ProgramOptions;
using weft::testing::RandomProgram;

class RandomCalls : public ShimTest {
 protected:
  void SetUp() override {
    communicator_ = communicator(4, 1);
    core()->shim->set_launches_counted(true);
    events();
  }

  // All calls of the program, and the events that they gave.
  std::vector<Event> make(const RandomProgram& program) {
    streams_.clear();
    records_.clear();
    std::vector<Event> seen;
    for (const Call& call : program.calls()) {
      let_go(call.time);
      make(call);
      for (const Event& event : events()) seen.push_back(event);
    }
    let_go(INT64_MAX);
    for (const CUevent recorded : records_) cuEventDestroy_v2(recorded);
    return seen;
  }

 private:
  struct Work {
    std::int64_t end;
    std::size_t number;  // of one time, in the order of their launches
    CUstream stream;
    bool operator>(const Work& other) const { return std::tie(end, number) > std::tie(other.end, other.number); }
  };

  void let_go(std::int64_t time) {
    for (; !work_.empty() && work_.top().end <= time; work_.pop()) fake_release(work_.top().stream);
  }

  void works_until(std::int64_t end, CUstream stream) { work_.push({end, launched_++, stream}); }

  void make(const Call& call) {
    const CUstream of = call.kind == Call::Kind::create ? nullptr : streams_.at(call.stream);
    switch (call.kind) {
      case Call::Kind::create:
        return streams_.push_back(stream());
      case Call::Kind::destroy:
        return void(cuStreamDestroy_v2(of));
      case Call::Kind::launch:
        cuLaunchKernel(nullptr, 1, 1, 1, 1, 1, 1, 0, of, nullptr, nullptr);
        fake_block(of);
        return works_until(call.end, of);
      case Call::Kind::copy:
        cuMemcpyHtoDAsync_v2(0, buffer, 1 << 20, of);
        fake_block(of);
        return works_until(call.end, of);
      case Call::Kind::group:
        (call.receives ? ncclRecv : receive_like_send)(buffer, 1, ncclInt8, 0, communicator_, of);
        return works_until(call.end, of);
      case Call::Kind::record:
        records_.push_back(event());
        return void(cuEventRecord(records_.back(), of));
      case Call::Kind::wait:
        return void(cuStreamWaitEvent(of, records_.at(call.record), 0));
      case Call::Kind::begin_capture:
        return void(cuStreamBeginCapture_v2(of, CU_STREAM_CAPTURE_MODE_RELAXED));
      case Call::Kind::end_capture:
        return void(cuStreamEndCapture(of, nullptr));
      case Call::Kind::synchronise:
        return void(call.whole_device ? cuCtxSynchronize() : cuStreamSynchronize(of));
    }
  }
  static ncclResult_t receive_like_send(void* data, std::size_t count, ncclDataType_t type, int peer, ncclComm_t to,
                                        cudaStream_t stream) {
    return ncclSend(data, count, type, peer, to, stream);
  }

  ncclComm_t communicator_ = nullptr;
  std::vector<CUstream> streams_;
  std::vector<CUevent> records_;
  std::priority_queue<Work, std::vector<Work>, std::greater<>> work_;
  std::size_t launched_ = 0;
};

// Ids and tickets of the oracle against those of the shim: one for one.
class Names {
 public:
  bool same(std::uint64_t expected, std::uint64_t seen) {
    if (expected == 0 || seen == 0) return expected == seen;
    return forth_.emplace(expected, seen).first->second == seen &&
           back_.emplace(seen, expected).first->second == expected;
  }

 private:
  std::map<std::uint64_t, std::uint64_t> forth_, back_;
};

class Comparison {
 public:
  bool same(const Event& expected, const Event& seen) {
    if (expected.kind != seen.kind || !streams_.same(expected.stream, seen.stream)) return false;
    if (!tickets_.same(expected.ticket, seen.ticket) || !tickets_.same(expected.done_ticket, seen.done_ticket))
      return false;
    if (expected.kind == EventKind::group_issued)
      return expected.nothing_launched == seen.nothing_launched && expected.summary.sends == seen.summary.sends &&
             expected.summary.receives == seen.summary.receives;
    if (expected.kind == EventKind::mark_issued) return expected.nothing_launched == seen.nothing_launched;
    if (expected.kind == EventKind::wait_issued)
      return expected.nothing_launched == seen.nothing_launched &&
             streams_.same(expected.awaited.stream, seen.awaited.stream) &&
             expected.awaited.copies == seen.awaited.copies &&
             tickets_.same(expected.awaited.ticket, seen.awaited.ticket);
    return true;
  }

 private:
  Names streams_, tickets_;
};

std::string text(const Event& event) {
  std::ostringstream out;
  out << "kind " << static_cast<int>(event.kind) << " stream " << event.stream << " tickets " << event.ticket << " "
      << event.done_ticket << " awaited " << event.awaited.stream << "/" << event.awaited.ticket
      << (event.nothing_launched ? " nothing launched" : "");
  return out.str();
}

std::vector<Event> of_hooks(const RandomProgram& program) {
  std::vector<Event> events;
  for (const Event& event : program.events())
    if (weft::testing::is_from_hook(event.kind)) events.push_back(event);
  return events;
}

int programs() {
  const char* wanted = std::getenv("WEFT_RANDOM_PROGRAMS");
  return wanted != nullptr ? std::atoi(wanted) : 1000;
}

TEST_F(RandomCalls, GiveTheEventsOfTheOracle) {
  RandomProgram::Counters counters;
  std::size_t waits = 0, captures = 0, marks = 0, all = 0;
  for (int i = 1; i <= programs(); ++i) {
    const auto seed = static_cast<std::uint32_t>(i);
    ProgramOptions options = weft::testing::options_of(seed);
    options.captures = seed % 2 == 0;
    options.copies = seed % 3 != 0;
    options.one_communicator = seed % 5 == 0;
    const RandomProgram program(options, seed, counters);
    const std::vector<Event> expected = of_hooks(program), seen = make(program);
    Comparison comparison;
    for (std::size_t at = 0; at < std::max(expected.size(), seen.size()); ++at) {
      ASSERT_LT(at, seen.size()) << "program " << seed << ": missing " << text(expected[at]);
      ASSERT_LT(at, expected.size()) << "program " << seed << ": too much " << text(seen[at]);
      ASSERT_TRUE(comparison.same(expected[at], seen[at])) << "program " << seed << ", event " << at << "\nexpected "
                                                           << text(expected[at]) << "\nseen     " << text(seen[at]);
      waits += seen[at].kind == EventKind::wait_issued;
      captures += seen[at].kind == EventKind::capture_begun;
      marks += seen[at].kind == EventKind::mark_issued;
      ++all;
    }
  }
  EXPECT_GT(waits * 50, all);
  EXPECT_GT(captures * 100, all);
  EXPECT_GT(marks * 50, all);
  EXPECT_EQ(fake_dead_streams(), 0);
}

}  // namespace
