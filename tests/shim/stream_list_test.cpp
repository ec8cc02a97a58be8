// The list of streams, which this test compiles in: also under the sanitizers.
#include "shim/tables/stream_list.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <memory>
#include <thread>
#include <vector>

namespace weft {

struct Stream {
  int number = 0;
};

namespace {

using List = StreamList<8>;

std::vector<Stream*> members(List& list) {
  std::vector<Stream*> found;
  list.visit_until([&](Stream& stream) {
    found.push_back(&stream);
    return false;
  });
  return found;
}

TEST(StreamList, HoldsEachStreamOnce) {
  const auto list = std::make_unique<List>();
  Stream one, two;
  EXPECT_TRUE(members(*list).empty());
  EXPECT_TRUE(list->add(one));
  EXPECT_TRUE(list->add(two));
  EXPECT_TRUE(list->add(one));
  EXPECT_EQ(members(*list), (std::vector<Stream*>{&one, &two}));
}

TEST(StreamList, TakesAPlaceAgainThatAStreamHasLeft) {
  const auto list = std::make_unique<List>();
  Stream one, two, three;
  list->add(one);
  list->add(two);
  list->remove(one);
  EXPECT_EQ(members(*list), std::vector<Stream*>{&two});
  list->remove(one);  // not there any more
  list->add(three);
  EXPECT_EQ(members(*list), (std::vector<Stream*>{&three, &two}));
  EXPECT_EQ(list->end.load(), 2u);
}

TEST(StreamList, RefusesWhenFull) {
  const auto list = std::make_unique<List>();
  std::array<Stream, 9> streams;
  for (std::size_t i = 0; i < 8; ++i) ASSERT_TRUE(list->add(streams[i]));
  EXPECT_FALSE(list->add(streams[8]));
  EXPECT_TRUE(list->add(streams[3]));  // a member
  list->remove(streams[3]);
  EXPECT_TRUE(list->add(streams[8]));
  EXPECT_FALSE(list->add(streams[3]));
}

TEST(StreamList, VisitsUntilToldToStop) {
  const auto list = std::make_unique<List>();
  Stream one, two, three;
  for (Stream* stream : {&one, &two, &three}) list->add(*stream);
  int visits = 0;
  list->visit_until([&](Stream& stream) {
    ++visits;
    return &stream == &two;
  });
  EXPECT_EQ(visits, 2);
}

// Each thread adds and removes its own streams and leaves one of them; another one looks all the time.
TEST(StreamList, ThreadsComeAndGo) {
  const auto list = std::make_unique<StreamList<64>>();
  std::array<std::array<Stream, 4>, 8> streams;
  std::atomic<bool> over{false};
  std::thread looks([&] {
    while (!over.load()) {
      list->visit_until([&](Stream& stream) {
        const auto inside = [&](const auto& mine) {
          return &stream >= mine.data() && &stream < mine.data() + mine.size();
        };
        EXPECT_TRUE(std::any_of(streams.begin(), streams.end(), inside));
        return false;
      });
    }
  });
  std::vector<std::thread> threads;
  for (auto& mine : streams) {
    threads.emplace_back([&] {
      for (int round = 0; round < 2000; ++round) {
        for (Stream& stream : mine) EXPECT_TRUE(list->add(stream));
        for (Stream& stream : mine) list->remove(stream);
      }
      list->add(mine[0]);
    });
  }
  for (std::thread& thread : threads) thread.join();
  over = true;
  looks.join();
  std::vector<Stream*> left, expected;
  list->visit_until([&](Stream& stream) {
    left.push_back(&stream);
    return false;
  });
  for (auto& mine : streams) expected.push_back(&mine[0]);
  std::sort(left.begin(), left.end());
  std::sort(expected.begin(), expected.end());
  EXPECT_EQ(left, expected);
}

}  // namespace
}  // namespace weft
