// The % sequences of paths.
#include "runner/options/output_path.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <string>
#include <utility>
#include <vector>

namespace weft {
namespace {

TEST(OutputPath, EverySequence) {
  const Variables variables{{"USER", "ann"}};
  OutputNames names{3, 4711, "node7", "job9", &variables};
  EXPECT_EQ(expand_output("t/%h-%p-%r-%j-%q{USER}-%%", names), "t/node7-4711-3-job9-ann-%");
  EXPECT_EQ(expand_output("%%r", names), "%r");
}

TEST(OutputPath, UnknownSequencesStay) {
  EXPECT_EQ(expand_output("a-%r-%p-%h-%j-%q{USER}", {}), "a-%r-%p-%h-%j-%q{USER}");
  EXPECT_EQ(expand_output("50%", {}), "50%");
  EXPECT_EQ(expand_output("%x%q{OPEN", {}), "%x%q{OPEN");
  EXPECT_EQ(expand_output("", {}), "");
}

// Else "%q{SCRATCH}/weft" would be a folder of the root.
TEST(OutputPath, AVariableThatIsNotSetOrEmptyStays) {
  const Variables variables{{"EMPTY", ""}};
  OutputNames names;
  names.variables = &variables;
  EXPECT_EQ(expand_output("%q{MISSING}/x", names), "%q{MISSING}/x");
  EXPECT_EQ(expand_output("%q{EMPTY}/x", names), "%q{EMPTY}/x");
}

TEST(OutputPath, VariablesAndUnknownSequencesAreFound) {
  const PathSequences found = sequences_in("%h-%p-%r-%j-%%/%q{ONE}%q{TWO}/%z%y");
  EXPECT_EQ(found.variables, (std::vector<std::string>{"ONE", "TWO"}));
  EXPECT_EQ(found.unknown, "%z");
  EXPECT_EQ(sequences_in("%h-%p-%r-%j-%%/%q{ONE}").unknown, "");
  EXPECT_EQ(sequences_in("%q{OPEN").unknown, "%q");
  EXPECT_EQ(sequences_in("%q{}").unknown, "%q{}");
  EXPECT_EQ(sequences_in("50%").unknown, "%");
  EXPECT_EQ(sequences_in("%\xc3\xa9").unknown, "%");
  EXPECT_TRUE(sequences_in("").variables.empty());
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
