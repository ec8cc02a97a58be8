// Python's text of its frames, whole, odd and cut.
#include "runner/sites/traceback_text.h"

#include <gtest/gtest.h>

namespace weft {
namespace {

constexpr const char* whole =
    "Stack (most recent call first):\n"
    "  File \"/home/me/train.py\", line 120 in forward_step\n"
    "  File \"/home/me/train.py\", line 88 in <lambda>\n"
    "  File \"<string>\", line 1 in <module>\n";

TEST(TracebackText, GivesFramesInnermostFirst) {
  const auto frames = frames_of_traceback(whole, 32);
  ASSERT_EQ(frames.size(), 3U);
  EXPECT_EQ(frames[0].file, "/home/me/train.py");
  EXPECT_EQ(frames[0].line, 120U);
  EXPECT_EQ(frames[0].function, "forward_step");
  EXPECT_EQ(frames[1].function, "<lambda>");
  EXPECT_EQ(frames[2].file, "<string>");
}

TEST(TracebackText, GivesNoMoreThanAsked) {
  EXPECT_EQ(frames_of_traceback(whole, 2).size(), 2U);
  EXPECT_TRUE(frames_of_traceback(whole, 0).empty());
}

TEST(TracebackText, LeavesOutALineThatWasCut) {
  const std::string text = whole;
  for (std::size_t bytes = 0; bytes <= text.size(); ++bytes) {
    const auto frames = frames_of_traceback(text.substr(0, bytes), 32);
    std::size_t ends = 0;
    for (std::size_t i = 0; i < bytes; ++i) ends += text[i] == '\n' ? 1 : 0;
    EXPECT_EQ(frames.size(), ends == 0 ? 0 : ends - 1) << bytes;
  }
}

TEST(TracebackText, TakesNamesThatLookLikeItsOwnWords) {
  const auto frames = frames_of_traceback(
      "  File \"/a, line 7 in b\"/c\\xe9 \"d.py\", line 9 in run in circles\n"
      "  File ???, line ??? in ???\n",
      32);
  ASSERT_EQ(frames.size(), 2U);
  EXPECT_EQ(frames[0].file, "/a, line 7 in b\"/c\\xe9 \"d.py");
  EXPECT_EQ(frames[0].line, 9U);
  EXPECT_EQ(frames[0].function, "run in circles");
  EXPECT_EQ(frames[1].file, "");
  EXPECT_EQ(frames[1].line, 0U);
  EXPECT_EQ(frames[1].function, "");
}

TEST(TracebackText, LeavesOutWhatIsNoFrame) {
  EXPECT_TRUE(
      frames_of_traceback("\n  ...\n  File\n  File \"a\"\n  File \"a\", line 3\n<no Python frame>\n", 32).empty());
}

}  // namespace
}  // namespace weft
