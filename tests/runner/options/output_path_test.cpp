// The % sequences of paths.
#include "runner/options/output_path.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <string>
#include <utility>

namespace weft {
namespace {

TEST(OutputPath, EverySequence) {
  const Variables variables{{"USER", "ann"}};
  OutputNames names{3, 4711, "node7", "job9", &variables};
  EXPECT_EQ(expand_output("t/%h-%p-%r-%j-%q{USER}-%%", names), "t/node7-4711-3-job9-ann-%");
  EXPECT_EQ(expand_output("%q{MISSING}x", names), "x");
  EXPECT_EQ(expand_output("%%r", names), "%r");
}

TEST(OutputPath, UnknownSequencesStay) {
  EXPECT_EQ(expand_output("a-%r-%p-%h-%j-%q{USER}", {}), "a-%r-%p-%h-%j-%q{USER}");
  EXPECT_EQ(expand_output("50%", {}), "50%");
  EXPECT_EQ(expand_output("%x%q{OPEN", {}), "%x%q{OPEN");
  EXPECT_EQ(expand_output("", {}), "");
}

TEST(OutputPath, NamesOfThisProcess) {
  const Variables variables{{"WEFT_JOB", "j"}};
  const Options options = parse_options(variables).options;
  const OutputNames names = output_names(options, variables);
  EXPECT_EQ(expand_output("%p %j %r", names), std::to_string(::getpid()) + " j %r");
  EXPECT_FALSE(names.host->empty());
}

TEST(OutputPath, ThePatternOfAllRanksHasAStarWhereTheyDiffer) {
  OutputNames names;
  names.rank = 3;
  names.job = "7";
  names.of_all_ranks = true;
  EXPECT_EQ(expand_output("weft-%j/%h/rank%r.%p", names), "weft-7/*/rank*.*");
  EXPECT_EQ(expand_output("weft-%j/100%%", names), "weft-7/100%");
}

}  // namespace
}  // namespace weft
