// Files of recordings, as weft replay takes them: what a killed process, a limit or a full disk has left.
#include "cli/replayed_file.h"

#include <gtest/gtest.h>

#include <chrono>
#include <fstream>

#include "detector/dcheck.h"
#include "runner/recording/blocks.h"
#include "tests/runner/recording/kept_calls.h"
#include "tests/trace/temporary_directory.h"

namespace weft {
namespace {

using test::TemporaryDirectory;
using testing::file_of;
using testing::header_of_rank;
using testing::RecordedRun;

cli::ReplayedFile replayed(const std::string& bytes) {
  const TemporaryDirectory directory;
  std::ofstream(directory / "rank0.1.weftrec", std::ios::binary) << bytes;
  return cli::replay_file(directory / "rank0.1.weftrec", directory / "rank0.1.jsonl");
}

// A device that was opened again beyond the limit, or whose process was killed at once.
TEST(ReplayedFile, WithASessionThatHasNoCallsHasTheOthers) {
  const RecordedRun run(6);
  const std::string whole = file_of(run.calls.bytes, &run.summary);
  std::string header;
  append_header_block(header, header_of_rank(0));
  std::string limit = header, complete = header;
  append_end_block(limit, RecordingEnd::limit, nullptr);
  append_end_block(complete, RecordingEnd::complete, &run.summary);
  const std::pair<std::string, const char*> cases[] = {
      {header, "the process was killed, or the file was cut off"},
      {limit, "it has reached its limit (WEFT_RECORD_LIMIT)"},
      {complete, "nothing was recorded between its beginning and its end"}};
  for (const auto& [bytes, cut] : cases) {
    const cli::ReplayedFile file = replayed(whole + bytes);
    ASSERT_EQ(file.sessions.size(), 2U) << cut;
    EXPECT_EQ(file.sessions[0].result.launches, run.launches);
    EXPECT_EQ(file.sessions[0].cut, "");
    EXPECT_EQ(file.sessions[1].result.calls, 0U);
    EXPECT_EQ(file.sessions[1].cut, cut);
    EXPECT_EQ(file.differences(), 0U);
    EXPECT_EQ(replayed(prefix_bytes() + bytes).sessions.at(0).cut, cut) << "as its only session";
  }
}

// As of two writers, or of half a block that was written on.
TEST(ReplayedFile, ThatIsDamagedBehindItsFirstCallsIsReplayedUpToThere) {
  const RecordedRun run(6);
  const std::string whole = file_of(run.calls.bytes, &run.summary), blocks = whole.substr(prefix_bytes().size());
  const std::size_t half = blocks.size() / 2;
  const std::pair<std::string, const char*> cases[] = {
      {whole + blocks.substr(0, half) + blocks, "the file is damaged at byte "},
      {whole + "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx", ""},
      {file_of(run.calls.bytes, nullptr) + blocks.substr(half), "the file is damaged at byte "}};
  for (const auto& [bytes, cut] : cases) {
    const cli::ReplayedFile file = replayed(bytes);
    EXPECT_EQ(file.sessions.at(0).result.launches, run.launches) << cut;
    EXPECT_EQ(file.differences(), 0U);
    EXPECT_TRUE(file.damage.starts_with("is damaged at byte ")) << file.damage;
    EXPECT_TRUE(file.sessions.back().cut.starts_with(cut)) << file.sessions.back().cut;
  }
  std::string bad_calls = whole, no_calls = file_of("\x63", nullptr);
  append_header_block(bad_calls, header_of_rank(0));
  append_block(bad_calls, BlockKind::calls, "\x63");
  EXPECT_EQ(replayed(bad_calls).sessions.at(1).cut, "the file is damaged: call 99 says what cannot be");
  EXPECT_THROW(replayed(no_calls), RecordingError);
}

#ifdef WEFT_DCHECKS
// A call that no Session of this Weft takes: more slices in flight than there may be.
struct BrokenRun {
  BrokenRun() {
    testing::NoRecords none;
    RecordedSession session(testing::filling(), none, &calls);
    Event event{};
    event.time = TimePoint(std::chrono::seconds(1));
    event.kind = EventKind::host_still;
    session.observe(event);
    FillView view;
    view.ready = true;
    view.in_flight.slices = 99;
    view.in_flight.expected_end = TimePoint(std::chrono::seconds(3));
    EXPECT_THROW(session.decide(TimePoint(std::chrono::seconds(2)), view), BrokenInvariant);
  }
  testing::KeptCalls calls;
};

TEST(ReplayedFile, WithACallThatBreaksARuleNamesBothAndHasAllElse) {
  const RecordedRun run(6);
  const BrokenRun broken;
  std::string file = file_of(broken.calls.bytes, nullptr);
  append_block(file, BlockKind::calls, "what comes behind it is not looked at");
  append_end_block(file, RecordingEnd::complete, &run.summary);
  file += file_of(run.calls.bytes, &run.summary).substr(prefix_bytes().size());
  const cli::ReplayedFile replay = replayed(file);
  ASSERT_EQ(replay.sessions.size(), 2U);
  EXPECT_TRUE(replay.has_fault());
  const cli::ReplayedSession& session = replay.sessions[0];
  ASSERT_TRUE(session.fault);
  EXPECT_EQ(session.fault->place.call, 3U);
  EXPECT_EQ(session.fault->place.event, 1U);
  EXPECT_EQ(session.fault->place.time, TimePoint(std::chrono::seconds(3))) << "the latest that was named";
  EXPECT_EQ(session.fault->place.input, "decide");
  EXPECT_NE(std::string(session.fault->what()).find("most_in_flight"), std::string::npos) << session.fault->what();
  EXPECT_EQ(session.result.events, 1U);
  EXPECT_EQ(session.result.differences, 0U);
  EXPECT_EQ(session.cut, "");
  EXPECT_FALSE(replay.sessions[1].fault);
  EXPECT_EQ(replay.sessions[1].result.launches, run.launches);
}
#endif

}  // namespace
}  // namespace weft
