// The pool of buffers that CUPTI takes and gives back.
#include "runner/validate/buffers.h"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

namespace weft::cupti {
namespace {

TEST(Buffers, AreLentOnlyWhileTheyShallBe) {
  Buffers buffers;
  ASSERT_TRUE(buffers.make());
  EXPECT_EQ(buffers.take(), nullptr);
  buffers.lend(true);
  EXPECT_NE(buffers.take(), nullptr);
  buffers.lend(false);
  EXPECT_EQ(buffers.take(), nullptr);
}

TEST(Buffers, WhereNoneIsFreeCuptiGetsNone) {
  Buffers buffers;
  ASSERT_TRUE(buffers.make());
  buffers.lend(true);
  std::uint8_t* last = nullptr;
  for (std::size_t i = 0; i < Buffers::count; ++i) ASSERT_NE(last = buffers.take(), nullptr);
  EXPECT_EQ(buffers.take(), nullptr);
  buffers.give_back(last, 8);
  EXPECT_EQ(buffers.take(), nullptr);  // it is full
  buffers.empty([](std::uint8_t*, std::size_t) {});
  EXPECT_EQ(buffers.take(), last);
}

TEST(Buffers, FullOnesAreEmptiedInTheOrderInWhichTheyCameBack) {
  Buffers buffers;
  ASSERT_TRUE(buffers.make());
  buffers.lend(true);
  std::uint8_t* const one = buffers.take();
  std::uint8_t* const other = buffers.take();
  buffers.give_back(other, 8);
  buffers.give_back(one, 2 * Buffers::bytes);  // more than there is room for
  std::vector<std::pair<std::uint8_t*, std::size_t>> seen;
  buffers.empty([&](std::uint8_t* buffer, std::size_t valid) { seen.emplace_back(buffer, valid); });
  EXPECT_EQ(seen, (std::vector<std::pair<std::uint8_t*, std::size_t>>{{other, 8}, {one, Buffers::bytes}}));
  seen.clear();
  buffers.empty([&](std::uint8_t* buffer, std::size_t valid) { seen.emplace_back(buffer, valid); });
  EXPECT_TRUE(seen.empty());
}

TEST(Buffers, AForeignBufferIsLeftAlone) {
  Buffers buffers;
  std::uint8_t foreign[16] = {};
  buffers.give_back(foreign, 16);  // before there is a pool
  ASSERT_TRUE(buffers.make());
  buffers.lend(true);
  buffers.give_back(foreign, 16);
  int seen = 0;
  buffers.empty([&](std::uint8_t*, std::size_t) { ++seen; });
  EXPECT_EQ(seen, 0);
}

TEST(Buffers, ManyThreadsGetDifferentOnes) {
  Buffers buffers;
  ASSERT_TRUE(buffers.make());
  buffers.lend(true);
  std::atomic<std::uint64_t> given{0}, emptied{0};
  std::atomic<bool> stop{false};
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([&] {
      for (int round = 0; round < 2000; ++round) {
        std::uint8_t* const buffer = buffers.take();
        if (buffer == nullptr) continue;
        buffer[0] = 1;  // a second owner would be seen by TSan
        buffers.give_back(buffer, 1);
        ++given;
      }
    });
  std::thread reader([&] {
    while (!stop) buffers.empty([&](std::uint8_t* buffer, std::size_t) { emptied += buffer[0]; });
  });
  for (std::thread& thread : threads) thread.join();
  stop = true;
  reader.join();
  buffers.empty([&](std::uint8_t*, std::size_t) { ++emptied; });
  EXPECT_EQ(given, emptied);
}

TEST(Buffers, TheCallbacksWorkWithThePoolOfTheProcess) {
  auto& buffers = *new Buffers;  // of the process from here on
  std::uint8_t* buffer = nullptr;
  std::size_t size = 1, most = 1;
  request_buffer(&buffer, &size, &most);
  EXPECT_EQ(buffer, nullptr);
  EXPECT_EQ(size, 0u);
  ASSERT_TRUE(buffers.make());
  buffers.lend(true);
  EXPECT_TRUE(use_for_callbacks(buffers));
  EXPECT_TRUE(use_for_callbacks(buffers));
  Buffers other;
  EXPECT_FALSE(use_for_callbacks(other));
  request_buffer(&buffer, &size, &most);
  ASSERT_NE(buffer, nullptr);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(buffer) % 8, 0u);
  EXPECT_EQ(size, Buffers::bytes);
  EXPECT_EQ(most, 0u);
  complete_buffer(nullptr, 0, buffer, size, 24);
  std::size_t valid = 0;
  buffers.empty([&](std::uint8_t*, std::size_t bytes) { valid = bytes; });
  EXPECT_EQ(valid, 24u);
}

}  // namespace
}  // namespace weft::cupti
