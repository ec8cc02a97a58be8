// Reported against true idle time, interval by interval.
#include "runner/model/agreement.h"

#include <gtest/gtest.h>

#include <random>
#include <vector>

namespace weft::model {
namespace {

TimePoint at(int time) {
  return TimePoint{Duration{time}};
}

TEST(Agreement, IsTheTimeThatBothHave) {
  Agreement agreement;
  agreement.add_true(at(0), at(10));
  agreement.add_true(at(20), at(30));
  agreement.add_reported(at(2), at(25));
  agreement.add_true(at(40), at(50));
  agreement.add_reported(at(28), at(60));
  EXPECT_EQ(agreement.true_time(), Duration{30});
  EXPECT_EQ(agreement.reported(), Duration{55});
  EXPECT_EQ(agreement.both(), Duration{8 + 5 + 2 + 10});
}

// Against a bit per unit of time, whichever side is ahead.
TEST(Agreement, InWhateverOrderTheSidesCome) {
  std::minstd_rand random(7);
  for (int round = 0; round < 200; ++round) {
    std::vector<std::pair<int, int>> sides[2];
    std::vector<bool> has[2] = {std::vector<bool>(1000), std::vector<bool>(1000)};
    for (int side = 0; side < 2; ++side)
      for (int time = 0; time < 980;) {
        const int begin = time + 1 + static_cast<int>(random() % 30), end = begin + 1 + static_cast<int>(random() % 30);
        if (end > 1000) break;
        sides[side].emplace_back(begin, end);
        for (int i = begin; i < end; ++i) has[side][static_cast<std::size_t>(i)] = true;
        time = end;
      }
    Agreement agreement;
    for (std::size_t next[2] = {0, 0}; next[0] < sides[0].size() || next[1] < sides[1].size();) {
      int side = static_cast<int>(random() % 2);
      if (next[side] == sides[side].size()) side = 1 - side;
      const auto [begin, end] = sides[side][next[side]++];
      side == 0 ? agreement.add_true(at(begin), at(end)) : agreement.add_reported(at(begin), at(end));
    }
    int both = 0;
    for (std::size_t i = 0; i < 1000; ++i) both += has[0][i] && has[1][i] ? 1 : 0;
    ASSERT_EQ(agreement.both(), Duration{both}) << round;
  }
}

}  // namespace
}  // namespace weft::model
