// The file of a recording, with its thread.
#include "runner/recording/recording.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <future>
#include <thread>

#include "runner/recording/byte_ring.h"
#include "runner/recording/reader.h"
#include "tests/runner/recording/kept_calls.h"
#include "tests/trace/temporary_directory.h"

namespace weft {
namespace {

using namespace std::chrono_literals;
using test::TemporaryDirectory;
using testing::header_of_rank;

constexpr std::uint64_t unlimited = ~std::uint64_t{0};
std::atomic<int> warnings{0};
std::string last_warning;  // read after the recording has ended
Audience last_audience{};

std::unique_ptr<Recording> open(const std::string& directory, std::uint64_t limit = unlimited) {
  warnings = 0;
  std::string error;
  auto recording = Recording::open(
      directory, header_of_rank(1), limit,
      [](Audience audience, const std::string& text) {
        last_audience = audience;
        last_warning = text;
        ++warnings;
      },
      error);
  EXPECT_NE(recording, nullptr) << error;
  return recording;
}

// The blocks of one file: the calls of each session, and how it ended.
struct Contents {
  std::vector<std::string> calls;
  std::vector<RecordedEnd> ends;
  bool cut = false;
};

Contents contents_of(const std::string& path) {
  Contents contents;
  RecordingReader reader(path);
  while (const auto block = reader.next()) {
    if (block->kind == BlockKind::header) {
      EXPECT_EQ(header_in(*block).header.rank, 1);
      contents.calls.emplace_back();
    }
    if (block->kind == BlockKind::calls) contents.calls.back() += block->contents;
    if (block->kind == BlockKind::end) contents.ends.push_back(end_in(*block));
  }
  contents.cut = reader.was_cut();
  return contents;
}

TEST(Recording, HasWhatWasPushedAndTheSummary) {
  TemporaryDirectory directory;
  auto recording = open(directory.path());
  EXPECT_EQ(recording->path(), directory / ("rank1." + std::to_string(::getpid()) + ".weftrec"));
  std::string pushed;
  for (int i = 0; i < 1000; ++i) {
    const std::string entry = "entry " + std::to_string(i);
    recording->push(entry);
    pushed += entry;
  }
  TraceSummary summary;
  summary.iterations = 17;
  recording->finish(summary);
  recording->push("too late");
  const Contents contents = contents_of(recording->path());
  EXPECT_EQ(contents.calls, std::vector{pushed});
  ASSERT_EQ(contents.ends.size(), 1U);
  EXPECT_EQ(contents.ends[0].end, RecordingEnd::complete);
  EXPECT_EQ(contents.ends[0].summary->iterations, 17U);
  EXPECT_FALSE(contents.cut);
  EXPECT_EQ(warnings, 0);
}

TEST(Recording, OfADeviceThatIsOpenedAgainGoesOnInTheSameFile) {
  TemporaryDirectory directory;
  for (const char* const entry : {"one", "two"}) {
    auto recording = open(directory.path());
    recording->push(entry);
    recording->finish({});
  }
  const Contents contents = contents_of(directory / ("rank1." + std::to_string(::getpid()) + ".weftrec"));
  EXPECT_EQ(contents.calls, (std::vector<std::string>{"one", "two"}));
  EXPECT_EQ(contents.ends.size(), 2U);
}

TEST(Recording, WithoutAnEndSaysSo) {
  TemporaryDirectory directory;
  auto recording = open(directory.path());
  recording->push("all");
  const std::string path = recording->path();
  recording.reset();
  const Contents contents = contents_of(path);
  EXPECT_EQ(contents.ends.at(0).end, RecordingEnd::without_summary);
  EXPECT_FALSE(contents.ends[0].summary);
}

TEST(Recording, EndsAtItsLimitBetweenTwoEntriesAndSaysSoOnce) {
  TemporaryDirectory directory;
  constexpr std::uint64_t limit = 20'000;
  auto recording = open(directory.path(), limit);
  const std::string entry(100, 'e');
  for (int i = 0; i < 1000; ++i) recording->push(entry);
  recording->finish({});
  const Contents contents = contents_of(recording->path());
  EXPECT_EQ(contents.calls.at(0).size() % entry.size(), 0U);
  EXPECT_GT(contents.calls[0].size(), limit - 2000);
  EXPECT_EQ(contents.ends.at(0).end, RecordingEnd::limit);
  EXPECT_LT(std::filesystem::file_size(recording->path()), limit + 200);
  EXPECT_EQ(warnings, 1);
  EXPECT_EQ(last_audience, Audience::one_rank);
  EXPECT_NE(last_warning.find("has reached WEFT_RECORD_LIMIT"), std::string::npos) << last_warning;
}

TEST(Recording, OfADeviceThatIsOpenedAgainBeyondTheLimitStaysAsItIs) {
  TemporaryDirectory directory;
  constexpr std::uint64_t limit = 20'000;
  auto recording = open(directory.path(), limit);
  const std::string entry(100, 'e'), path = recording->path();
  for (int i = 0; i < 1000; ++i) recording->push(entry);
  recording->finish({});
  const std::string before = test::read_file(path);
  for (int i = 0; i < 3; ++i) {
    recording = open(directory.path(), limit);
    EXPECT_EQ(recording->path(), path);
    recording->push(entry);
    recording->finish({});
    EXPECT_EQ(test::read_file(path), before);
    EXPECT_EQ(warnings, 0) << "it was said before";
  }
  EXPECT_EQ(contents_of(path).ends.size(), 1U);
}

// Much more at once than the ring holds, and faster than bytes can be added up.
TEST(Recording, EndsWhereTheDiskDoesNotKeepUpAndHasAllBefore) {
  TemporaryDirectory directory;
  auto recording = open(directory.path());
  std::string entry(1000, 'e');
  for (int i = 0; i < 200'000; ++i) recording->push(entry);
  recording->finish({});
  const Contents contents = contents_of(recording->path());
  EXPECT_EQ(contents.calls.at(0).size() % entry.size(), 0U);
  EXPECT_GT(contents.calls[0].size(), std::size_t{most_block_bytes} - 2000);
  EXPECT_EQ(contents.ends.at(0).end, RecordingEnd::behind);
  EXPECT_EQ(warnings, 1);
  EXPECT_EQ(last_audience, Audience::every_rank);
  EXPECT_TRUE(last_warning.ends_with("ends early: the disk does not keep up")) << last_warning;
}

TEST(Recording, OnAFullDiskIsSaidOnce) {
  TemporaryDirectory directory;
  open(directory.path())->finish({});
  const std::string path = directory / ("rank1." + std::to_string(::getpid()) + ".weftrec");
  ASSERT_EQ(::unlink(path.c_str()), 0);
  ASSERT_EQ(::symlink("/dev/full", path.c_str()), 0);
  auto recording = open(directory.path());
  for (int i = 0; i < 100; ++i) recording->push("entry");
  recording->finish({});
  EXPECT_EQ(warnings, 1);
  EXPECT_TRUE(last_warning.ends_with("ends early: No space left on device")) << last_warning;
}

// A limit of the system cuts a block as a full disk does.
TEST(Recording, OfADeviceThatIsOpenedAgainAfterAFailedWriteHasWholeBlocks) {
  TemporaryDirectory directory;
  auto recording = open(directory.path());
  const std::string path = recording->path();
  recording->push("one");
  for (int i = 0; i < 1000 && !test::read_file(path).ends_with("one"); ++i) std::this_thread::sleep_for(5ms);
  const auto size = std::filesystem::file_size(path);
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  const rlimit tight{size + 100, before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &tight), 0);
  recording->push(std::string(1000, 'x'));
  recording->finish({});
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &before), 0);
  EXPECT_TRUE(last_warning.ends_with("ends early: File too large")) << last_warning;
  EXPECT_EQ(std::filesystem::file_size(path), size);
  recording = open(directory.path());
  EXPECT_EQ(recording->path(), path);
  recording->push("two");
  recording->finish({});
  EXPECT_EQ(contents_of(path).calls, (std::vector<std::string>{"one", "two"}));
}

// Nothing can be taken back from there.
TEST(Recording, OfADeviceThatIsOpenedAgainAfterAFailedWriteTakesAnotherFileWhereItMust) {
  TemporaryDirectory directory;
  const std::string path = open(directory.path())->path();
  ASSERT_EQ(::unlink(path.c_str()), 0);
  ASSERT_EQ(::symlink("/dev/full", path.c_str()), 0);
  open(directory.path())->finish({});
  EXPECT_EQ(open(directory.path())->path(), directory / ("rank1." + std::to_string(::getpid()) + ".2.weftrec"));
}

// Its thread stands in a call that does not come back in time.
TEST(Recording, OfADeviceThatIsOpenedAgainBesideAThreadThatStillWritesTakesAnotherFile) {
  TemporaryDirectory directory;
  std::promise<void> gate;
  std::string error;
  const auto stand = [opened = gate.get_future().share()](Audience, const std::string&) { opened.wait(); };
  auto recording = Recording::open(directory.path(), header_of_rank(1), 1, stand, error);
  recording->push("one");
  recording->finish({});
  auto second = open(directory.path());
  EXPECT_EQ(second->path(), directory / ("rank1." + std::to_string(::getpid()) + ".2.weftrec"));
  second->push("two");
  second->finish({});
  gate.set_value();
  EXPECT_EQ(contents_of(second->path()).calls, std::vector<std::string>{"two"});
  EXPECT_EQ(contents_of(recording->path()).ends.size(), 1U);
}

TEST(Recording, InAFolderThatCannotBeMadeIsOneLine) {
  std::string error;
  EXPECT_EQ(Recording::open("/proc/weft", header_of_rank(0), unlimited, {}, error), nullptr);
  EXPECT_NE(error, "");
}

TEST(Recording, InAForkedChildNeitherWaitsNorWrites) {
  TemporaryDirectory directory;
  auto recording = open(directory.path());
  recording->push("parent");
  const pid_t child = ::fork();
  if (child == 0) {
    recording->push("child");
    recording->finish({});
    ::_exit(0);
  }
  int status = -1;
  ::waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  recording->finish({});
  EXPECT_EQ(contents_of(recording->path()).calls, std::vector<std::string>{"parent"});
}

TEST(ByteRing, KeepsOrderAcrossItsEndAndRefusesWhenFull) {
  ByteRing ring(64);
  std::string pushed, taken;
  for (int i = 0; i < 100; ++i) {
    const std::string entry(static_cast<std::size_t>(1 + i % 17), static_cast<char>('a' + i % 26));
    ASSERT_TRUE(ring.push(entry));
    pushed += entry;
    if (ring.waiting() > 40) ring.drain(taken);
  }
  ring.drain(taken);
  EXPECT_EQ(taken, pushed);
  EXPECT_TRUE(ring.push(std::string(60, 'x')));
  EXPECT_FALSE(ring.push("12345"));
  EXPECT_TRUE(ring.push("1234"));
  taken.clear();
  ring.drain(taken);
  EXPECT_EQ(taken, std::string(60, 'x') + "1234");
}

TEST(ByteRing, GivesEachByteToAnotherThreadOnce) {
  ByteRing ring(1024);
  constexpr int entries = 200'000;
  std::thread producer([&] {
    for (int i = 0; i < entries; ++i) {
      const char byte = static_cast<char>(i);
      while (!ring.push({&byte, 1})) std::this_thread::yield();
    }
  });
  std::string taken;
  while (taken.size() < entries) {
    const std::size_t before = taken.size();
    ring.drain(taken);
    if (taken.size() == before) std::this_thread::yield();
  }
  producer.join();
  bool in_order = true;
  for (int i = 0; i < entries; ++i) in_order = in_order && taken[static_cast<std::size_t>(i)] == static_cast<char>(i);
  EXPECT_TRUE(in_order);
}

}  // namespace
}  // namespace weft
