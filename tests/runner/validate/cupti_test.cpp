// Which CUPTI is taken, and which is refused.
#include "runner/validate/cupti.h"

#include <gtest/gtest.h>

namespace weft::cupti {
namespace {

TEST(Cupti, RecordsAreKnownFromCuda12To13AndOfTheBuildsHeaders) {
  EXPECT_FALSE(knows_records(18, 0));
  EXPECT_TRUE(knows_records(19, 0));
  EXPECT_TRUE(knows_records(28, 0));
  EXPECT_FALSE(knows_records(29, 0));
  EXPECT_FALSE(knows_records(29, 28));  // short numbers say nothing of each other
  EXPECT_TRUE(knows_records(130001, 0));
  EXPECT_FALSE(knows_records(130100, 0));
  EXPECT_TRUE(knows_records(130102, 130100));
  EXPECT_FALSE(knows_records(130200, 130100));
}

TEST(Cupti, ALibraryThatIsNotThereIsRefused) {
  Library library;
  EXPECT_EQ(open("/nowhere/libcupti.so", {}, library), "/nowhere/libcupti.so (WEFT_CUPTI) cannot be opened");
}

TEST(Cupti, ALibraryThatIsNoCuptiIsRefused) {
  Library library;
  EXPECT_EQ(open("libc.so.6", {}, library), "libc.so.6 has no cuptiGetVersion");
}

TEST(Cupti, ErrorsThatAUserCanDoSomethingAboutAreNamed) {
  EXPECT_EQ(name_of(7), "CUPTI error 7");
  EXPECT_NE(name_of(15).find("newer than the driver"), std::string::npos);
  EXPECT_NE(name_of(39).find("another profiler has CUPTI"), std::string::npos);
}

TEST(Cupti, AnInjectedProfilerIsNamed) {
  EXPECT_EQ(other_profiler({}), "");
  EXPECT_EQ(other_profiler({{"CUDA_INJECTION64_PATH", ""}}), "");
  EXPECT_NE(other_profiler({{"CUDA_INJECTION64_PATH", "/x.so"}}).find("CUDA_INJECTION64_PATH"), std::string::npos);
  EXPECT_NE(other_profiler({{"NSYS_PROFILING_SESSION_ID", "5"}}).find("NSYS_PROFILING_SESSION_ID"), std::string::npos);
}

}  // namespace
}  // namespace weft::cupti
