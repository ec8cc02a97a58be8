// Numbers with a unit. Their bounds and the messages about them are in options_test.cpp.
#include "runner/options/quantity.h"

#include <gtest/gtest.h>

namespace weft {
namespace {

using namespace std::chrono_literals;

TEST(Quantity, UnitsCountAndFractionsAreRounded) {
  EXPECT_EQ(parse_bytes("1.5KiB"), 1536u);
  EXPECT_EQ(parse_bytes("12"), 12u);
  EXPECT_EQ(parse_duration("1.5us"), 1500ns);
  EXPECT_EQ(parse_duration("0"), 0ns);
  EXPECT_EQ(parse_share("2.5 %"), 0.025);
  EXPECT_EQ(parse_count("7"), 7u);
}

TEST(Quantity, AnythingElseIsNothing) {
  EXPECT_EQ(parse_bytes("-1"), std::nullopt);
  EXPECT_EQ(parse_bytes("1 KiB or so"), std::nullopt);
  EXPECT_EQ(parse_bytes("99999999TiB"), std::nullopt);  // beyond 63 bits
  EXPECT_EQ(parse_duration("12"), std::nullopt);
  EXPECT_EQ(parse_share("nan"), std::nullopt);
  EXPECT_EQ(parse_count("7.5"), std::nullopt);
}

}  // namespace
}  // namespace weft
