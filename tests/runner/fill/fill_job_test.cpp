// Loading fill jobs: each way to be wrong gives its own one line.
#include "runner/fill/fill_job.h"

#include <gtest/gtest.h>

#include <fstream>

#include "tests/runner/fake_driver.h"

namespace weft {
namespace {

struct FillJobTest : ::testing::Test {
  testing::FakeGpu gpu;
  Driver driver = testing::fake_driver(gpu);
  Reservation reservation{driver, 1 << 20};

  static std::string job(const std::string& way) { return std::string(WEFT_TEST_JOBS) + "/bad_" + way + ".so"; }

  std::string failure_of(const std::string& path, const std::string& arguments = "") {
    try {
      FillJob::load({path, arguments}, reservation, {0, 100});
    } catch (const SetUpError& error) {
      return error.what();
    }
    return "loaded";
  }
};

TEST(FillSpec, IsSplitAtTheFirstColon) {
  EXPECT_EQ(parse_fill_spec("a.so").path, "a.so");
  EXPECT_EQ(parse_fill_spec("a.so").arguments, "");
  EXPECT_EQ(parse_fill_spec("/x y/a.so:size=3:4").path, "/x y/a.so");
  EXPECT_EQ(parse_fill_spec("/x y/a.so:size=3:4").arguments, "size=3:4");
}

TEST_F(FillJobTest, MissingFile) {
  EXPECT_EQ(failure_of("/nowhere/x.so"), "fill job /nowhere/x.so: no such file");
  EXPECT_EQ(failure_of("matmul"),
            "fill job matmul: no such file; short names are for weft run, WEFT_FILL takes the path of a shared object");
}

TEST_F(FillJobTest, NotASharedObject) {
  const std::string path = ::testing::TempDir() + "not_a_job.so";
  std::ofstream(path) << "just text, and long enough to be no truncated header: " << std::string(64, 'x');
  const std::string text = failure_of(path);
  EXPECT_TRUE(text.starts_with("fill job " + path + " cannot be loaded: ")) << text;
  EXPECT_NE(text.find("ELF"), std::string::npos) << text;
}

TEST_F(FillJobTest, MissingSymbol) {
  EXPECT_EQ(failure_of(job("no_symbol")),
            "fill job " + job("no_symbol") + " does not export weft_fill_job_v2: not a fill job of this version");
}

TEST_F(FillJobTest, WrongVersion) {
  EXPECT_EQ(failure_of(job("version")),
            "fill job " + job("version") + " was built for version 7 of the fill-job ABI, this Weft has version 2");
}

TEST_F(FillJobTest, ShortTable) {
  EXPECT_NE(failure_of(job("size")).find("too short (24 bytes)"), std::string::npos) << failure_of(job("size"));
}

TEST_F(FillJobTest, NoTable) {
  EXPECT_NE(failure_of(job("no_table")).find("no table"), std::string::npos);
}

TEST_F(FillJobTest, MissingFunction) {
  EXPECT_NE(failure_of(job("no_record")).find("lacks one of"), std::string::npos);
}

TEST_F(FillJobTest, MarksMemoryThatMayLeave) {
  const auto loaded = FillJob::load({job("marks"), ""}, reservation, {0, 100});
  EXPECT_EQ(reservation.movable_asked(), 512U);
}

TEST_F(FillJobTest, MarkedMemoryOfARealRunIsMovable) {
  Reservation movable(driver, {1 << 20, 512});
  const auto loaded = FillJob::load({job("marks"), ""}, movable, {0, 100});
  EXPECT_EQ(movable.movable().bytes, 512U);
}

// Jobs that were built with an older Weft run as before.
TEST_F(FillJobTest, OneOfVersion1IsCalledThrough) {
  const auto loaded = FillJob::load({std::string(WEFT_TEST_JOBS) + "/abi1_job.so", ""}, reservation, {0, 100});
  EXPECT_EQ(loaded->name(), "old");
  EXPECT_FALSE(loaded->feed().has_records());
  EXPECT_TRUE(loaded->begin_unit(0));
  std::int8_t correct = 0;
  EXPECT_TRUE(loaded->end_unit(0, correct));
  EXPECT_EQ(correct, 1);
  EXPECT_FALSE(loaded->keeps_progress());
}

TEST_F(FillJobTest, FailingInitGivesItsReason) {
  EXPECT_EQ(failure_of(job("init_fails"), "no such graph"),
            "fill job " + job("init_fails") + ": init failed: no such graph");
  EXPECT_EQ(failure_of(job("init_fails")), "fill job " + job("init_fails") + ": init failed: it gave no reason");
}

TEST_F(FillJobTest, LargerThanTheCap) {
  EXPECT_EQ(failure_of(job("too_large")),
            "fill job " + job("too_large") +
                ": init failed: no memory for the matrices (it asked for 1048576 bytes with "
                "524288 of the cap of 1048576 bytes in use; see WEFT_MEMORY)");
}

TEST_F(FillJobTest, ASoundOneIsCalledThrough) {
  const auto loaded = FillJob::load({job("empty"), ""}, reservation, {0, 100});
  EXPECT_EQ(loaded->name(), "bad");
  EXPECT_TRUE(loaded->begin_unit(0));
  EXPECT_FALSE(loaded->begin_unit(3));
  std::int8_t correct = -1;
  EXPECT_TRUE(loaded->end_unit(0, correct));
  EXPECT_EQ(correct, 1);
  EXPECT_TRUE(loaded->end_unit(1, correct));
  EXPECT_EQ(correct, 0);
}

}  // namespace
}  // namespace weft
