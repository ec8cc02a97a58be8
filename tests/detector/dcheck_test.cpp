// A broken invariant is an exception that names its place, and only where checks are built in.
#include "detector/dcheck.h"

#include <gtest/gtest.h>

#include <string>

namespace weft {
namespace {

#ifdef WEFT_DCHECKS
TEST(Dcheck, ABrokenInvariantIsThrownWithItsPlace) {
  const int one = 1;
  EXPECT_NO_THROW(WEFT_DCHECK(one == 1));
  try {
    WEFT_DCHECK(one == 2);
    FAIL() << "nothing was thrown";
  } catch (const BrokenInvariant& broken) {
    const std::string text = broken.what();
    EXPECT_NE(text.find("dcheck_test.cpp:"), std::string::npos) << text;
    EXPECT_NE(text.find("one == 2"), std::string::npos) << text;
  }
}
#else
TEST(Dcheck, IsCompiledButNotEvaluatedWhereChecksAreOff) {
  bool evaluated = false;
  WEFT_DCHECK((evaluated = true));
  EXPECT_FALSE(evaluated);
}
#endif

}  // namespace
}  // namespace weft
