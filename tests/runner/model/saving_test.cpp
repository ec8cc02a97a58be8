// The money that fill work saves, by hand.
#include "runner/model/saving.h"

#include <gtest/gtest.h>

namespace weft::model {
namespace {

// A day of 4 GPUs at 2.50 costs 240, of which a slowdown of a quarter is a fifth. One GPU of fill work at 5 is worth
// 120. The same iterations without fill cost 192.
TEST(Saving, IsTheValueOfTheFillWorkWithoutTheCostOfTheSlowdown) {
  const Saving saving = saving_of(4, 1, 0.25, {.training = 2.5, .fill = 5});
  EXPECT_DOUBLE_EQ(saving.cost, 240);
  EXPECT_DOUBLE_EQ(saving.value, 120);
  EXPECT_DOUBLE_EQ(saving.slowdown, 48);
  EXPECT_DOUBLE_EQ(saving.net(), 72);
  EXPECT_DOUBLE_EQ(saving.gross_share(), 0.625);
  EXPECT_DOUBLE_EQ(saving.net_share(), 0.375);
}

TEST(Saving, WithoutASlowdownAllOfTheValueIsSaved) {
  const Saving saving = saving_of(8, 2, 0, {.training = 1, .fill = 1});
  EXPECT_DOUBLE_EQ(saving.net(), saving.value);
  EXPECT_DOUBLE_EQ(saving.net_share(), 0.25);
}

// FreeRide's numbers for co-location under MPS: the training lasts 48.7 % longer and costs 4.5 % more, so the side work
// is worth 44.2 % of it.
TEST(Saving, MayBeALoss) {
  const double value = 0.442;
  const Saving saving = saving_of(1, value / 1.487, 0.487, {.training = 1, .fill = 1});
  EXPECT_NEAR(saving.gross_share(), value, 1e-12);
  EXPECT_NEAR(saving.net_share(), -0.045, 1e-12);
}

TEST(Saving, OfAFreeTrainingThereIsNoShare) {
  EXPECT_DOUBLE_EQ(saving_of(4, 1, 0.1, {.training = 0, .fill = 1}).net_share(), 0);
}

}  // namespace
}  // namespace weft::model
