// Files of recordings, as weft replay takes them: what a killed process, a limit or a full disk has left.
#include "cli/replayed_file.h"

#include <gtest/gtest.h>

#include <fstream>

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

}  // namespace
}  // namespace weft
