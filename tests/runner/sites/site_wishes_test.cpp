// Which calls are to be looked at, in iterations that are made up.
#include "runner/sites/site_wishes.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <set>

namespace weft {
namespace {

constexpr std::uint64_t rhythm = 77;

// A training whose iterations have so many groups each, of which each is issued at once.
struct Training {
  std::uint64_t length;
  SiteWishes wishes;
  GroupId last = 0;
  std::uint64_t step = 1;  // groups of other devices are in between

  SlotKey slot_of(GroupId group) const { return {rhythm, static_cast<std::int32_t>((group / step) % length)}; }
  GroupId issue() {
    last += step;
    wishes.issued(last, slot_of(last));
    return last;
  }
  void iterate(std::set<std::int32_t> with_bubble) {
    for (std::uint64_t i = 0; i < length; ++i) {
      const GroupId group = issue();
      if (with_bubble.contains(slot_of(group).ordinal)) wishes.bubble(slot_of(group), group);
    }
  }
};

TEST(SiteWishes, AsksForNothingWithoutBubbles) {
  Training training{6, {}};
  std::array<GroupId, 16> groups{};
  training.iterate({});
  training.iterate({});
  EXPECT_EQ(training.wishes.ask(groups), 0U);
}

TEST(SiteWishes, AsksForTheNextGroupOfEachSlotWithABubble) {
  Training training{6, {}};
  std::array<GroupId, 16> groups{};
  training.iterate({1, 4});
  EXPECT_EQ(training.wishes.ask(groups), 0U) << "nothing tells when the next one comes";
  training.iterate({1, 4});
  ASSERT_EQ(training.wishes.ask(groups), 2U);
  EXPECT_LT(training.last, groups[0]);
  EXPECT_LT(groups[0], groups[1]);
  std::set<std::int32_t> asked{training.slot_of(groups[0]).ordinal, training.slot_of(groups[1]).ordinal};
  EXPECT_EQ(asked, (std::set<std::int32_t>{1, 4}));
  EXPECT_FALSE(training.wishes.all_have_come());
  training.iterate({1, 4});
  EXPECT_TRUE(training.wishes.all_have_come());
  EXPECT_EQ(training.wishes.looked_at(groups[0]), training.slot_of(groups[0]));
  EXPECT_EQ(training.wishes.looked_at(groups[0]), std::nullopt) << "a slot has one call site";
  EXPECT_EQ(training.wishes.looked_at(groups[1]), training.slot_of(groups[1]));
  EXPECT_EQ(training.wishes.sites(), 2U);
  EXPECT_EQ(training.wishes.ask(groups), 0U);
}

TEST(SiteWishes, CountsGroupsOfOtherDevicesIn) {
  Training training{5, {}, 0, 3};
  std::array<GroupId, 16> groups{};
  for (int i = 0; i < 3; ++i) training.iterate({2});
  ASSERT_EQ(training.wishes.ask(groups), 1U);
  EXPECT_EQ(groups[0] % 3, 0U);
  EXPECT_EQ(training.slot_of(groups[0]).ordinal, 2);
}

TEST(SiteWishes, AsksAgainForACallThatWasMissedAndFurtherAhead) {
  Training training{8, {}};
  std::array<GroupId, 16> groups{};
  for (int i = 0; i < 2; ++i) training.iterate({3});
  std::uint32_t tries = 0;
  for (GroupId before = 0; training.wishes.ask(groups) == 1; ++tries) {
    EXPECT_EQ(training.slot_of(groups[0]).ordinal, 3);
    EXPECT_GT(groups[0], before);
    EXPECT_GT(groups[0], training.last + std::min<GroupId>(4 * tries, 2 * training.length));
    EXPECT_LE(groups[0], training.last + 3 * training.length);
    before = groups[0];
    while (!training.wishes.all_have_come()) training.issue();
  }
  EXPECT_EQ(tries, SiteWishes::most_tries);
}

TEST(SiteWishes, DoesNotCountATryThatWasWithdrawn) {
  Training training{8, {}};
  std::array<GroupId, 16> groups{};
  for (int i = 0; i < 2; ++i) training.iterate({3});
  for (std::uint32_t i = 0; i < 2 * SiteWishes::most_tries; ++i) {
    ASSERT_EQ(training.wishes.ask(groups), 1U);
    training.wishes.withdraw();
    EXPECT_TRUE(training.wishes.all_have_come());
  }
}

TEST(SiteWishes, BelievesThePlaceOfAGroupAndNotTheGuess) {
  Training training{6, {}};
  std::array<GroupId, 16> groups{};
  for (int i = 0; i < 2; ++i) training.iterate({1, 4});
  ASSERT_EQ(training.wishes.ask(groups), 2U);
  // The schedule changes: all groups of the next iteration are of another place.
  for (int i = 0; i < 12; ++i) training.wishes.issued(++training.last, {rhythm, 4});
  EXPECT_EQ(training.wishes.looked_at(groups[0]), (SlotKey{rhythm, 4}));
  EXPECT_EQ(training.wishes.looked_at(groups[1]), std::nullopt);
  EXPECT_EQ(training.wishes.sites(), 1U);
}

TEST(SiteWishes, IgnoresAGroupWhosePlaceIsNotKnown) {
  Training training{6, {}};
  std::array<GroupId, 16> groups{};
  for (int i = 0; i < 2; ++i) training.iterate({1});
  ASSERT_EQ(training.wishes.ask(groups), 1U);
  while (training.last < groups[0]) training.wishes.issued(++training.last, {});
  EXPECT_TRUE(training.wishes.all_have_come());
  EXPECT_EQ(training.wishes.looked_at(groups[0]), std::nullopt);
}

TEST(SiteWishes, HasABoundOnItsSlots) {
  SiteWishes wishes;
  GroupId group = 0;
  for (int turn = 0; turn < 3; ++turn) {
    for (std::int32_t ordinal = 0; ordinal < 1000; ++ordinal) {
      wishes.issued(++group, {rhythm, ordinal});
      wishes.bubble({rhythm, ordinal}, group);
    }
  }
  EXPECT_EQ(wishes.slots(), SiteWishes::most_sites);
  std::array<GroupId, 16> groups{};
  EXPECT_EQ(wishes.ask(groups), groups.size());
}

}  // namespace
}  // namespace weft
