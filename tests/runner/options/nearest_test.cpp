// Names that somebody may have meant.
#include "runner/options/nearest.h"

#include <gtest/gtest.h>

#include <vector>

namespace weft {
namespace {

const std::vector<std::string> verbs{"run",      "config",   "check",    "try",    "jobs",    "summary", "export",
                                     "validate", "estimate", "simulate", "replay", "version", "help"};

TEST(Nearest, CountsLettersThatWereLeftOutAddedChangedOrSwapped) {
  EXPECT_EQ(edit_distance("", ""), 0U);
  EXPECT_EQ(edit_distance("slice", "slice"), 0U);
  EXPECT_EQ(edit_distance("slce", "slice"), 1U);
  EXPECT_EQ(edit_distance("sllice", "slice"), 1U);
  EXPECT_EQ(edit_distance("slide", "slice"), 1U);
  EXPECT_EQ(edit_distance("rnu", "run"), 1U);
  EXPECT_EQ(edit_distance("", "run"), 3U);
  EXPECT_EQ(edit_distance("run", ""), 3U);
  EXPECT_EQ(edit_distance("kitten", "sitting"), 3U);
  EXPECT_EQ(edit_distance("ab", "ba"), edit_distance("ba", "ab"));
}

TEST(Nearest, FindsTheNameThatWasMeant) {
  EXPECT_EQ(nearest("rnu", verbs), "run");
  EXPECT_EQ(nearest("sumary", verbs), "summary");
  EXPECT_EQ(nearest("simualte", verbs), "simulate");
  EXPECT_EQ(nearest("sumamry", verbs), "summary");
}

TEST(Nearest, TakesTheBeginningOfOneName) {
  EXPECT_EQ(nearest("conf", verbs), "config");
  EXPECT_EQ(nearest("vers", verbs), "version");
  EXPECT_EQ(nearest("slowdown", std::vector<std::string>{"slowdown-budget", "slice"}), "slowdown-budget");
  EXPECT_EQ(nearest("trace", std::vector<std::string>{"trace-limit", "trace-groups"}), std::nullopt);
}

TEST(Nearest, TakesABeginningBeforeANameThatIsNear) {
  const std::vector<std::string> names{"lost", "losses-per-step"};
  EXPECT_EQ(nearest("loss", names), "losses-per-step");
  EXPECT_EQ(nearest("losst", names), "lost");
  EXPECT_EQ(nearest("hel", std::vector<std::string>{"help", "help"}), "help");
}

TEST(Nearest, TakesTheLastWordOfOneName) {
  const std::vector<std::string> flags{"slowdown-budget", "trace-limit", "record-limit", "queue"};
  EXPECT_EQ(nearest("budget", flags), "slowdown-budget");
  EXPECT_EQ(nearest("BUDGET", std::vector<std::string>{"SLOWDOWN_BUDGET"}), "SLOWDOWN_BUDGET");
  EXPECT_EQ(nearest("limit", flags), std::nullopt);
  EXPECT_EQ(nearest("down-budget", flags), std::nullopt);
}

TEST(Nearest, GuessesNothingFromFarAway) {
  EXPECT_EQ(nearest("tyr", verbs), "try");
  EXPECT_EQ(nearest("jobz", verbs), "jobs");
  EXPECT_EQ(nearest("jxbz", verbs), std::nullopt);
  EXPECT_EQ(nearest("simulation", verbs), std::nullopt);
  EXPECT_EQ(nearest("foo", verbs), std::nullopt);
  EXPECT_EQ(nearest("x", verbs), std::nullopt);
  EXPECT_EQ(nearest("", verbs), std::nullopt);
  EXPECT_EQ(nearest("train.py", verbs), std::nullopt);
  EXPECT_EQ(nearest("run", {}), std::nullopt);
}

TEST(Nearest, SaysIt) {
  EXPECT_EQ(did_you_mean(nearest("rnu", verbs)), "; did you mean run?");
  EXPECT_EQ(did_you_mean(std::nullopt), "");
}

}  // namespace
}  // namespace weft
