// Files that several threads read: each one once, and an error of one ends all.
#include "trace/read/parallel.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <stdexcept>
#include <thread>
#include <vector>

namespace weft {
namespace {

TEST(Parallel, EachFileIsReadOnceAndAReaderReadsOneAtATime) {
  constexpr std::size_t files = 1000, readers = 4;
  std::vector<std::atomic<int>> read(files), busy(readers);
  for_each_file(files, readers, [&](std::size_t reader, std::size_t index) {
    EXPECT_EQ(++busy[reader], 1);
    ++read[index];
    --busy[reader];
  });
  for (const std::atomic<int>& times : read) EXPECT_EQ(times, 1);
}

TEST(Parallel, AnErrorIsThrownToTheCaller) {
  std::atomic<int> read = 0;
  EXPECT_THROW(for_each_file(100'000, 2,
                             [&](std::size_t, std::size_t index) {
                               ++read;
                               if (index == 3) throw std::runtime_error("no");
                               // The other reader, which might read all of them while this one is kept from running.
                               if (index > 3) std::this_thread::sleep_for(std::chrono::microseconds(100));
                             }),
               std::runtime_error);
  EXPECT_LT(read, 100'000);
}

TEST(Parallel, NoFilesAreNoWork) {
  for_each_file(0, readers_for(0), [](std::size_t, std::size_t) { FAIL(); });
  EXPECT_EQ(readers_for(0), 1u);
  EXPECT_EQ(readers_for(1), 1u);
}

class Sum : public ReadProgress {
 public:
  void begin(const char*, std::uint64_t) override { ++begun; }
  void advance(std::uint64_t bytes) override { sum += bytes; }
  std::uint64_t begun = 0, sum = 0;
};

TEST(Parallel, TheProgressOfAllReadersIsTheSum) {
  Sum all;
  std::mutex mutex;
  for_each_file(8, 4, [&](std::size_t, std::size_t) {
    ReaderProgress own(&all, mutex);
    own.begin("a file", 1);
    for (int line = 0; line < 10'000; ++line) own.advance(100);
  });
  EXPECT_EQ(all.sum, 8'000'000u);
  EXPECT_EQ(all.begun, 0u);
}

}  // namespace
}  // namespace weft
