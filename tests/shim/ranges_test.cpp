// NVTX ranges of a thread: the innermost one, and what has no place.
#include "shim/main_job/ranges.h"

#include <gtest/gtest.h>

#include <string>
#include <thread>

namespace weft {
namespace {

template <class Test>
void on_a_new_thread(Test test) {
  std::thread(test).join();
}

TEST(Ranges, HaveAnInnermostOne) {
  on_a_new_thread([] {
    EXPECT_STREQ(innermost_range(), "");
    EXPECT_EQ(pop_range(), -1);
    EXPECT_EQ(push_range("iteration"), 0);
    EXPECT_EQ(push_range("forward-recv"), 1);
    EXPECT_STREQ(innermost_range(), "forward-recv");
    on_a_new_thread([] { EXPECT_STREQ(innermost_range(), ""); });
    EXPECT_EQ(pop_range(), 1);
    EXPECT_STREQ(innermost_range(), "iteration");
    EXPECT_EQ(push_range(nullptr), 1);
    EXPECT_STREQ(innermost_range(), "") << "of a text that cannot be read, not the one around it";
    EXPECT_EQ(pop_range(), 1);
    EXPECT_EQ(pop_range(), 0);
    EXPECT_EQ(pop_range(), -1);
  });
}

TEST(Ranges, AreCutOffAndHaveNoTextWhereTheyAreTooDeep) {
  on_a_new_thread([] {
    push_range(std::string(1000, 'x').c_str());
    EXPECT_EQ(innermost_range(), std::string(longest_range, 'x'));
    for (int depth = 1; depth < 20; ++depth) EXPECT_EQ(push_range("deep"), depth);
    EXPECT_STREQ(innermost_range(), "");
    for (int depth = 19; depth >= 8; --depth) EXPECT_EQ(pop_range(), depth);
    EXPECT_STREQ(innermost_range(), "deep");
  });
}

TEST(Ranges, KeepTexts) {
  std::string text = "registered";
  const char* const kept = keep_text(text.c_str());
  text.clear();
  EXPECT_STREQ(kept, "registered");
  int room = 0;
  while (room < 10000 && keep_text("another") != nullptr) ++room;
  EXPECT_EQ(room, 1023);
  EXPECT_STREQ(kept, "registered");
}

// The last test: it takes all places.
TEST(Ranges, HaveABoundOnThreads) {
  int without = 0;
  for (int thread = 0; thread < 300; ++thread) on_a_new_thread([&] { without += push_range("one") == -1 ? 1 : 0; });
  EXPECT_GE(without, 300 - 256);
  EXPECT_LT(without, 300);
}

}  // namespace
}  // namespace weft
