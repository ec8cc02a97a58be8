// Whether there are colours, and on which lines.
#include "cli/colours.h"

#include <gtest/gtest.h>

#include <array>
#include <regex>

namespace weft::cli {
namespace {

TEST(Colours, OnlyOnATerminalThatCanShowThem) {
  EXPECT_TRUE(wants_colours(true, {{"TERM", "xterm-256color"}}));
  EXPECT_FALSE(wants_colours(false, {{"TERM", "xterm-256color"}}));
  EXPECT_FALSE(wants_colours(true, {{"TERM", "dumb"}}));
  EXPECT_FALSE(wants_colours(true, {{"TERM", ""}}));
  EXPECT_FALSE(wants_colours(true, {}));
}

// As no-color.org has it: set, and not to nothing.
TEST(Colours, NoneWhereNobodyWantsThem) {
  EXPECT_FALSE(wants_colours(true, {{"TERM", "xterm"}, {"NO_COLOR", "1"}}));
  EXPECT_FALSE(wants_colours(true, {{"TERM", "xterm"}, {"NO_COLOR", "0"}}));
  EXPECT_TRUE(wants_colours(true, {{"TERM", "xterm"}, {"NO_COLOR", ""}}));
}

TEST(Colours, OfLinesByTheirBeginnings) {
  const std::array rules{InkedLine{"note:", Ink::yellow, false}, InkedLine{"verdict: not", Ink::red}};
  EXPECT_EQ(with_ink("head\nrow\n  note: a\nverdict: not all\nverdict: all\nnote", rules),
            "\x1b[1mhead\x1b[0m\nrow\n\x1b[33m  note:\x1b[0m a\n\x1b[31mverdict: not all\x1b[0m\nverdict: all\nnote");
  EXPECT_EQ(with_ink("", rules), "");
}

TEST(Colours, ChangeNothingOfTheText) {
  const std::string text = "run: 4 ranks\n\nrank iterations\n   0  12\n\nnote: one\nverdict: none, nothing\n\n";
  const std::string inked = with_ink(text, inked_lines());
  EXPECT_NE(inked, text);
  EXPECT_EQ(std::regex_replace(inked, std::regex("\x1b\\[[0-9]*m"), ""), text);
}

}  // namespace
}  // namespace weft::cli
