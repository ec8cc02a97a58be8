// weft export --kineto: the fields without which HTA loses ranks, kernels or bubbles, and time that adds up.
#include "trace/export/kineto.h"

#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "tests/trace/export/written_run.h"
#include "trace/export/idle_times.h"

namespace weft {
namespace {

using nlohmann::json;
using test::WrittenRun;

TimePoint at(long time) {
  return TimePoint{Duration{time}};
}

struct Cut {
  explicit Cut(const std::vector<TimeWindow>& measured, std::size_t most_waiting = 1024)
      : times(
            measured, [this](const TimePart& part) { parts.push_back(part); }, most_waiting) {}
  void add(PartKind kind, long begin, long end) { times.add({kind, at(begin), at(end), {}}); }
  // "busy 0-10, bubble 10-20"
  std::string text() {
    times.finish();
    std::string all;
    for (const TimePart& part : parts) {
      constexpr std::array names{"busy", "bubble", "uncertain", "dark", "between"};
      all += (all.empty() ? "" : ", ") + std::string(names[static_cast<std::size_t>(part.kind)]) + " " +
             std::to_string(part.begin.time_since_epoch().count()) + "-" +
             std::to_string(part.end.time_since_epoch().count());
    }
    return all;
  }
  std::vector<TimePart> parts;
  IdleTimes times;
};

TEST(IdleTimes, TheRestIsBusy) {
  Cut cut({{at(0), at(100)}});
  cut.add(PartKind::bubble, 10, 20);
  cut.add(PartKind::dark, 20, 30);
  cut.add(PartKind::bubble, 50, 100);
  EXPECT_EQ(cut.text(), "busy 0-10, bubble 10-20, dark 20-30, busy 30-50, bubble 50-100");
}

TEST(IdleTimes, PutsLateOnesIntoTheirOrder) {
  Cut cut({{at(0), at(100)}});
  cut.add(PartKind::bubble, 60, 70);
  cut.add(PartKind::uncertain, 10, 20);
  EXPECT_EQ(cut.text(), "busy 0-10, uncertain 10-20, busy 20-60, bubble 60-70, busy 70-100");
  EXPECT_EQ(cut.times.lost(), Duration{0});
}

TEST(IdleTimes, KeepsToTheMeasuredTime) {
  Cut cut({{at(10), at(20)}, {at(40), at(50)}});
  cut.add(PartKind::bubble, 0, 12);
  cut.add(PartKind::bubble, 18, 45);
  cut.add(PartKind::bubble, 60, 70);
  EXPECT_EQ(cut.text(), "bubble 10-12, busy 12-18, bubble 18-20, between 20-40, bubble 40-45, busy 45-50");
  EXPECT_EQ(cut.times.lost(), Duration{0});
}

TEST(IdleTimes, NoTimeCountsTwiceAndThatIsSaid) {
  Cut cut({{at(0), at(100)}}, 1);
  cut.add(PartKind::bubble, 10, 50);
  cut.add(PartKind::uncertain, 40, 60);
  cut.add(PartKind::bubble, 70, 80);
  cut.add(PartKind::bubble, 20, 30);
  EXPECT_EQ(cut.text(), "busy 0-10, bubble 10-50, uncertain 50-60, busy 60-70, bubble 70-80, busy 80-100");
  EXPECT_EQ(cut.times.lost(), Duration{20});
}

struct Exported {
  explicit Exported(const WrittenRun& written, ExportWanted wanted = {}) {
    wanted.directories = {written.traces.path()};
    const ExportedRun run = find_exported_run(wanted, nullptr);
    OutputFolder folder(written.output / "kineto");
    counts = export_kineto(run, plain_names(run), folder, nullptr);
    for (const auto& entry : std::filesystem::directory_iterator(written.output / "kineto")) {
      text[entry.path().filename()] = test::read_file(entry.path());
      files[entry.path().filename()] = json::parse(text[entry.path().filename()]);
    }
  }
  std::vector<json> rows(const std::string& file, const std::string& category) const {
    std::vector<json> found;
    for (const json& row : files.at(file)["traceEvents"])
      if (row.value("cat", "") == category) found.push_back(row);
    return found;
  }
  std::vector<json> kernels(const std::string& file, std::int64_t stream) const {
    std::vector<json> found;
    for (const json& row : rows(file, "kernel"))
      if (row["args"]["stream"] == stream) found.push_back(row);
    return found;
  }
  KinetoCounts counts;
  std::map<std::string, std::string> text;
  std::map<std::string, json> files;
};

double end_of(const json& row) {
  return row["ts"].get<double>() + row["dur"].get<double>();
}

// HTA takes the first "rank": with a blank behind it, in one line.
TEST(Kineto, TheRankStandsBeforeAllRows) {
  const WrittenRun written;
  const Exported exported(written);
  ASSERT_EQ(exported.text.size(), 2u);
  for (const auto& [name, text] : exported.text) {
    const std::size_t found = text.find("\"rank\": " + name.substr(4, 1));
    ASSERT_NE(found, std::string::npos);
    EXPECT_LT(found, text.find("traceEvents"));
    EXPECT_EQ(text.find("\"rank\""), found);
  }
  EXPECT_EQ(exported.files.at("rank1.json")["distributedInfo"]["world_size"], 2);
}

TEST(Kineto, ComputationIsTheTimeOutsideOfBubbles) {
  const WrittenRun written;
  const Exported exported(written);
  const std::vector<json> busy = exported.kernels("rank1.json", 1);
  ASSERT_EQ(busy.size(), 2u);
  EXPECT_EQ(busy[0]["name"], "outside of bubbles");
  EXPECT_DOUBLE_EQ(busy[0]["ts"].get<double>(), 0);
  EXPECT_DOUBLE_EQ(end_of(busy[0]), 60) << "the bubble is from 60 to 460 us";
  EXPECT_DOUBLE_EQ(busy[1]["ts"].get<double>(), 460);
  EXPECT_DOUBLE_EQ(end_of(busy[1]), 1000);
}

TEST(Kineto, EachKernelHasALaunchOfItsOwn) {
  const WrittenRun written;
  const Exported exported(written);
  for (const auto& [file, ignored] : exported.files) {
    std::set<std::uint64_t> launched, run;
    for (const json& row : exported.rows(file, "cuda_runtime")) {
      EXPECT_EQ(row["name"], "cudaLaunchKernel");
      EXPECT_FALSE(row["args"].contains("stream"));
      EXPECT_TRUE(launched.insert(row["args"]["correlation"].get<std::uint64_t>()).second);
    }
    for (const json& row : exported.rows(file, "kernel")) {
      EXPECT_GE(row["args"]["stream"].get<int>(), 1);
      run.insert(row["args"]["correlation"].get<std::uint64_t>());
    }
    EXPECT_EQ(launched, run);
    EXPECT_GE(*launched.begin(), 1U << 24);
  }
}

std::map<std::uint64_t, double> launches_of(const Exported& exported, const std::string& file) {
  std::map<std::uint64_t, double> launches;
  for (const json& row : exported.rows(file, "cuda_runtime")) launches[row["args"]["correlation"]] = row["ts"];
  return launches;
}

TEST(Kineto, OnlyAHostThatWaitsLaunchesLate) {
  WrittenRun written;
  written.write(1, test::header_line(1, 2) + test::bubble_line(1, 1100, 1200) +
                       test::bubble_line(2, 1300, 1400, "receive", "host_wait") + test::summary_line(1000, 2000));
  const Exported exported(written);
  std::map<std::uint64_t, double> launches = launches_of(exported, "rank1.json");
  const std::vector<json> busy = exported.kernels("rank1.json", 1);
  ASSERT_EQ(busy.size(), 3u);
  const auto launch = [&](const json& row) { return launches.at(row["args"]["correlation"]); };
  EXPECT_LT(std::ceil(launch(busy[1])), std::floor(end_of(busy[0]))) << "also for who rounds to microseconds";
  EXPECT_GT(launch(busy[2]), end_of(busy[1]));
}

TEST(Kineto, GroupsAreNcclKernelsWithTheirPeers) {
  const WrittenRun written;
  const Exported exported(written);
  const std::vector<json> groups = exported.kernels("rank0.json", 2);
  ASSERT_EQ(groups.size(), 1u);
  EXPECT_EQ(groups[0]["name"], "ncclDevKernel_SendRecv");
  EXPECT_DOUBLE_EQ(groups[0]["ts"].get<double>(), 100);
  EXPECT_DOUBLE_EQ(groups[0]["dur"].get<double>(), 400);
  EXPECT_EQ(groups[0]["args"]["Collective name"], "send");
  EXPECT_EQ(groups[0]["args"]["Src Rank"], 0);
  EXPECT_EQ(groups[0]["args"]["Dst Rank"], 1);
  EXPECT_EQ(groups[0]["args"]["Group size"], 2);
  EXPECT_EQ(groups[0]["args"]["Process Group Description"], "pipeline");
}

TEST(Kineto, BubblesStandForGroupsThatAreNotRecorded) {
  WrittenRun written;
  written.write(
      1, test::header_line(1, 2) + test::bubble_line(1, 1100, 1200, "collective") + test::summary_line(1000, 2000));
  const std::vector<json> groups = Exported(written).kernels("rank1.json", 2);
  ASSERT_EQ(groups.size(), 1u);
  EXPECT_EQ(groups[0]["name"], "ncclDevKernel_Collective");
  EXPECT_EQ(groups[0]["args"]["Collective name"], "collective");
  EXPECT_DOUBLE_EQ(groups[0]["dur"].get<double>(), 100);
}

TEST(Kineto, FillWorkHasNoStream) {
  const WrittenRun written;
  const std::vector<json> fill = Exported(written).rows("rank1.json", "gpu_user_annotation");
  ASSERT_EQ(fill.size(), 2u);
  EXPECT_FALSE(fill[0]["args"].contains("stream"));
}

std::string notes_of(const Exported& exported) {
  std::string all;
  for (const std::string& note : exported.counts.notes) all += note + "\n";
  return all;
}

// "name begin-end, ..." in microseconds.
std::string text_of(const std::vector<json>& rows) {
  std::string all;
  for (const json& row : rows) {
    const auto rounded = [](double time) { return std::to_string(std::lround(time)); };
    all += (all.empty() ? "" : ", ") + row["name"].get<std::string>() + " " + rounded(row["ts"].get<double>()) + "-" +
           rounded(end_of(row));
  }
  return all;
}

TEST(Kineto, EndsWhereTheLimitWasReached) {
  WrittenRun written;
  written.write(1, test::header_line(1, 2) + test::bubble_line(1, 1100, 1200) + test::limit_line(1500) +
                       test::summary_line(1000, 9000));
  const Exported exported(written);
  EXPECT_EQ(text_of(exported.kernels("rank1.json", 1)), "outside of bubbles 0-100, outside of bubbles 200-200")
      << "behind the last record nothing is known";
  EXPECT_NE(notes_of(exported).find("rank 1: the rows end where WEFT_TRACE_LIMIT was reached"), std::string::npos);
}

TEST(Kineto, ARankWithoutMeasuredTimeHasNoFile) {
  WrittenRun written;
  written.write(1, test::header_line(1, 2) + test::limit_line(1000) + test::summary_line(1000, 9000));
  const Exported exported(written);
  EXPECT_EQ(exported.files.size(), 1u);
  EXPECT_NE(notes_of(exported).find("rank 1: no measured time in this part of the run; no file"), std::string::npos);
}

TEST(Kineto, LostRecordsAreSaid) {
  WrittenRun written;
  written.write(1, test::header_line(1, 2) + "rubbish\n" + test::summary_line(1000, 2000));
  EXPECT_NE(notes_of(Exported(written)).find("rank 1: records are missing or left out"), std::string::npos);
}

// Groups end at half of the limit, the other records go on.
TEST(Kineto, BubblesStandForGroupsFromWhereTheseEnd) {
  WrittenRun written;
  written.write(1, test::header_line(1, 2) + test::communicator_line(1) +
                       test::group_line(1, "receive", 0, 1, 1050, 1450) + test::bubble_line(1, 1060, 1460) +
                       test::bubble_line(2, 1600, 1700) + test::summary_line(1000, 2000));
  EXPECT_EQ(text_of(Exported(written).kernels("rank1.json", 2)),
            "ncclDevKernel_SendRecv 50-450, ncclDevKernel_SendRecv 600-700");
}

TEST(Kineto, ABubbleAtTheBorderIsSeenWithoutGroups) {
  WrittenRun written;
  std::string bubble = test::bubble_line(1, 1000, 1300) + test::bubble_line(2, 1800, 2000);
  for (std::size_t at = 0; (at = bubble.find("\"group\": 1", at)) != std::string::npos;) bubble[at + 9] = '0';
  written.write(1, test::header_line(1, 2) + bubble + test::summary_line(1000, 2000));
  const std::vector<json> rows = Exported(written).kernels("rank1.json", 1);
  EXPECT_EQ(text_of(rows), "outside of bubbles 0-0, outside of bubbles 300-800, outside of bubbles 1000-1000");
  EXPECT_EQ(rows.front()["dur"].get<double>(), 0.001);
}

// A process that closed its communicators and opened others.
TEST(Kineto, TimeBetweenSegmentsIsNotIdle) {
  WrittenRun written;
  std::string second = test::header_line(1, 2);
  second.replace(second.find("1000000"), 7, "5000000");
  written.write(1, test::header_line(1, 2) + test::iteration_line(1, 1000, 2000, 0) + test::summary_line(1000, 2000) +
                       second + test::bubble_line(1, 5100, 5200) + test::iteration_line(1, 5000, 6000, 100) +
                       test::summary_line(5000, 6000));
  const Exported exported(written);
  EXPECT_EQ(text_of(exported.kernels("rank1.json", 1)),
            "outside of bubbles 0-1000, not measured, or not exported 1000-4000, outside of bubbles 4000-4100, outside "
            "of bubbles 4200-5000");
  EXPECT_NE(notes_of(exported).find("rank 1: several parts are measured"), std::string::npos);
}

TEST(Kineto, MovesHaveRowsWithoutStreamAndOverlapsThreadsOfTheirOwn) {
  WrittenRun written;
  written.write(1, test::header_line(1, 2) + test::slice_line(1, 1100, 1300) + test::slice_line(2, 1200, 1400) +
                       test::move_line(1500, 1600) + test::summary_line(1000, 2000));
  const std::vector<json> rows = Exported(written).rows("rank1.json", "gpu_user_annotation");
  ASSERT_EQ(rows.size(), 3u);
  EXPECT_NE(rows[0]["tid"], rows[1]["tid"]);
  EXPECT_EQ(rows[2]["name"], "fill memory to the host");
  EXPECT_FALSE(rows[2]["args"].contains("stream"));
}

// HTA leaves out what was launched in the last step.
TEST(Kineto, AnEmptyStepStandsBehindTheLastOne) {
  WrittenRun written;
  std::string lines = test::header_line(0, 2);
  for (int k = 1; k <= 5; ++k) lines += test::iteration_line(k, 1000 * k, 1000 * k + 1000, 0);
  written.write(0, lines + test::summary_line(1000, 6000));
  const Exported exported(written, {{}, {{0, 0}}, NumberRange{2, 3}});
  const std::vector<json> steps = exported.rows("rank0.json", "user_annotation");
  ASSERT_EQ(steps.size(), 3u);
  EXPECT_EQ(steps[0]["name"], "ProfilerStep#2");
  EXPECT_EQ(steps[1]["name"], "ProfilerStep#3");
  EXPECT_EQ(steps[2]["name"], "ProfilerStep#4");
  EXPECT_EQ(steps[2]["dur"].get<double>(), 0);
  for (const auto& [correlation, launch] : launches_of(exported, "rank0.json"))
    EXPECT_LT(launch, steps[2]["ts"].get<double>());
  const std::vector<json> busy = exported.kernels("rank0.json", 1);
  ASSERT_EQ(busy.size(), 1u) << "from the begin of iteration 2 to the end of iteration 3";
  EXPECT_DOUBLE_EQ(busy[0]["dur"].get<double>(), 2000);
}

TEST(Kineto, LeavesOutRanksWhoseBubblesWereNotMeasured) {
  WrittenRun written;
  written.write(0,
                test::header_line(0, 2, R"(, "idle_unknown": "every launch waits")") + test::summary_line(1000, 2000));
  const Exported exported(written);
  EXPECT_EQ(exported.files.size(), 1u);
  ASSERT_FALSE(exported.counts.notes.empty());
  EXPECT_EQ(exported.counts.notes[0], "rank 0: bubbles were not measured; no file");
}

TEST(Kineto, TextsOfTheTraceCannotBreakTheFile) {
  WrittenRun written;
  std::string header = test::header_line(0, 2);
  header.replace(header.find("node-a"), 6, R"(a\"}],\u0001)");
  written.write(0, header + test::summary_line(1000, 2000));
  EXPECT_EQ(Exported(written).files.at("rank0.json")["hostName"], "a\"}],\x01");
}

}  // namespace
}  // namespace weft
