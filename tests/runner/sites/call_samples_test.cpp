// Stacks on their way: only the calls that are asked for, each once, also while they are withdrawn.
#include "runner/sites/call_samples.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <memory>
#include <set>
#include <thread>
#include <vector>

namespace weft {
namespace {

struct Samples {
  StackReader reader;  // that is not loaded, and reads nothing
  std::unique_ptr<CallSamples> samples = std::make_unique<CallSamples>(reader);

  std::vector<GroupId> taken() {
    std::vector<GroupId> groups;
    samples->take([&](const CallSample& sample) {
      groups.push_back(sample.group);
      return true;
    });
    return groups;
  }
};

TEST(CallSamples, LookAtTheCallsThatAreAskedForOnly) {
  Samples test;
  const std::array<GroupId, 3> asked{5, 9, 12};
  EXPECT_EQ(test.samples->ask(asked), 5U);
  EXPECT_EQ(test.samples->look(3, ""), 5U);
  EXPECT_TRUE(test.taken().empty());
  EXPECT_EQ(test.samples->look(5, ""), 9U);
  EXPECT_EQ(test.samples->look(5, ""), 9U) << "a second time nothing is there to be done";
  EXPECT_EQ(test.samples->look(10, ""), 12U) << "the one before was missed";
  EXPECT_EQ(test.samples->look(12, ""), 0U);
  EXPECT_EQ(test.taken(), (std::vector<GroupId>{5, 12}));
  EXPECT_FALSE(test.samples->is_empty()) << "one was missed";
  test.samples->withdraw();
  EXPECT_TRUE(test.samples->is_empty());
}

TEST(CallSamples, KeepWhatIsNotTaken) {
  Samples test;
  test.samples->ask(std::array<GroupId, 2>{1, 2});
  test.samples->look(1, "");
  test.samples->withdraw();
  int calls = 0;
  test.samples->take([&](const CallSample& sample) { return ++calls, sample.group != 1; });
  EXPECT_EQ(calls, 1);
  EXPECT_FALSE(test.samples->is_empty());
  EXPECT_EQ(test.taken(), std::vector<GroupId>{1});
  EXPECT_TRUE(test.samples->is_empty());
}

TEST(CallSamples, SayWhetherThereIsAny) {
  Samples test;
  EXPECT_FALSE(test.samples->has_any());
  test.samples->ask(std::array<GroupId, 1>{4});
  EXPECT_FALSE(test.samples->has_any());
  test.samples->look(4, "");
  EXPECT_TRUE(test.samples->has_any());
  test.taken();
  EXPECT_FALSE(test.samples->has_any());
}

TEST(CallSamples, AskForNoMoreThanTheyHaveRoomFor) {
  Samples test;
  std::vector<GroupId> groups;
  for (GroupId group = 1; group <= 3 * CallSamples::most; ++group) groups.push_back(group);
  test.samples->ask(groups);
  for (const GroupId group : groups) test.samples->look(group, "");
  EXPECT_EQ(test.taken().size(), CallSamples::most);
}

// Threads of a main job call while the dispatcher asks, withdraws and takes: no group is taken twice, and none that was
// not asked for.
TEST(CallSamples, GoFromOneThreadToAnother) {
  Samples test;
  std::atomic<bool> over{false};
  std::atomic<GroupId> next{0};
  std::vector<std::thread> callers;
  for (int i = 0; i < 3; ++i)
    callers.emplace_back([&] {
      while (!over) test.samples->look(++next, "");
    });
  std::vector<GroupId> all;
  std::set<GroupId> asked;
  for (int round = 0; round < 1000; ++round) {
    std::array<GroupId, CallSamples::most> groups;
    for (std::size_t i = 0; i < groups.size(); ++i) groups[i] = next + 10 * (i + 1);
    asked.insert(groups.begin(), groups.end());
    test.samples->ask(groups);
    if (round % 2 == 0) std::this_thread::yield();
    test.samples->withdraw();
    while (!test.samples->is_empty())
      for (const GroupId group : test.taken()) all.push_back(group);
  }
  over = true;
  for (std::thread& caller : callers) caller.join();
  EXPECT_FALSE(all.empty());
  std::sort(all.begin(), all.end());
  EXPECT_EQ(std::adjacent_find(all.begin(), all.end()), all.end());
  EXPECT_TRUE(std::includes(asked.begin(), asked.end(), all.begin(), all.end()));
}

}  // namespace
}  // namespace weft
