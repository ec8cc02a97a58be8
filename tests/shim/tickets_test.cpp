// Tickets and their words on their own: new words after a reset, and the way round from the last number to the first.
#include "shim/tables/tickets.h"

#include <gtest/gtest.h>

#include <array>
#include <set>
#include <thread>
#include <vector>

namespace weft {
namespace {

constexpr std::uint32_t word_count = 8;

struct Tickets : ::testing::Test {
  std::array<std::atomic<std::uint32_t>, word_count> memory{};
  TicketWords words{};

  void SetUp() override { words.begin({memory.data(), 0x1000, word_count}); }
  // A stream gets to the marker.
  void run(Ticket ticket) { memory[ticket % word_count] = ticket; }
  // `many` tickets, each reached at once; the last one.
  Ticket take(std::uint32_t many) {
    Ticket ticket = 0;
    for (std::uint32_t i = 0; i < many; ++i) {
      ticket = words.reserve();
      if (ticket == 0) return 0;
      run(ticket);
    }
    return ticket;
  }
};

TEST_F(Tickets, CountFromOneAndAreReachedOneByOne) {
  const Ticket first = words.reserve();
  const Ticket second = words.reserve();
  EXPECT_EQ(first, 1u);
  EXPECT_EQ(second, 2u);
  EXPECT_FALSE(words.reached(first));
  run(first);
  EXPECT_TRUE(words.reached(first));
  EXPECT_FALSE(words.reached(second));
  words.write_from_host(second);
  EXPECT_TRUE(words.reached(second));
  EXPECT_EQ(words.address_of(9), 0x1000u + 4);
}

TEST_F(Tickets, MayStandForEventsInPlaceOfWrites) {
  std::array<MarkerEvent, word_count> events{};
  words.begin({memory.data(), 0, word_count});
  EXPECT_FALSE(words.writable());
  words.begin({memory.data(), 0, word_count, events.data()});
  EXPECT_TRUE(words.writable());
  EXPECT_TRUE(words.by_events());
  EXPECT_EQ(&words.event_of(9), &events[1]);
}

TEST_F(Tickets, OneThatLastsIsPassedOverAndItsWordComesBack) {
  const Ticket lasts = words.reserve();
  ASSERT_TRUE(words.may_park());
  words.park(lasts);
  std::set<std::uint32_t> used;
  for (int i = 0; i < 40; ++i) {
    const Ticket ticket = take(1);
    ASSERT_NE(ticket, 0u) << i;
    used.insert(ticket % word_count);
  }
  EXPECT_EQ(used.size(), word_count - 1);
  EXPECT_FALSE(words.reached(lasts));
  run(lasts);
  EXPECT_TRUE(words.reached(lasts));
  used.clear();
  for (int i = 0; i < 40; ++i) {
    const Ticket ticket = take(1);
    ASSERT_NE(ticket, 0u) << i;
    used.insert(ticket % word_count);
  }
  EXPECT_EQ(used.size(), word_count);
}

TEST_F(Tickets, FewMayLast) {
  int parked = 0;
  std::vector<std::atomic<std::uint32_t>> many(64);
  words.begin({many.data(), 0x1000, 64});
  for (; words.may_park(); ++parked) words.park(words.reserve());
  EXPECT_EQ(parked, 16);
  many[3] = 3;
  EXPECT_TRUE(words.may_park()) << "that one is over";
}

TEST_F(Tickets, NoneIsGivenOutOverOneThatHasNotRun) {
  for (std::uint32_t i = 0; i < word_count; ++i) ASSERT_NE(words.reserve(), 0u);
  EXPECT_EQ(words.reserve(), 0u);
  run(1);
  EXPECT_EQ(words.reserve(), word_count + 1);
  EXPECT_EQ(words.reserve(), 0u);
}

TEST_F(Tickets, NewWordsTakeTicketsAtOnceAndKnowTheOldOnesAsReached) {
  Ticket pending = 0;
  for (int i = 0; i < 5; ++i) pending = words.reserve();
  ASSERT_EQ(take(3 * word_count), 0u);  // stuck behind those five
  words.end();
  EXPECT_EQ(words.reserve(), 0u);
  EXPECT_TRUE(words.reached(pending));
  std::array<std::atomic<std::uint32_t>, word_count> fresh{};
  words.begin({fresh.data(), 0x2000, word_count});
  EXPECT_TRUE(words.reached(pending));
  for (std::uint32_t i = 0; i < word_count; ++i) {
    const Ticket ticket = words.reserve();
    ASSERT_NE(ticket, 0u) << i;
    EXPECT_FALSE(words.reached(ticket));
  }
  EXPECT_EQ(words.reserve(), 0u);
}

TEST_F(Tickets, NewWordsAfterManyTickets) {
  for (const Ticket newest : {Ticket{1}, Ticket{0x7ffffffe}, Ticket{0x80000003}, Ticket{0xffffffff}}) {
    words.last = newest;
    for (auto& word : memory) word = 0;
    words.begin({memory.data(), 0x1000, word_count});
    EXPECT_TRUE(words.reached(newest));
    const Ticket next = words.reserve();
    EXPECT_NE(next, 0u) << newest;
    EXPECT_FALSE(words.reached(next)) << newest;
  }
}

TEST_F(Tickets, GoRoundThroughTheLastNumber) {
  words.last = Ticket{0} - 3 * word_count;
  words.begin({memory.data(), 0x1000, word_count});
  Ticket before = words.last;
  for (std::uint32_t i = 0; i < 6 * word_count; ++i) {
    const Ticket ticket = words.reserve();
    ASSERT_NE(ticket, 0u) << "after " << before;
    EXPECT_TRUE(not_before(ticket, before));
    EXPECT_FALSE(words.reached(ticket));
    run(ticket);
    EXPECT_TRUE(words.reached(ticket));
    EXPECT_TRUE(words.reached(before));
    before = ticket;
  }
}

TEST_F(Tickets, TheWordOfTheSkippedNumberIsNotTakenFromAMarkerThatHasNotRun) {
  words.last = Ticket{0} - word_count - 1;
  words.begin({memory.data(), 0x1000, word_count});
  const Ticket slow = words.reserve();
  ASSERT_EQ(slow % word_count, 0u);
  EXPECT_EQ(take(word_count - 1), Ticket{0} - 1);
  EXPECT_EQ(words.reserve(), 0u);
  EXPECT_FALSE(words.reached(slow));
  run(slow);
  EXPECT_EQ(words.reserve(), 1u);
  EXPECT_TRUE(words.reached(slow));
}

TEST_F(Tickets, ThreadsNeverGetTheSameOneAlsoOnTheWayRound) {
  words.last = Ticket{0} - 500;
  words.begin({memory.data(), 0x1000, word_count});
  std::vector<std::vector<Ticket>> taken(4);
  std::vector<std::thread> threads;
  for (auto& mine : taken) {
    threads.emplace_back([&] {
      while (mine.size() < 250) {
        const Ticket ticket = words.reserve();
        if (ticket == 0) continue;  // the others have taken all that are free
        run(ticket);
        mine.push_back(ticket);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  std::set<Ticket> all;
  for (const auto& mine : taken) all.insert(mine.begin(), mine.end());
  EXPECT_EQ(all.size(), 1000u);
  EXPECT_EQ(all.count(0), 0u);
}

}  // namespace
}  // namespace weft
