// See program_player.h.
#include "tests/shim/program_player.h"

#include <cstdlib>
#include <map>
#include <sstream>
#include <string>

using weft::Event;
using weft::EventKind;
using weft::testing::Call;
using weft::testing::ProgramOptions;
using weft::testing::RandomProgram;

namespace {

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

}  // namespace

void ProgramPlayer::begin_capture(CUstream stream) {
  cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_RELAXED);
}

void ProgramPlayer::end_capture(CUstream stream) {
  cuStreamEndCapture(stream, nullptr);
}

void ProgramPlayer::synchronise(const Call& call, CUstream stream) {
  call.whole_device ? cuCtxSynchronize() : cuStreamSynchronize(stream);
}

void ProgramPlayer::make(const Call& call) {
  const CUstream of = call.kind == Call::Kind::create ? nullptr : streams_.at(call.stream);
  switch (call.kind) {
    case Call::Kind::create:
      streams_.push_back(nullptr);
      return void(cuStreamCreate(&streams_.back(), CU_STREAM_NON_BLOCKING));
    case Call::Kind::destroy:
      streams_[call.stream] = nullptr;
      return void(cuStreamDestroy_v2(of));
    case Call::Kind::launch:
      launch(call, of);
      return is_enqueued(call, of);
    case Call::Kind::copy:
      copy(call, of);
      return is_enqueued(call, of);
    case Call::Kind::group:
      group(call, of);
      return is_enqueued(call, of);
    case Call::Kind::record:
      records_.push_back(nullptr);
      cuEventCreate(&records_.back(), CU_EVENT_DISABLE_TIMING);
      cuEventRecord(records_.back(), of);
      return is_enqueued(call, of);
    case Call::Kind::wait:
      cuStreamWaitEvent(of, records_.at(call.record), 0);
      return is_enqueued(call, of);
    case Call::Kind::begin_capture:
      return begin_capture(of);
    case Call::Kind::end_capture:
      return end_capture(of);
    case Call::Kind::synchronise:
      return synchronise(call, of);
  }
}

const ProgramPlayer::Events& ProgramPlayer::take_events() {
  for (const Event& event : events()) seen_.push_back(event);
  return seen_;
}

void ProgramPlayer::play(const RandomProgram& program) {
  streams_.clear();
  records_.clear();
  seen_.clear();
  for (const Call& call : program.calls()) {
    let_go(call.time);
    if (HasFatalFailure()) return;
    make(call);
    take_events();
  }
  let_go(end_of_program);
  for (const CUevent recorded : records_) cuEventDestroy_v2(recorded);
}

void ProgramPlayer::play_all() {
  RandomProgram::Counters counters;
  std::size_t waits = 0, captures = 0, marks = 0, all = 0;
  for (int i = 1; i <= programs(); ++i) {
    const auto seed = static_cast<std::uint32_t>(i);
    ProgramOptions options = weft::testing::options_of(seed);
    options.captures = seed % 2 == 0;
    options.copies = seed % 3 != 0;
    options.one_communicator = seed % 5 == 0;
    const RandomProgram program(options, seed, counters);
    const std::vector<Event> expected = of_hooks(program);
    ASSERT_NO_FATAL_FAILURE(play(program)) << "program " << seed;
    const std::vector<Event>& seen = take_events();
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
}
