// Files that are no recordings, or no longer: each is refused with a line, and none does anything else.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <fstream>
#include <memory>
#include <random>
#include <sstream>

#include "cli/replayed_file.h"
#include "runner/recording/blocks.h"
#include "runner/recording/fields.h"
#include "runner/recording/replay.h"
#include "tests/runner/recording/kept_calls.h"
#include "tests/trace/temporary_directory.h"

namespace weft {
namespace {

using testing::file_of;
using testing::RecordedRun;

// As weft replay reads it. The message of what is damaged, or "" and whether the file was cut.
struct Outcome {
  std::string error;
  bool cut = false;
  std::uint64_t calls = 0;
};

Outcome read(std::string_view bytes) {
  static const test::TemporaryDirectory directory;
  const std::string path = directory / "rank0.1.weftrec";
  std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes;
  Outcome outcome;
  try {
    const cli::ReplayedFile file = cli::replay_file(path, directory / "rank0.1.jsonl");
    outcome.error = file.damage;
    for (const cli::ReplayedSession& session : file.sessions) {
      outcome.cut = outcome.cut || !session.cut.empty();
      outcome.calls += session.result.calls;
    }
  } catch (const RecordingError& error) {
    outcome.error = error.what();
  }
  return outcome;
}

TEST(DamagedRecording, OfAnyLengthIsReadUpToItsEndOrRefused) {
  const RecordedRun run(6);
  const std::string whole = file_of(run.calls.bytes, &run.summary);
  const Outcome all = read(whole);
  ASSERT_EQ(all.error, "");
  ASSERT_FALSE(all.cut);
  ASSERT_GT(all.calls, 100U);
  for (std::size_t size = 0; size < whole.size(); size += 1 + size / 97) {
    const Outcome outcome = read(std::string_view(whole).substr(0, size));
    EXPECT_TRUE(outcome.cut || !outcome.error.empty()) << size;
  }
  // Behind the last call, within the end.
  const Outcome without_end = read(std::string_view(whole).substr(0, whole.size() - 10));
  EXPECT_TRUE(without_end.cut);
  EXPECT_EQ(without_end.calls, all.calls);
}

// The reader alone, which weft replay reads with: files take most of the time.
bool is_refused_by_reader(std::string_view bytes) {
  try {
    RecordingReader reader(std::make_unique<std::istringstream>(std::string(bytes)));
    while (const auto block = reader.next()) {
      if (block->kind == BlockKind::header) header_in(*block);
      if (block->kind == BlockKind::end) end_in(*block);
    }
    return false;
  } catch (const RecordingError&) {
    return true;
  }
}

TEST(DamagedRecording, WithABitTurnedSaysSo) {
  const RecordedRun run(2);
  const std::string whole = file_of(run.calls.bytes, &run.summary);
  for (std::size_t i = 0; i < whole.size(); ++i) {
    std::string turned = whole;
    turned[i] = static_cast<char>(turned[i] ^ (1 << (i * 5 % 8)));
    EXPECT_TRUE(is_refused_by_reader(turned)) << i;
    if (i % 17 == 0) {
      EXPECT_NE(read(turned).error, "") << i;
    }
  }
}

// By somebody who makes the checksums right: whatever the bytes say, memory and time stay bounded.
TEST(DamagedRecording, WithBytesThatSayAnythingIsRefusedOrReplayed) {
  const RecordedRun run(12);
  std::mt19937 random(1);
  int refused = 0, broke_a_rule = 0;
  for (int round = 0; round < 2000; ++round) {
    std::string bytes = run.calls.bytes;
    for (unsigned changes = 1 + random() % 4; changes > 0; --changes)
      bytes[random() % bytes.size()] = static_cast<char>(random());
    if (round % 8 == 0) bytes.resize(random() % bytes.size());
    testing::NoRecords none;
    Replay replay(none, true);
    try {
      replay.take(bytes);
      replay.end_calls(false);
      replay.summary(run.summary);
    } catch (const RecordingError& error) {
      ++refused;
      EXPECT_NE(std::string(error.what()), "");
    } catch (const ReplayFault& fault) {
      ++broke_a_rule;
      EXPECT_NE(fault.place.input, "");
    }
  }
  EXPECT_GT(refused, 500);
  EXPECT_LT(refused + broke_a_rule, 2000);
}

TEST(DamagedRecording, WithNothingButNoiseIsRefused) {
  std::mt19937 random(2);
  for (int round = 0; round < 2000; ++round) {
    std::string bytes;
    for (unsigned size = random() % 64; size > 0; --size) bytes += static_cast<char>(random());
    testing::NoRecords none;
    Replay replay(none, true);
    EXPECT_THROW(
        {
          replay.take(bytes);
          replay.end_calls(false);
        },
        RecordingError);
  }
}

TEST(DamagedRecording, WithOptionsOfNoSessionIsRefused) {
  const auto take = [](auto change) {
    SessionOptions options;
    change(options);
    CodingState state;
    Put entry(state, Call::options);
    visit(entry, options);
    testing::NoRecords none;
    Replay(none, true).take(entry.bytes());
  };
  EXPECT_NO_THROW(take([](SessionOptions&) {}));
  EXPECT_THROW(take([](SessionOptions& o) { o.detector.most_groups = std::size_t{1} << 40; }), RecordingError);
  EXPECT_THROW(take([](SessionOptions& o) { o.detector.most_groups = 1000; }), RecordingError);
  EXPECT_THROW(take([](SessionOptions& o) { o.detector.longest_period = std::size_t{1} << 40; }), RecordingError);
  EXPECT_THROW(take([](SessionOptions& o) { o.detector.history = 0; }), RecordingError);
  EXPECT_THROW(take([](SessionOptions& o) { o.poll = Duration{}; }), RecordingError);
  EXPECT_THROW(take([](SessionOptions& o) { o.slowdown_budget = -1; }), RecordingError);
  EXPECT_THROW(take([](SessionOptions& o) { o.slowdown_budget = std::nan(""); }), RecordingError);
  EXPECT_THROW(take([](SessionOptions& o) { o.planner.most_in_flight = 0; }), RecordingError);
}

std::string error_in(std::string_view bytes) {
  return read(bytes).error;
}

std::string error_of_file(const std::string& path) {
  try {
    cli::check_recording(path);
    return "";
  } catch (const RecordingError& error) {
    return error.what();
  }
}

TEST(DamagedRecording, OfAnotherKindOrVersionSaysSo) {
  const RecordedRun run(2);
  const std::string whole = file_of(run.calls.bytes, &run.summary);
  EXPECT_EQ(error_in(""), "is empty");
  EXPECT_EQ(error_in("{\"type\": \"header\", \"format\": \"weft-trace\"}\n"), "is not a recording of Weft");
  EXPECT_EQ(error_in(whole.substr(0, 12)), "breaks off before its first block");
  EXPECT_EQ(error_in(whole.substr(0, 16)), "breaks off before its first block");
  EXPECT_EQ(error_in(whole.substr(0, 60)), "breaks off before its first block");
  std::string other = whole;
  other[offsetof(RecordingPrefix, version)] = 99;
  EXPECT_TRUE(error_in(other).starts_with("has version 99 of the format; this Weft (")) << error_in(other);
  other = whole;
  const std::uint32_t swapped = __builtin_bswap32(RecordingPrefix{}.byte_order);
  std::memcpy(other.data() + offsetof(RecordingPrefix, byte_order), &swapped, sizeof swapped);
  EXPECT_EQ(error_in(other), "was made on a machine of the other byte order");
  std::string no_header = prefix_bytes();
  append_block(no_header, BlockKind::calls, run.calls.bytes);
  EXPECT_EQ(error_in(no_header), "is damaged: its blocks are in an order that cannot be");
  EXPECT_EQ(error_of_file("/"), "is not a file");
  EXPECT_EQ(error_of_file("/there/is/none.weftrec"), "does not exist");
}

}  // namespace
}  // namespace weft
