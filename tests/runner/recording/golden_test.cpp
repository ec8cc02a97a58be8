// Recorded runs replayed: this Weft gives the recorded answers, and what they add up to is the text beside them. See
// golden/README.md.
//
// A test per file; `weft_golden_recordings FILE.weftrec` writes recording and text anew, with the present answers.
#include <gtest/gtest.h>

#include <cstdio>
#include <optional>
#include <string>

#include "cli/replayed_file.h"
#include "runner/recording/blocks.h"
#include "runner/recording/reader.h"
#include "tests/trace/temporary_directory.h"
#include "trace/read/summary.h"
#include "trace/write/writer.h"

namespace weft {
namespace {

using test::TemporaryDirectory;

struct Kept final : CallSink {
  std::string bytes;
  void push(std::string_view entry) noexcept override { bytes += entry; }
};

struct NoRecords final : RecordSink {
  void push(const Record&) noexcept override {}
};

// The file with the present answers. A golden recording has one session and its end, and is small.
std::string recorded_again(const std::string& path) {
  RecordingReader reader(path);
  std::string file = prefix_bytes();
  Kept calls;
  NoRecords none;
  std::optional<Replay> replay;
  while (const auto block = reader.next()) {
    if (block->kind == BlockKind::header) {
      append_header_block(file, header_in(*block).header);
      replay.emplace(none, true, &calls);
    }
    if (block->kind == BlockKind::calls) replay->take(block->contents);
    if (block->kind != BlockKind::end) continue;
    const TraceSummary summary = replay->summary(*end_in(*block).summary);
    append_block(file, BlockKind::calls, calls.bytes);
    append_end_block(file, RecordingEnd::complete, &summary);
  }
  return file;
}

std::string summary_of(const std::string& recording, cli::ReplayedFile& replayed) {
  TemporaryDirectory directory;
  replayed = cli::replay_file(recording, directory / "rank.jsonl");
  return to_text(summarize_directories({directory.path()}), "replayed");
}

class GoldenRecording : public ::testing::TestWithParam<const char*> {};

TEST_P(GoldenRecording, HasThePresentAnswers) {
  const std::string path = std::string(WEFT_GOLDEN) + "/" + GetParam();
  cli::ReplayedFile replayed;
  const std::string summary = summary_of(path + ".weftrec", replayed);
  ASSERT_EQ(replayed.sessions.size(), 1U);
  const ReplayResult& result = replayed.sessions[0].result;
  ASSERT_TRUE(replayed.sessions[0].records_compared) << "the trace has other keys: write the recordings anew";
  EXPECT_EQ(result.differences, 0U) << "the first is after event " << result.first->event << ", in "
                                    << result.first->input << "\nrecorded: " << result.first->recorded
                                    << "\n     now: " << result.first->now;
  EXPECT_EQ(summary, test::read_file(path + ".txt"));
  // A recording without decisions and records would prove nothing.
  EXPECT_GT(result.events, 500U);
  EXPECT_GT(result.records, 100U);
  EXPECT_EQ(result.launches > 100, replayed.sessions[0].header.mode == std::string_view("fill"));
}

TEST_P(GoldenRecording, IsRecordedAgainAsTheSameBytes) {
  const std::string path = std::string(WEFT_GOLDEN) + "/" + GetParam() + ".weftrec";
  const std::string calls = recorded_again(path);
  TemporaryDirectory directory;
  std::ofstream(directory / "again.weftrec", std::ios::binary) << calls;
  EXPECT_EQ(recorded_again(directory / "again.weftrec"), calls);
}

INSTANTIATE_TEST_SUITE_P(Recordings, GoldenRecording, ::testing::Values("trainer_observed", "trainer_filled"),
                         [](const auto& recording) { return std::string(recording.param); });

int write_anew(const std::string& path) {
  const std::string file = recorded_again(path);
  std::ofstream(path, std::ios::binary | std::ios::trunc) << file;
  cli::ReplayedFile replayed;
  const std::string summary = summary_of(path, replayed);
  std::ofstream(path.substr(0, path.rfind('.')) + ".txt") << summary;
  return replayed.differences() == 0 ? 0 : 1;
}

}  // namespace
}  // namespace weft

int main(int argc, char** argv) {
  ::testing::InitGoogleTest(&argc, argv);
  return argc < 2 ? RUN_ALL_TESTS() : weft::write_anew(argv[1]);
}
