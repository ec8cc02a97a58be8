// A text inside a record: whole where it fits, else it says that it goes on.
#include "trace/fixed_text.h"

#include <gtest/gtest.h>
#include <string>

namespace weft {
namespace {

using Text = FixedText<8>;

TEST(FixedText, ATextThatFitsIsWhole) {
  EXPECT_EQ(Text("12345678"), "12345678");
  EXPECT_TRUE(Text("").empty());
}

TEST(FixedText, ALongerOneSaysThatItGoesOn) {
  EXPECT_EQ(Text("123456789"), "1234 ...");
  EXPECT_STREQ(Text("123456789").c_str(), "1234 ...");
}

TEST(FixedText, NoCharacterIsCut) {
  EXPECT_EQ(Text("123\u00e456789"), "123 ...");
  EXPECT_EQ(Text("12\u00e456789"), "12\u00e4 ...");
}

TEST(FixedText, BytesThatAreNoCharactersAreCutAnywhere) {
  EXPECT_EQ(Text(std::string(9, '\x80')), "\x80\x80\x80\x80 ...");
}

TEST(FixedText, CutTwiceItIsTheSame) {
  const Text once(std::string_view("123456789"));
  EXPECT_EQ(Text(std::string_view(once)), once);
}

}  // namespace
}  // namespace weft
