// The table of handles, which this test compiles in: also under the sanitizers.
#include "shim/tables/handle_table.h"

#include <gtest/gtest.h>

#include <memory>
#include <thread>
#include <vector>

namespace weft {
namespace {

struct Entry {
  std::atomic<std::uint64_t> key;
  int value;
};

TEST(HandleTable, FindsClaimsAndReleases) {
  auto table = std::make_unique<HandleTable<Entry, 64>>();
  EXPECT_EQ(table->find(0), nullptr);  // a null handle is nobody's, although an unused slot has this key
  EXPECT_EQ(table->find(5), nullptr);
  Entry* five = table->claim(5);
  ASSERT_NE(five, nullptr);
  EXPECT_EQ(table->claim(5), five);
  EXPECT_EQ(table->find(5), five);
  table->release(*five);
  EXPECT_EQ(table->find(5), nullptr);
}

TEST(HandleTable, IsFullAndReusable) {
  auto table = std::make_unique<HandleTable<Entry, 64>>();
  for (std::uint64_t key = 1; key <= 64; ++key) ASSERT_NE(table->claim(key), nullptr);
  EXPECT_EQ(table->claim(65), nullptr);
  table->release(*table->find(17));
  EXPECT_NE(table->claim(65), nullptr);
  for (std::uint64_t key = 1; key <= 65; ++key) EXPECT_EQ(table->find(key) != nullptr, key != 17);
}

TEST(HandleTable, LooksNoFartherThanTheNeighbourhoodOfAKey) {
  using Table = HandleTable<Entry, 1024>;
  const auto table = std::make_unique<Table>();
  std::vector<std::uint64_t> neighbours;
  for (std::uint64_t key = 1; neighbours.size() <= Table::most_probes; ++key) {
    if (Table::first_slot(key) == 1000) neighbours.push_back(key);
  }
  const std::uint64_t last = neighbours.back();
  neighbours.pop_back();
  for (const std::uint64_t key : neighbours) ASSERT_NE(table->claim(key), nullptr);
  EXPECT_EQ(table->claim(last), nullptr);
  Table::release(*table->find(neighbours.front()));
  EXPECT_NE(table->claim(last), nullptr);
  EXPECT_NE(table->find(last), nullptr);
}

TEST(HandleTable, ThreadsAgreeOnOneEntryPerKey) {
  auto table = std::make_unique<HandleTable<Entry, 256>>();
  std::vector<std::vector<Entry*>> found(8, std::vector<Entry*>(100));
  std::vector<std::thread> threads;
  for (auto& mine : found) {
    threads.emplace_back([&] {
      for (std::uint64_t key = 1; key <= mine.size(); ++key) mine[key - 1] = table->claim(key);
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const auto& mine : found) EXPECT_EQ(mine, found[0]);
}

}  // namespace
}  // namespace weft
