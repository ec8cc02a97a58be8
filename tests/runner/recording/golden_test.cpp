// Recorded runs replayed: this Weft gives the recorded answers, and what they add up to is the text beside them. See
// golden/README.md.
//
// A test per file; `weft_golden_recordings FILE.weftrec` writes recording and text anew, with the present answers.
#include <gtest/gtest.h>

#include <cstdio>
#include <fstream>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/replayed_file.h"
#include "runner/recording/blocks.h"
#include "runner/recording/reader.h"
#include "tests/trace/temporary_directory.h"
#include "trace/read/reader.h"
#include "trace/read/summary.h"

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

// The bytes of a golden recording's blocks, the file's beginning and its end apart.
std::string blocks_of(const std::string& name, BlockKind last) {
  RecordingReader reader(std::string(WEFT_GOLDEN) + "/" + name + ".weftrec");
  std::string blocks;
  while (const auto block = reader.next())
    if (block->kind <= last) append_block(blocks, block->kind, block->contents);
  return blocks;
}

TEST(ReplayedFile, OfADeviceThatWasOpenedAgainHasEachSessionWithItsEnd) {
  TemporaryDirectory directory;
  std::string file = prefix_bytes() + blocks_of("trainer_observed", BlockKind::calls);
  append_end_block(file, RecordingEnd::limit, nullptr);
  file += blocks_of("trainer_filled", BlockKind::calls);
  append_end_block(file, RecordingEnd::behind, nullptr);
  file += blocks_of("trainer_filled", BlockKind::end) + blocks_of("trainer_observed", BlockKind::calls);
  append_end_block(file, RecordingEnd::without_summary, nullptr);
  file += blocks_of("trainer_observed", BlockKind::calls);
  std::ofstream(directory / "rank0.1.weftrec", std::ios::binary) << file;
  const cli::ReplayedFile replayed = cli::replay_file(directory / "rank0.1.weftrec", directory / "rank0.1.jsonl");
  EXPECT_EQ(replayed.differences(), 0U);
  std::vector<std::string> cuts;
  for (const cli::ReplayedSession& session : replayed.sessions) cuts.push_back(session.cut);
  EXPECT_EQ(cuts,
            (std::vector<std::string>{
                "it has reached its limit (WEFT_RECORD_LIMIT)", "the disk did not keep up with it", "",
                "Weft's thread did not end in time, or failed", "the process was killed, or the file was cut off"}));
  const TraceFile trace = read_trace(directory / "rank0.1.jsonl");
  ASSERT_EQ(trace.segments.size(), 5U);
  for (std::size_t i = 0; i < 5; ++i) {
    EXPECT_EQ(trace.segments[i].summary.has_value(), i == 2) << i;
    EXPECT_GT(trace.segments[i].records.size(), 100U) << i;
  }
}

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
