// The writer inside a process that must not notice it: full ring, full disk, no directory, kills, forks, signals.
#include "trace/write/writer.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <functional>
#include <future>
#include <thread>

#include "tests/trace/temporary_directory.h"
#include "trace/read/reader.h"
#include "trace/write/record_ring.h"
#include "weft/version.h"

namespace weft {
namespace {

using namespace std::chrono_literals;
using test::TemporaryDirectory;

std::atomic<int> warnings{0};
Audience last_audience{};
std::string last_warning;  // written once per test, read after the writer has finished

void warn(Audience audience, const std::string& message) {
  last_audience = audience;
  last_warning = message;
  ++warnings;
}

Record numbered(std::uint64_t number) {
  Record record;
  record.kind = RecordKind::iteration;
  record.iteration = Iteration{.number = number, .groups = 1};
  return record;
}

TraceHeader header_of(int rank) {
  TraceHeader header;
  header.rank = rank;
  header.ranks = 4;
  header.mode = "observe";
  return header;
}

std::string file_name(int rank, pid_t process) {
  return "rank" + std::to_string(rank) + "." + std::to_string(process) + ".jsonl";
}

std::unique_ptr<TraceWriter> open(const std::string& directory, int rank = 0,
                                  std::uint64_t limit = TraceWriter::unlimited) {
  warnings = 0;
  std::string error;
  auto writer = TraceWriter::open(directory, header_of(rank), limit, &warn, error);
  EXPECT_EQ(error, "");
  return writer;
}

bool eventually(const std::function<bool()>& condition) {
  for (int i = 0; i < 2000; ++i) {
    if (condition()) return true;
    std::this_thread::sleep_for(5ms);
  }
  return false;
}

TEST(RecordRing, RefusesWhatItHasNoRoomForAndKeepsTheOrder) {
  RecordRing ring(4);
  for (std::uint64_t i = 0; i < 4; ++i) EXPECT_TRUE(ring.push(numbered(i)));
  EXPECT_FALSE(ring.push(numbered(99)));
  std::vector<std::uint64_t> seen;
  const auto take = [&](const Record& record) { seen.push_back(record.iteration.number); };
  ring.drain(take);
  EXPECT_EQ(seen, (std::vector<std::uint64_t>{0, 1, 2, 3}));
  EXPECT_TRUE(ring.push(numbered(4)));
  ring.drain(take);
  EXPECT_EQ(seen.back(), 4u);
}

TEST(RecordRing, LosesNothingBetweenTwoThreads) {
  constexpr std::uint64_t count = 200000;
  RecordRing ring(64);
  std::thread producer([&] {
    for (std::uint64_t i = 0; i < count; ++i)
      while (!ring.push(numbered(i))) std::this_thread::yield();
  });
  std::uint64_t next = 0;
  bool in_order = true;
  while (next < count) {
    ring.drain([&](const Record& record) { in_order = in_order && record.iteration.number == next++; });
    std::this_thread::yield();
  }
  producer.join();
  EXPECT_TRUE(in_order);
}

TEST(TraceWriter, WritesHeaderRecordsAndSummary) {
  TemporaryDirectory directory;
  auto writer = open(directory / "a/b c/", 3);
  for (std::uint64_t i = 1; i <= 10; ++i) writer->push(numbered(i));
  TraceSummary summary;
  summary.iterations = 10;
  writer->finish(summary);
  EXPECT_EQ(writer->dropped(), 0u);
  const TraceFile file = read_trace(directory / ("a/b c/" + file_name(3, ::getpid())));
  ASSERT_EQ(file.segments.size(), 1u);
  EXPECT_EQ(file.segments[0].header.rank, 3);
  EXPECT_EQ(file.segments[0].header.weft, WEFT_VERSION_STRING);
  EXPECT_EQ(file.segments[0].header.version, WEFT_TRACE_VERSION);
  ASSERT_EQ(file.segments[0].records.size(), 10u);
  EXPECT_EQ(file.segments[0].records[9].iteration.number, 10u);
  EXPECT_EQ(file.segments[0].summary->iterations, 10u);
  EXPECT_EQ(file.segments[0].summary->rank, 3);
  EXPECT_EQ(file.cut_off.lines, 0u);
}

TEST(TraceWriter, WallClockBelongsToTheStart) {
  TemporaryDirectory directory;
  TraceHeader header = header_of(0);
  header.started = TimePoint(std::chrono::steady_clock::now().time_since_epoch() - 100s);
  const auto expected = std::chrono::system_clock::now() - 100s;
  std::string error;
  auto writer = TraceWriter::open(directory.path(), header, TraceWriter::unlimited, &warn, error);
  writer->finish({});
  const TraceFile file = read_trace(writer->path());
  const Duration wall = file.segments.at(0).header.wall_clock;
  EXPECT_LT(std::chrono::abs(wall - expected.time_since_epoch()), 5s);
}

TEST(TraceWriter, EveryRecordIsEitherWrittenOrCounted) {
  TemporaryDirectory directory;
  constexpr std::uint64_t count = 100000;
  auto writer = open(directory.path());
  for (std::uint64_t i = 1; i <= count; ++i) writer->push(numbered(i));
  writer->finish({});
  const TraceFile file = read_trace(writer->path());
  EXPECT_EQ(file.segments.at(0).records.size() + writer->dropped(), count);
  EXPECT_EQ(warnings, 0);
}

// The number under which this process has the file open; -1: none.
int descriptor_of(const std::string& path) {
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    std::error_code gone;
    if (std::filesystem::read_symlink(entry.path(), gone) == path) return std::stoi(entry.path().filename());
  }
  return -1;
}

// A program that closes all descriptors it does not know, and then opens files of its own, gets the trace's number.
// With a flush each 100 ms alone it would take five seconds.
TEST(TraceWriter, ABurstDoesNotWaitForTheNextFlush) {
  const TemporaryDirectory directory;
  auto writer = open(directory.path());
  ASSERT_NE(writer, nullptr);
  const auto begun = std::chrono::steady_clock::now();
  for (std::uint64_t burst = 0; burst < 50; ++burst) {
    const auto size = std::filesystem::file_size(writer->path());
    for (std::uint64_t i = 0; i < 2048; ++i) writer->push(numbered(i));
    ASSERT_TRUE(eventually([&] { return std::filesystem::file_size(writer->path()) > size; }));
  }
  EXPECT_LT(std::chrono::steady_clock::now() - begun, 2500ms);
}

TEST(TraceWriter, AFileOfTheProgramThatGotTheNumberIsLeftAlone) {
  TemporaryDirectory directory;
  auto writer = open(directory.path());
  const int descriptor = descriptor_of(std::filesystem::canonical(writer->path()));
  ASSERT_GE(descriptor, 0);
  const std::string checkpoint = directory.path() + "/checkpoint";
  const int other = ::open(checkpoint.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
  ASSERT_EQ(::dup2(other, descriptor), descriptor);
  writer->push(numbered(1));
  writer->finish({});
  EXPECT_EQ(std::filesystem::file_size(checkpoint), 0U);
  EXPECT_NE(::fcntl(descriptor, F_GETFD), -1);
  EXPECT_EQ(warnings, 1);
  EXPECT_NE(last_warning.find("ends early: its descriptor was closed"), std::string::npos) << last_warning;
  EXPECT_GE(writer->dropped(), 1U);
  ::close(descriptor);
  ::close(other);
}

TEST(TraceWriter, AfterTheEndRecordsAreCounted) {
  TemporaryDirectory directory;
  auto writer = open(directory.path());
  writer->finish({});
  writer->finish({});
  writer->push(numbered(1));
  EXPECT_EQ(writer->dropped(), 1u);
  EXPECT_EQ(test::lines_of(test::read_file(writer->path())).size(), 2u);
}

// A writer may live on as long as the communicators' process; its file may not be held open for that long.
TEST(TraceWriter, AfterTheEndTheFileIsClosed) {
  TemporaryDirectory directory;
  const auto is_open = [](const std::string& path) { return descriptor_of(path) != -1; };
  auto writer = open(directory.path());
  const std::string path = std::filesystem::canonical(writer->path());
  EXPECT_TRUE(is_open(path));
  writer->finish({});
  EXPECT_FALSE(is_open(path));
}

TEST(TraceWriter, WithoutFinishThereIsNoSummaryButAllRecords) {
  TemporaryDirectory directory;
  auto writer = open(directory.path());
  writer->push(numbered(1));
  const std::string path = writer->path();
  writer.reset();
  const TraceFile file = read_trace(path);
  EXPECT_EQ(file.segments.at(0).records.size(), 1u);
  EXPECT_FALSE(file.segments.at(0).summary);
}

TEST(TraceWriter, OpeningAgainAddsASegment) {
  TemporaryDirectory directory;
  open(directory.path())->finish({});
  open(directory.path())->finish({});
  const TraceFile file = read_trace(directory / file_name(0, ::getpid()));
  ASSERT_EQ(file.segments.size(), 2u);
  EXPECT_GT(file.segments[0].header.start_id, 0);
  EXPECT_EQ(file.segments[0].header.start_id, file.segments[1].header.start_id);
}

// Process ids repeat: in a container the first process is always 1.
TEST(TraceWriter, AFileOfAnotherRunIsNotWrittenTo) {
  TemporaryDirectory directory;
  const std::string taken = directory / file_name(0, ::getpid());
  std::ofstream(taken) << "another run's\n";
  open(directory.path())->finish({});
  auto writer = open(directory.path());
  writer->finish({});
  EXPECT_EQ(test::read_file(taken), "another run's\n");
  EXPECT_EQ(writer->path(), directory / ("rank0." + std::to_string(::getpid()) + ".2.jsonl"));
  EXPECT_EQ(read_trace(writer->path()).segments.size(), 2u);
}

TEST(TraceWriter, ATornLineDoesNotSwallowTheNextHeader) {
  TemporaryDirectory directory;
  open(directory.path())->finish({});
  const std::string path = directory / file_name(0, ::getpid());
  std::ofstream(path, std::ios::app) << R"({"type": "iterat)";
  open(directory.path())->finish({});
  const TraceFile file = read_trace(path);
  EXPECT_EQ(file.segments.size(), 2u);
  EXPECT_EQ(file.unreadable.lines, 1u);
}

// Its thread stands in a call that does not come back in time.
TEST(TraceWriter, OpeningAgainBesideAThreadThatStillWritesMakesAnotherFile) {
  TemporaryDirectory directory;
  std::promise<void> gate;
  std::string error;
  const auto stand = [opened = gate.get_future().share()](Audience, const std::string&) { opened.wait(); };
  auto writer = TraceWriter::open(directory.path(), header_of(0), 1, stand, error);
  writer->push(numbered(1));
  writer->finish({});
  auto second = open(directory.path());
  EXPECT_EQ(second->path(), directory / ("rank0." + std::to_string(::getpid()) + ".2.jsonl"));
  gate.set_value();
  second->finish({});
  EXPECT_TRUE(eventually([&] { return test::read_file(writer->path()).find("\"summary\"") != std::string::npos; }));
  EXPECT_EQ(read_trace(writer->path()).segments.size(), 1U);
  EXPECT_EQ(read_trace(second->path()).segments.size(), 1U);
  EXPECT_EQ(open(directory.path())->path(), second->path());
}

Record memory_record() {
  Record record;
  record.kind = RecordKind::memory;
  record.memory = {1, 1, 1, 1, 1, MemoryEvent::released};
  return record;
}

TEST(TraceWriter, BeyondItsLimitOnlyTheEndOfTheRunIsWrittenAndTheRestCounted) {
  TemporaryDirectory directory;
  constexpr std::uint64_t limit = 20000, count = 1000;
  auto writer = open(directory.path(), 0, limit);
  for (std::uint64_t i = 1; i <= count; ++i) writer->push(numbered(i));
  writer->push(memory_record());
  TraceSummary summary;
  summary.iterations = count;
  writer->finish(summary);
  const TraceFile file = read_trace(writer->path());
  const TraceSegment& segment = file.segments.at(0);
  std::uint64_t written = 0;
  for (const auto& record : segment.records) written += record.kind == RecordKind::iteration ? 1U : 0U;
  ASSERT_EQ(segment.records.size(), written + 2);
  EXPECT_EQ(segment.records[written].kind, RecordKind::limit);
  EXPECT_EQ(segment.records[written].limit.bytes, limit);
  EXPECT_EQ(segment.records[written + 1].kind, RecordKind::memory);
  EXPECT_GT(written, 0u);
  EXPECT_EQ(segment.summary->iterations, count);
  EXPECT_EQ(segment.summary->records_left_out, count - written);
  EXPECT_EQ(segment.summary->dropped_records, 0u);
  EXPECT_EQ(writer->dropped(), 0u);
  EXPECT_LT(std::filesystem::file_size(writer->path()), limit + 2000);
  EXPECT_EQ(warnings, 1);
  EXPECT_EQ(last_audience, Audience::one_rank);
  EXPECT_TRUE(last_warning.starts_with("the trace " + writer->path() + " has reached WEFT_TRACE_LIMIT"))
      << last_warning;
}

TEST(TraceWriter, GroupsHaveHalfOfTheFile) {
  TemporaryDirectory directory;
  constexpr std::uint64_t limit = 40000;
  auto writer = open(directory.path(), 0, limit);
  const Record group(0, TimePoint{}, GroupRecord{});
  for (int i = 0; i < 1000; ++i) writer->push(group);
  for (std::uint64_t i = 1; i <= 20; ++i) writer->push(numbered(i));
  writer->finish({});
  const TraceFile file = read_trace(writer->path());
  const TraceSegment& segment = file.segments.at(0);
  std::uint64_t groups = 0, iterations = 0;
  for (const auto& record : segment.records) {
    groups += record.kind == RecordKind::group ? 1U : 0U;
    iterations += record.kind == RecordKind::iteration ? 1U : 0U;
    EXPECT_NE(record.kind, RecordKind::limit);
  }
  EXPECT_GT(groups, 0u);
  EXPECT_EQ(iterations, 20u);
  EXPECT_EQ(segment.summary->records_left_out, 1000 - groups);
  EXPECT_LT(std::filesystem::file_size(writer->path()), limit);
  EXPECT_EQ(warnings, 1);
  EXPECT_NE(last_warning.find("half of WEFT_TRACE_LIMIT"), std::string::npos) << last_warning;
}

TEST(TraceWriter, TheLimitIsThatOfTheWholeFileAndOneRankIsToSpeak) {
  TemporaryDirectory directory;
  constexpr std::uint64_t limit = 20000;
  open(directory.path(), 1, limit)->finish({});
  std::ofstream(directory / file_name(1, ::getpid()), std::ios::app) << std::string(limit, ' ') << "\n";
  auto writer = open(directory.path(), 1, limit);
  writer->push(numbered(1));
  writer->finish({});
  const TraceFile file = read_trace(writer->path());
  ASSERT_EQ(file.segments.size(), 2u);
  EXPECT_EQ(file.segments[0].summary->records_left_out, 0u);
  EXPECT_EQ(file.segments[1].summary->records_left_out, 1u);
  EXPECT_EQ(warnings, 1);
  EXPECT_EQ(last_audience, Audience::one_rank);
}

// The file has it each time.
TEST(TraceWriter, OpeningAgainBeyondTheLimitIsSaidOnce) {
  TemporaryDirectory directory;
  int said = 0;
  for (int i = 0; i < 3; ++i) {
    auto writer = open(directory.path(), 0, 4000);
    for (std::uint64_t k = 1; k <= 100; ++k) writer->push(Record(0, TimePoint{}, GroupRecord{}));
    for (std::uint64_t k = 1; k <= 100; ++k) writer->push(numbered(k));
    writer->finish({});
    said += warnings;
  }
  EXPECT_EQ(said, 2) << "half of it, and all";
  const TraceFile file = read_trace(directory / file_name(0, ::getpid()));
  ASSERT_EQ(file.segments.size(), 3U);
  for (const TraceSegment& segment : file.segments) EXPECT_GT(segment.summary->records_left_out, 0U);
}

TEST(TraceWriter, ADirectoryThatCannotBeMadeIsOneLine) {
  TemporaryDirectory directory;
  ::close(::open((directory / "file").c_str(), O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
  std::string error;
  EXPECT_EQ(TraceWriter::open(directory / "file/traces", header_of(0), TraceWriter::unlimited, &warn, error), nullptr);
  EXPECT_EQ(error, "the trace directory " + (directory / "file/traces") + " cannot be made: Not a directory");
  EXPECT_EQ(TraceWriter::open("/proc/weft/traces", header_of(0), TraceWriter::unlimited, &warn, error), nullptr);
  EXPECT_EQ(error, "the trace directory /proc/weft/traces cannot be made: No such file or directory");
}

TEST(TraceWriter, AFileThatCannotBeOpenedIsOneLine) {
  std::string error;
  EXPECT_EQ(TraceWriter::open("/proc", header_of(0), TraceWriter::unlimited, &warn, error), nullptr);
  EXPECT_EQ(error, "the trace /proc/" + file_name(0, ::getpid()) + " cannot be opened: No such file or directory");
}

TEST(TraceWriter, AFullDiskIsSaidOnceAndCostsOnlyTheTrace) {
  TemporaryDirectory directory;
  open(directory.path())->finish({});
  const std::string path = directory / file_name(0, ::getpid());
  ASSERT_EQ(::unlink(path.c_str()), 0);
  ASSERT_EQ(::symlink("/dev/full", path.c_str()), 0);
  auto writer = open(directory.path());
  EXPECT_TRUE(eventually([] { return warnings > 0; }));
  for (std::uint64_t i = 1; i <= 100; ++i) writer->push(numbered(i));
  writer->finish({});
  EXPECT_EQ(writer->dropped(), 100u);
  EXPECT_EQ(warnings, 1);
  EXPECT_EQ(last_warning, "the trace " + writer->path() + " ends early: No space left on device");
}

// The next two end the process they run in: a fresh one, as a forked one may not start threads under every sanitizer.
TEST(TraceWriterDeathTest, AFileSizeLimitDoesNotSignalTheMainJob) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  const auto limited = [] {
    TemporaryDirectory directory;
    std::signal(SIGXFSZ, SIG_DFL);  // would end the process
    const rlimit limit{4096, 4096};
    if (::setrlimit(RLIMIT_FSIZE, &limit) != 0) return 2;
    auto writer = open(directory.path());
    for (std::uint64_t i = 1; i <= 1000; ++i) writer->push(numbered(i));
    writer->finish({});
    // Records flushed before the limit was met are in the file: fewer than a hundred, as no record is under 41 bytes.
    return writer->dropped() >= 900 && writer->dropped() <= 1000 && warnings == 1 ? 0 : 3;
  };
  EXPECT_EXIT(std::exit(limited()), testing::ExitedWithCode(0), "");
}

TEST(TraceWriterDeathTest, WhatWasFlushedSurvivesAKill) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  const auto directory_of = [](pid_t parent) {
    return testing::TempDir() + "weft-kill-test." + std::to_string(parent);
  };
  const auto killed = [&] {
    auto writer = open(directory_of(::getppid()));
    for (std::uint64_t i = 1; i <= 50; ++i) writer->push(numbered(i));
    eventually([&] { return test::lines_of(test::read_file(writer->path())).size() == 51; });
    ::kill(::getpid(), SIGKILL);
  };
  EXPECT_EXIT(killed(), testing::KilledBySignal(SIGKILL), "");
  const std::string directory = directory_of(::getpid());
  const auto entry = std::filesystem::directory_iterator(directory);
  const TraceFile file = read_trace(entry->path().string());
  std::filesystem::remove_all(directory);
  EXPECT_EQ(file.segments.at(0).records.size(), 50u);
  EXPECT_FALSE(file.segments.at(0).summary);
  EXPECT_EQ(file.cut_off.lines, 0u);
}

TEST(TraceWriter, AForkedChildNeitherWaitsNorWrites) {
  TemporaryDirectory directory;
  auto writer = open(directory.path());
  const pid_t child = ::fork();
  if (child == 0) {
    writer->push(numbered(1));
    writer->finish({});
    ::_exit(0);
  }
  int status = -1;
  ::waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  writer->finish({});
  EXPECT_EQ(test::lines_of(test::read_file(writer->path())).size(), 2u);
}

// "SigBlk" of the thread of that name in this process; "" when there is none.
std::string blocked_signals(const std::string& thread) {
  for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
    if (test::read_file((task.path() / "comm").string()) != thread + "\n") continue;
    for (const std::string& line : test::lines_of(test::read_file((task.path() / "status").string())))
      if (line.starts_with("SigBlk:")) return line.substr(8);
  }
  return "";
}

TEST(TraceWriter, ItsThreadHasANameAndTakesNoSignals) {
  TemporaryDirectory directory;
  sigset_t before, after;
  ::pthread_sigmask(SIG_SETMASK, nullptr, &before);
  auto writer = open(directory.path());
  ::pthread_sigmask(SIG_SETMASK, nullptr, &after);
  for (int signal = 1; signal < 32; ++signal) EXPECT_EQ(sigismember(&before, signal), sigismember(&after, signal));
  EXPECT_TRUE(eventually([] { return !blocked_signals("weft-trace").empty(); }));
  const unsigned long long mask = std::stoull(blocked_signals("weft-trace"), nullptr, 16);
  for (const int signal : {SIGTERM, SIGINT, SIGCHLD, SIGUSR1, SIGXFSZ, SIGPIPE, SIGALRM})
    EXPECT_TRUE(mask >> (signal - 1) & 1) << signal;
  writer->finish({});
}

}  // namespace
}  // namespace weft
