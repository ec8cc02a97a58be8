// Pages of ranks: their layout, torn and hostile ones, the board between two threads, and the file that the writer of a
// trace keeps.
#include "trace/live/live_page.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <thread>

#include "tests/trace/live/sample_pages.h"
#include "tests/trace/temporary_directory.h"
#include "trace/live/live_board.h"
#include "trace/live/read_live.h"
#include "trace/write/own_process.h"
#include "trace/write/writer.h"

namespace weft {
namespace {

using namespace std::chrono_literals;
using test::sample_page;
using test::TemporaryDirectory;

std::string bytes_of(const LivePage& page) {
  return {reinterpret_cast<const char*>(&page), sizeof page};
}

LiveReading read_sealed(LivePage page) {
  seal(page, 7);
  return read_live_page(bytes_of(page));
}

// Where a file of another version of Weft has its numbers: a change of it is another layout.
TEST(LivePage, HasItsNumbersWhereLayoutOneHasThem) {
  EXPECT_EQ(live_layout, 1u);
  EXPECT_EQ(sizeof(LivePage), 4096u);
  EXPECT_EQ(offsetof(LivePage, layout), 8u);
  EXPECT_EQ(offsetof(LivePage, sequence), 16u);
  EXPECT_EQ(offsetof(LivePage, identity), 32u);
  EXPECT_EQ(offsetof(LivePage, numbers), 376u);
  EXPECT_EQ(offsetof(LiveNumbers, recent), 312u);
  EXPECT_EQ(offsetof(LiveNumbers, waits), 2024u);
  EXPECT_EQ(offsetof(LivePage, checksum), 4080u);
}

TEST(LivePage, IsReadAsItWasSealed) {
  const LivePage page = sample_page(5, 8);
  const LiveReading reading = read_live_page(bytes_of(page));
  ASSERT_TRUE(reading.page) << reading.fault;
  EXPECT_EQ(std::memcmp(&*reading.page, &page, sizeof page), 0);
}

TEST(LivePage, IsTornWhereAnyByteIsOfAnotherMoment) {
  LivePage page = sample_page(0, 8);
  const std::string whole = bytes_of(page);
  for (std::size_t place = 16; place < whole.size(); ++place) {
    std::string torn = whole;
    torn[place] = static_cast<char>(torn[place] ^ 1);
    const LiveReading reading = read_live_page(torn);
    ASSERT_FALSE(reading.page) << place;
    ASSERT_TRUE(reading.is_torn) << place;
  }
  // Its first half of the page before, as a disk may have it.
  page.numbers.iterations += 1;
  seal(page, page.sequence + 1);
  const std::string next = bytes_of(page);
  for (std::size_t border = 512; border < whole.size(); border += 512)
    EXPECT_TRUE(read_live_page(whole.substr(0, border) + next.substr(border)).is_torn) << border;
  EXPECT_TRUE(read_live_page(whole.substr(0, 4095)).is_torn);
  EXPECT_TRUE(read_live_page("").is_torn);
}

TEST(LivePage, OfAnotherKindOrLayoutIsNamed) {
  LivePage page = sample_page(0, 8);
  page.layout = 2;
  EXPECT_EQ(read_sealed(page).fault, "it has layout 2, this weft knows 1");
  page = sample_page(0, 8);
  page.magic[0] = 'X';
  EXPECT_EQ(read_sealed(page).fault, "it is no page of Weft");
  EXPECT_FALSE(read_sealed(page).is_torn);
}

TEST(LivePage, ThatCannotBeTrueIsNotShown) {
  const auto fault_with = [](auto change) {
    LivePage page = sample_page(0, 8);
    change(page);
    const LiveReading reading = read_sealed(page);
    EXPECT_FALSE(reading.page);
    return reading.fault;
  };
  EXPECT_EQ(fault_with([](LivePage& page) { page.identity.rank = -1; }), "it cannot be true: its rank cannot be");
  EXPECT_EQ(fault_with([](LivePage& page) { page.identity.ranks = 0; }), "it cannot be true: its rank cannot be");
  EXPECT_EQ(fault_with([](LivePage& page) { page.numbers.idle = -1; }), "it cannot be true: a length cannot be");
  EXPECT_EQ(fault_with([](LivePage& page) { page.numbers.window_end = 0; }), "it cannot be true: its times cannot be");
  EXPECT_EQ(fault_with([](LivePage& page) { page.numbers.iterations = ~0ULL; }),
            "it cannot be true: a count cannot be");
  EXPECT_EQ(fault_with([](LivePage& page) { page.numbers.recent_count = 33; }),
            "it cannot be true: an iteration cannot be");
  EXPECT_EQ(fault_with([](LivePage& page) { page.numbers.wait_count = 17; }), "it cannot be true: its waits cannot be");
  EXPECT_EQ(fault_with([](LivePage& page) { page.numbers.communicator_count = 41; }),
            "it cannot be true: its waits cannot be");
  EXPECT_EQ(fault_with([](LivePage& page) { page.numbers.filling = static_cast<LiveFilling>(9); }),
            "it cannot be true: its state cannot be");
  EXPECT_EQ(fault_with([](LivePage& page) { page.numbers.memory_used = -1; }),
            "it cannot be true: its memory cannot be");
}

TEST(LivePage, ANumberThatIsNoneIsNotKnown) {
  LivePage page = sample_page(0, 8);
  page.numbers.slowdown = std::numeric_limits<double>::quiet_NaN();
  page.numbers.forecast_error = std::numeric_limits<double>::infinity();
  page.numbers.fill_share = -3;
  const LiveReading reading = read_sealed(page);
  ASSERT_TRUE(reading.page);
  EXPECT_EQ(reading.page->numbers.slowdown_known, 0u);
  EXPECT_EQ(reading.page->numbers.forecasts, 0u);
  EXPECT_EQ(reading.page->numbers.fill_share, 1);
}

TEST(LivePage, TextWithoutEndStaysInItsPlace) {
  std::array<char, 8> text{};
  text.fill('x');
  EXPECT_EQ(text_of(text), "xxxxxxxx");
  set_text(text, "a text that is too long");
  EXPECT_EQ(text_of(text), "a t ...");
}

TEST(LiveFiles, AreThoseWithTheNameOfAPage) {
  TemporaryDirectory directory;
  for (const char* const name : {"rank1.7.live", "rank0.7.live", "rank0.7.jsonl", "other.live"})
    std::ofstream(directory / name) << "x";
  EXPECT_EQ(live_files_in({directory.path()}),
            (std::vector<std::string>{directory / "rank0.7.live", directory / "rank1.7.live"}));
  EXPECT_THROW(live_files_in({directory / "none"}), std::runtime_error);
}

TEST(LiveFiles, ThatArePipesOrMissingHoldNobodyUp) {
  TemporaryDirectory directory;
  ASSERT_EQ(::mkfifo((directory / "rank0.1.live").c_str(), 0600), 0);
  EXPECT_EQ(read_live_file(directory / "rank0.1.live").fault, "it is no regular file");
  EXPECT_NE(read_live_file(directory / "rank1.1.live").fault.find("cannot be opened"), std::string::npos);
}

TEST(LiveBoard, HandsOverWholeNumbersOnly) {
  LiveBoard board;
  LiveNumbers numbers;
  EXPECT_EQ(board.take(numbers), 0u);
  std::atomic<bool> over{false};
  std::thread producer([&] {
    LiveNumbers made;
    for (std::int64_t number = 1; number <= 20'000; ++number) {
      made.time = made.idle_of_other_waits = number;
      made.communicators.back().id = static_cast<std::uint64_t>(number);
      board.put(made);
    }
    over = true;
  });
  std::int64_t latest = 0;
  std::uint64_t taken = 0;
  while (!over || latest != 20'000) {
    if (board.take(numbers) == 0) continue;
    ++taken;
    ASSERT_EQ(numbers.time, numbers.idle_of_other_waits);
    ASSERT_EQ(static_cast<std::uint64_t>(numbers.time), numbers.communicators.back().id);
    ASSERT_GE(numbers.time, latest);
    latest = numbers.time;
  }
  producer.join();
  EXPECT_GT(taken, 0u);
}

TEST(OwnProcess, TellsItsStart) {
  const auto start = start_of_process(::getpid());
  ASSERT_TRUE(start);
  EXPECT_GT(*start, 0u);
  EXPECT_EQ(start_of_process(::getpid()), start);
  EXPECT_FALSE(start_of_process(99'999'999));
  EXPECT_NE(own_process_namespace(), 0u);
  EXPECT_EQ(start_in_stat("7 (a ) b) S 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 4711 20"), 4711u);
  EXPECT_FALSE(start_in_stat("7 (a) Z 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 4711 20"));
  EXPECT_FALSE(start_in_stat("7 (a) S 1 2"));
  EXPECT_FALSE(start_in_stat(""));
}

struct Warnings {
  std::atomic<int> count{0};
  std::string last;  // read after the writer has finished
};

std::unique_ptr<TraceWriter> open(const std::string& directory, Warnings& warnings) {
  TraceHeader header;
  header.rank = 2;
  header.ranks = 4;
  header.mode = "observe";
  std::string error;
  return TraceWriter::open(
      directory, header, TraceWriter::unlimited,
      [&](Audience, const std::string& text) { warnings.last = text, ++warnings.count; }, error);
}

LiveReading await_page(const std::string& path, std::uint64_t sequence) {
  for (int attempt = 0; attempt < 1000; ++attempt) {
    LiveReading reading = read_live_file(path);
    if (reading.page && reading.page->sequence >= sequence) return reading;
    std::this_thread::sleep_for(10ms);
  }
  return {};
}

TEST(TraceWriter, KeepsAPageOnceItIsGivenNumbers) {
  TemporaryDirectory directory;
  Warnings warnings;
  auto writer = open(directory.path(), warnings);
  const std::string path = live_path(writer->path());
  EXPECT_EQ(path, directory / ("rank2." + std::to_string(::getpid()) + ".live"));
  std::this_thread::sleep_for(250ms);
  EXPECT_FALSE(std::filesystem::exists(path));
  LiveNumbers numbers;
  numbers.iterations = 11;
  writer->show(numbers);
  const LiveReading first = await_page(path, 1);
  ASSERT_TRUE(first.page);
  EXPECT_EQ(first.page->numbers.iterations, 11u);
  EXPECT_EQ(first.page->identity.rank, 2);
  EXPECT_EQ(first.page->identity.process, ::getpid());
  EXPECT_EQ(first.page->ended, 0u);
  // The next one comes a second later, however often numbers come.
  for (int attempt = 0; attempt < 20; ++attempt) {
    numbers.iterations = 12;
    writer->show(numbers);
    std::this_thread::sleep_for(10ms);
  }
  EXPECT_EQ(read_live_file(path).page->sequence, 1u);
  numbers.iterations = 13;
  writer->show(numbers);
  writer->finish({});
  const LiveReading last = read_live_file(path);
  ASSERT_TRUE(last.page);
  EXPECT_EQ(last.page->numbers.iterations, 13u);
  EXPECT_EQ(last.page->ended, 1u);
  EXPECT_EQ(std::filesystem::file_size(path), live_page_bytes);
  EXPECT_EQ(warnings.count, 0);
}

TEST(TraceWriter, ThatHasNoSummaryDoesNotSayThatItHasEnded) {
  TemporaryDirectory directory;
  Warnings warnings;
  auto writer = open(directory.path(), warnings);
  const std::string path = live_path(writer->path());
  writer->show({});
  ASSERT_TRUE(await_page(path, 1).page);
  writer.reset();
  EXPECT_EQ(read_live_file(path).page->ended, 0u);
}

// It closes its communicators and opens others: the same file, and numbers that begin anew.
TEST(TraceWriter, GoesOnInItsPageWhenTheTraceIsOpenedAgain) {
  TemporaryDirectory directory;
  Warnings warnings;
  auto writer = open(directory.path(), warnings);
  const std::string path = live_path(writer->path());
  writer->show({});
  writer->finish({});
  EXPECT_EQ(read_live_file(path).page->ended, 1u);
  EXPECT_EQ(read_live_file(path).page->identity.earlier_segments, 0u);
  writer.reset();
  auto again = open(directory.path(), warnings);
  EXPECT_EQ(live_path(again->path()), path);
  again->show({});
  LiveReading reading;
  for (int attempt = 0; attempt < 1000 && (!reading.page || reading.page->ended != 0); ++attempt) {
    std::this_thread::sleep_for(10ms);
    reading = read_live_file(path);
  }
  ASSERT_TRUE(reading.page);
  EXPECT_EQ(reading.page->ended, 0u);
  EXPECT_EQ(reading.page->identity.earlier_segments, 1u);
}

TEST(TraceWriter, SaysOnceThatAPageCannotBeWritten) {
  TemporaryDirectory directory;
  Warnings warnings;
  auto writer = open(directory.path(), warnings);
  const std::string path = live_path(writer->path());
  std::filesystem::create_directory(path);
  writer->show({});
  for (int attempt = 0; attempt < 1000 && warnings.count == 0; ++attempt) std::this_thread::sleep_for(10ms);
  writer->show({});
  Record record;
  record.kind = RecordKind::iteration;
  record.iteration = Iteration{.number = 1};
  writer->push(record);
  writer->finish({});
  EXPECT_EQ(warnings.count, 1);
  EXPECT_EQ(warnings.last, "weft top sees no more of this rank: " + path + " cannot be written: Is a directory");
  EXPECT_EQ(writer->dropped(), 0u);
}

}  // namespace
}  // namespace weft
