// WEFT_FILL: one job, a list, a file; and every way in which they can be wrong.
#include "runner/options/fill_plan.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <stdexcept>

namespace weft {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;

constexpr std::uint64_t MiB = 1 << 20;

struct FillPlanTest : ::testing::Test {
  fs::path folder = fs::path(::testing::TempDir()) /
                    (std::string("weft-fill-plan-") + ::testing::UnitTest::GetInstance()->current_test_info()->name());
  void SetUp() override { fs::create_directories(folder); }
  void TearDown() override { fs::remove_all(folder); }
  std::string file(const std::string& text) const {
    std::ofstream(folder / "jobs.toml") << text;
    return "@" + (folder / "jobs.toml").string();
  }
};

std::string fault_of(const std::string& fill, std::uint64_t memory = 64 * MiB, const JobFiles& files = {}) {
  try {
    parse_fill_plan(fill, memory, "", files);
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
  return "";
}

TEST_F(FillPlanTest, OneJobHasAllOfTheMemory) {
  const FillPlan plan = parse_fill_plan("a.so:size=3,steps=4", 64 * MiB);
  ASSERT_EQ(plan.jobs.size(), 1U);
  EXPECT_EQ(plan.jobs[0].spec, "a.so:size=3,steps=4");
  EXPECT_EQ(plan.jobs[0].memory, 64 * MiB);
  EXPECT_EQ(plan.policy, JobPolicy::throughput);
  EXPECT_TRUE(parse_fill_plan("", 64 * MiB).jobs.empty());
}

TEST_F(FillPlanTest, AListSharesTheMemory) {
  const FillPlan plan = parse_fill_plan("/x/a.so:size=3;b.so", 64 * MiB);
  ASSERT_EQ(plan.jobs.size(), 2U);
  EXPECT_EQ(plan.jobs[1].spec, "b.so");
  EXPECT_EQ(plan.jobs[0].memory, 32 * MiB);
  EXPECT_EQ(plan.jobs[1].memory, 32 * MiB);
}

TEST_F(FillPlanTest, AFileHasTermsAndPathsOfItsFolder) {
  const FillPlan plan = parse_fill_plan(file(R"(
policy = "deadline"
[[job]]
fill = "a.so:size=3"
name = "tune"
memory = "16MiB"
priority = -2
weight = 2.5
deadline = "90s"
units = 40
[[job]]
fill = "/abs/b.so"
weight = 3
)"),
                                        64 * MiB);
  EXPECT_EQ(plan.policy, JobPolicy::deadline);
  ASSERT_EQ(plan.jobs.size(), 2U);
  const JobPlan& tune = plan.jobs[0];
  EXPECT_EQ(tune.spec, (folder / "a.so").string() + ":size=3");
  EXPECT_EQ(tune.name, "tune");
  EXPECT_EQ(tune.memory, 16 * MiB);
  EXPECT_EQ(tune.terms.priority, -2);
  EXPECT_EQ(tune.terms.weight, 2.5);
  EXPECT_EQ(tune.terms.deadline, Duration(90s));
  EXPECT_EQ(tune.terms.units, 40U);
  EXPECT_EQ(plan.jobs[1].spec, "/abs/b.so");
  EXPECT_EQ(plan.jobs[1].memory, 48 * MiB) << "what is left";
  EXPECT_EQ(plan.jobs[1].terms.weight, 3);
  EXPECT_EQ(plan.jobs[1].terms.units, 0U);
}

TEST_F(FillPlanTest, VariantsAreAppendedToTheArguments) {
  const auto spec = [&](const std::string& fill, std::size_t variant) {
    const std::string job = "[[job]]\nfill = \"" + fill + "\"\nvariants = [\"batch=32\", \"batch=8\"]";
    const JobPlan plan = parse_fill_plan(file(job), 64 * MiB).jobs.at(0);
    EXPECT_EQ(plan.variants.size(), 2U);
    return plan.spec_of(variant);
  };
  EXPECT_EQ(spec("/a.so", 0), "/a.so:batch=32");
  EXPECT_EQ(spec("/a.so:", 1), "/a.so:batch=8");
  EXPECT_EQ(spec("/a.so:steps=4", 1), "/a.so:steps=4,batch=8");
  EXPECT_EQ(parse_fill_plan("/a.so:steps=4", 64 * MiB).jobs[0].spec_of(0), "/a.so:steps=4") << "none";
}

TEST_F(FillPlanTest, AFileMayNameTheJobsThatComeWithWeft) {
  fs::create_directories(folder / "own");
  std::ofstream(folder / "own/fill_matmul.so") << "";
  const std::string one = file("[[job]]\nfill = \"matmul:size=3\"\n[[job]]\nfill = \"other\"");
  const FillPlan plan = parse_fill_plan(one, 64 * MiB, (folder / "own").string());
  EXPECT_EQ(plan.jobs[0].spec, (folder / "own/fill_matmul.so").string() + ":size=3");
  EXPECT_EQ(plan.jobs[1].spec, (folder / "other").string());
  std::ofstream(folder / "matmul") << "";
  EXPECT_EQ(parse_fill_plan(one, 64 * MiB, (folder / "own").string()).jobs[0].spec,
            (folder / "matmul").string() + ":size=3")
      << "a file of that name goes first";
}

TEST_F(FillPlanTest, FilesOfTheOnlyJobAreThoseOfTheOptions) {
  const JobFiles files{"in.npy", "/abs/../out.npy", ""};
  const FillPlan plan = parse_fill_plan("a.so:size=3", 64 * MiB, "", files);
  EXPECT_EQ(plan.jobs[0].files.input, (fs::current_path() / "in.npy").string());
  EXPECT_EQ(plan.jobs[0].files.results, "/out.npy");
  EXPECT_EQ(plan.jobs[0].files.weights, "");
  EXPECT_TRUE(plan.jobs[0].files.are_any());
  EXPECT_EQ(plan.jobs[0].arguments, "size=3");
  EXPECT_TRUE(fault_of("a.so;b.so", 64 * MiB, files).ends_with("WEFT_FILL names 2: use a job file (WEFT_FILL=@FILE)"));
  EXPECT_TRUE(fault_of(file("[[job]]\nfill = \"a.so\""), 64 * MiB, files)
                  .ends_with("have their own: `input`, `results`, `weights`"));
  EXPECT_TRUE(
      fault_of("a.so", 64 * MiB, {std::string(5000, 'x'), "", ""}).starts_with("a path of a fill job is too long"));
}

TEST_F(FillPlanTest, FilesInAFileAreThoseOfItsFolder) {
  const FillPlan plan = parse_fill_plan(file(R"(
[[job]]
fill = "a.so:size=3"
input = "in.npy"
results = "/elsewhere/out.npy"
weights = "sub/../w.safetensors"
variants = ["batch=8"]
[[job]]
fill = "b.so"
)"),
                                        64 * MiB);
  EXPECT_EQ(plan.jobs[0].files.input, (folder / "in.npy").string());
  EXPECT_EQ(plan.jobs[0].files.results, "/elsewhere/out.npy");
  EXPECT_EQ(plan.jobs[0].files.weights, (folder / "w.safetensors").string());
  EXPECT_EQ(plan.jobs[0].arguments, "size=3") << "whatever the variant";
  EXPECT_FALSE(plan.jobs[1].files.are_any());
  EXPECT_TRUE(fault_of(file("[[job]]\nfill = \"a\"\nresults = \"r\"\n[[job]]\nfill = \"b\"\nresults = \"./r\""))
                  .starts_with("two fill jobs have the same `results`: "));
  const std::string folders = "[[job]]\nfill = \"a\"\nresults = \"r/\"\n[[job]]\nfill = \"b\"\nresults = \"r";
  EXPECT_TRUE(fault_of(file(folders + "\"")).starts_with("two fill jobs have the same `results`: "));
  EXPECT_EQ(parse_fill_plan(file(folders + "2/\""), 64 * MiB).jobs[1].files.results, (folder / "r2/").string());
}

TEST_F(FillPlanTest, WhatIsWrongIsSaid) {
  EXPECT_EQ(fault_of("a.so;;b.so"), "WEFT_FILL=a.so;;b.so: a job has no path");
  EXPECT_EQ(fault_of("a;b;c;d;e;f;g;h;i"), "WEFT_FILL names 9 jobs; at most 8 are possible");
  EXPECT_EQ(fault_of("@" + (folder / "none.toml").string()),
            "WEFT_FILL=@" + (folder / "none.toml").string() + ": no such file");
  EXPECT_EQ(fault_of("@" + folder.string()), "WEFT_FILL=@" + folder.string() + " is not a regular file");
  EXPECT_TRUE(fault_of(file(std::string(20'000, '#'))).ends_with("jobs.toml has more than 16384 bytes"));
  const auto fault = [&](const std::string& text) {
    const std::string said = fault_of(file(text)), begin = "WEFT_FILL=@" + (folder / "jobs.toml").string() + ":";
    EXPECT_TRUE(said.starts_with(begin)) << said;
    return said.substr(std::min(said.size(), begin.size()));
  };
  EXPECT_TRUE(fault("policy = \"fair\"\n[[job]\n").starts_with("2: ")) << "the line of the mistake";
  EXPECT_EQ(fault("policy = \"fair\""), " it has no [[job]]");
  EXPECT_EQ(fault("job = [3]"), " job 0 is no table: [[job]] begins one");
  EXPECT_EQ(fault("colour = 3"), " 'colour' is no key of it");
  EXPECT_EQ(fault("policy = \"best\"\n[[job]]\nfill = \"a\""),
            " 'policy' has to be throughput, priority, fair, deadline or shortest");
  const auto of_job = [&](const std::string& line) { return fault("[[job]]\nfill = \"a\"\n" + line); };
  EXPECT_EQ(fault("[[job]]\nname = \"a\""), " job 0: 'fill' has to be the path of a fill job");
  EXPECT_EQ(of_job("colour = 3"), " job 0: 'colour' is no key of it");
  EXPECT_EQ(of_job("name = 3"), " job 0: 'name' has to be a text");
  EXPECT_EQ(of_job("memory = 3"), " job 0: 'memory' has to be a text");
  EXPECT_EQ(of_job("memory = \"much\""), " job 0: 'memory' has to be a number of bytes, as \"64MiB\"");
  EXPECT_EQ(of_job("priority = \"high\""), " job 0: 'priority' has to be a whole number");
  EXPECT_EQ(of_job("priority = 9999999"), " job 0: 'priority' has to be at most 1000000");
  EXPECT_EQ(of_job("weight = 0"), " job 0: 'weight' has to be more than 0");
  EXPECT_EQ(of_job("weight = nan"), " job 0: 'weight' has to be more than 0");
  EXPECT_EQ(of_job("deadline = \"soon\""), " job 0: 'deadline' has to be a duration, as \"3600s\"");
  EXPECT_EQ(of_job("units = 0"), " job 0: 'units' has to be at least 1");
  EXPECT_EQ(of_job("variants = []"), " job 0: 'variants' has to be a list of texts, at least one");
  EXPECT_EQ(of_job("variants = \"batch=8\""), " job 0: 'variants' has to be a list of texts, at least one");
  EXPECT_EQ(of_job("variants = [\"batch=8\", 3]"), " job 0: 'variants' has to be a list of texts, at least one");
  EXPECT_EQ(of_job(R"(variants = ["1", "2", "3", "4", "5", "6", "7", "8", "9"])"),
            " job 0: 'variants' has to be at most 8 texts");
  EXPECT_EQ(of_job("variants = [\"\"]"), " job 0: 'variants' has to be a list of texts of 1 to 63 bytes");
  EXPECT_EQ(of_job("variants = [\"" + std::string(64, 'a') + "\"]"),
            " job 0: 'variants' has to be a list of texts of 1 to 63 bytes");
  EXPECT_EQ(of_job(R"(variants = ["8", "4", "8"])"),
            " job 0: 'variants' has to be a list without the same text twice: '8'");
  EXPECT_EQ(
      of_job("arrives = \"30s\""),
      " job 0: 'arrives' has to be left out: a training has its jobs from the begin; weft simulate takes jobs that "
      "arrive");
}

TEST_F(FillPlanTest, AJobThatNeverFitsIsRefusedAndOneThatMayFitLaterIsNot) {
  EXPECT_EQ(fault_of(file("[[job]]\nfill = \"/a\"\nmemory = \"65MiB\"")),
            "fill job /a wants more than the 64 MiB of WEFT_MEMORY");
  EXPECT_EQ(fault_of(file("[[job]]\nfill = \"/a\"\nmemory = \"64MiB\"\n[[job]]\nfill = \"/b\"")),
            "the fill jobs leave nothing of the 64 MiB of WEFT_MEMORY to those that do not say how much they want");
  const FillPlan plan =
      parse_fill_plan(file("[[job]]\nfill = \"/a\"\nmemory = \"48MiB\"\n[[job]]\nfill = \"/b\"\nmemory = "
                           "\"32MiB\"\n[[job]]\nfill = \"/c\""),
                      64 * MiB);
  EXPECT_EQ(plan.jobs[1].memory, 32 * MiB);
  EXPECT_EQ(plan.jobs[2].memory, 16 * MiB) << "beside the first; the second one waits";
}

}  // namespace
}  // namespace weft
