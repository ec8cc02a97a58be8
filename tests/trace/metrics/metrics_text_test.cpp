// The numbers of a rank and their text: golden files, what is not known, counters that never go down.
#include "trace/metrics/metrics_text.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <regex>
#include <set>
#include <string>

#include "tests/trace/export/written_run.h"
#include "trace/metrics/followed_run.h"
#include "trace/metrics/followed_trace.h"
#include "trace/read/runs.h"

namespace weft::test {
namespace {

constexpr Duration now = std::chrono::seconds(1'700'000'000);

// Of a whole trace.
std::string text_of(const std::string& path, const RankLabels& labels) {
  FollowedTrace trace(path);
  std::vector<char> buffer(1000);
  while (trace.look(buffer) == FollowedTrace::Look::more) {
  }
  return metrics_text(trace.metrics(), trace.skipped(), labels, now);
}

std::string text_of_lines(const std::string& lines) {
  const TemporaryDirectory folder;
  std::ofstream(folder / "rank0.100.jsonl", std::ios::binary) << lines;
  return text_of(folder / "rank0.100.jsonl", {"run", "0", 0, {}});
}

bool has(const std::string& text, const std::string& line) {
  return ("\n" + text).find("\n" + line + "\n") != std::string::npos;
}

// By their name with labels.
std::map<std::string, double> samples_of(const std::string& text) {
  std::map<std::string, double> samples;
  for (const std::string& line : lines_of(text))
    if (!line.starts_with("#")) samples[line.substr(0, line.rfind(' '))] = std::stod(line.substr(line.rfind(' ') + 1));
  return samples;
}

const char* const labels = R"({run="run",rank="0",gpu="0")";

TEST(MetricsText, OfTheSmallRunIsAsWritten) {
  const std::string run = WEFT_TEST_RUN, golden = WEFT_TEST_METRICS;
  EXPECT_EQ(text_of(run + "/rank0.100.jsonl", {"weft-7", "0", 0, {}}), read_file(golden + "/rank0.prom"));
  EXPECT_EQ(text_of(run + "/rank1.101.jsonl", {"weft-7", "1", 0, 1}), read_file(golden + "/rank1.prom"));
}

TEST(MetricsText, OfARunThatOnlyObservesHasNothingOfFilling) {
  std::string header = header_line(0, 1);
  header.replace(header.find("\"fill\""), 6, "\"observe\"");
  const std::string text = text_of_lines(header + bubble_line(1, 1000, 2500));
  for (const char* absent : {"filled", "slices", "fill_units", "unfilled", "filling_stopped", "slowdown", "memory"})
    EXPECT_EQ(text.find(std::string("weft_") + absent), std::string::npos) << absent;
  EXPECT_TRUE(has(text, std::string("weft_idle_seconds_total") + labels + ",cause=\"receive\"} 0.0015"));
}

TEST(MetricsText, OfASlowdownBelowZeroForSureThereIsNoSample) {
  const auto text_with = [](const std::string& high) {
    return text_of_lines(
        header_line(0, 1) + R"({"type": "slowdown", "time": 3, "device": 0, "budget": 0.01, )" +
        R"("share": 1, "iteration": 2, "control": 4, "filled": 20, "estimate": -0.02, "low": -0.03, )" + R"("high": )" +
        high + "}\n");
  };
  EXPECT_TRUE(has(text_with("0.001"), std::string("weft_slowdown_ratio") + labels + "} -0.02"));
  const std::string text = text_with("-0.01");
  EXPECT_EQ(text.find("weft_slowdown_ratio{"), std::string::npos) << text;
  EXPECT_NE(text.find("weft_slowdown_budget_ratio{"), std::string::npos);
}

TEST(MetricsText, KnowsNoLossesBeforeTheSummaryTellsThem) {
  const std::string lines = header_line(0, 1) + bubble_line(1, 1000, 2000);
  EXPECT_EQ(text_of_lines(lines).find("weft_dropped_records_total"), std::string::npos);
  EXPECT_TRUE(
      has(text_of_lines(lines + summary_line(1000, 9000)), std::string("weft_dropped_records_total") + labels + "} 0"));
}

TEST(MetricsText, SaysWhereBubblesAreNotMeasured) {
  const std::string text = text_of_lines(header_line(0, 1, R"(, "idle_unknown": "a \"reason\" \\ \n here")"));
  EXPECT_TRUE(has(text, std::string("weft_idle_unknown_info") + labels + R"(,reason="a \"reason\" \\ \\x0a here"} 1)"));
  EXPECT_EQ(text.find("weft_idle_seconds_total"), std::string::npos);
}

TEST(MetricsText, ASummaryRaisesCountersToWhatItKnows) {
  const std::string text = text_of_lines(
      header_line(0, 1) + bubble_line(1, 1000, 2000) +
      R"({"type": "summary", "rank": 0, "device": 0, "window_begin": 0, "window_end": 9000000, "iterations": 7, )"
      R"("bubbles": 3, "idle": 5000000, "filled": 2000000, "slices": 4, "fill_units": 2, "dropped_records": 6, )"
      R"("unfilled": {"no_room": 1}})"
      "\n");
  for (const char* line :
       {"weft_window_seconds_total%} 0.009", "weft_idle_seconds_total%,cause=\"receive\"} 0.001",
        "weft_idle_seconds_total%,cause=\"not_recorded\"} 0.004", "weft_bubbles_total%,cause=\"not_recorded\"} 2",
        "weft_iterations_total%} 7", "weft_fill_units_total%,result=\"not_recorded\"} 2",
        "weft_dropped_records_total%} 6", "weft_unfilled_bubbles_total%,reason=\"no_room\"} 1", "weft_ended%} 1"}) {
    const std::string wanted = std::regex_replace(std::string(line), std::regex("%"), labels);
    EXPECT_TRUE(has(text, wanted)) << wanted << "\n" << text;
  }
}

TEST(MetricsText, CountersNeverGoDownWhateverFollows) {
  const std::string segment = header_line(0, 1) + bubble_line(1, 1000, 2000) + iteration_line(1, 1000, 3000, 1000) +
                              bubble_line(4, 4000, 4500, "collective") + slice_line(1, 1100, 1300) + "no line\n" +
                              bubble_line(5, 6000, 5000) + summary_line(1000, 9000) + bubble_line(6, 9000, 9900) +
                              summary_line(2000, 3000);
  const std::vector<std::string> lines = lines_of(segment + segment + segment);
  std::string written;
  std::map<std::string, double> before;
  for (const std::string& line : lines) {
    written += line + "\n";
    const std::map<std::string, double> after = samples_of(text_of_lines(written));
    for (const auto& [name, value] : before) {
      const std::string metric = name.substr(0, name.find('{'));
      const bool counts = metric.ends_with("_total") || metric.ends_with("_bucket") || metric.ends_with("_sum") ||
                          metric.ends_with("_count");
      if (!counts) continue;
      ASSERT_TRUE(after.contains(name)) << name;
      EXPECT_GE(after.at(name), value) << name << " after " << line;
    }
    before = after;
  }
  EXPECT_EQ(before.at(std::string("weft_missing_bubbles_total") + labels + "}"), 9);
  EXPECT_EQ(before.at(std::string("weft_skipped_lines_total") + labels + ",why=\"impossible\"}"), 3);
  EXPECT_EQ(before.at(std::string("weft_skipped_lines_total") + labels + ",why=\"unreadable\"}"), 3);
}

TEST(MetricsText, HasTheStageThatTheTrainingSays) {
  const auto said = [](int stage) {
    std::string line = bubble_line(1, 1000, 2000);
    return line.insert(line.rfind('}'), ", \"stage\": " + std::to_string(stage));
  };
  const auto stage_of = [](const std::string& lines) {
    const TemporaryDirectory folder;
    std::ofstream(folder / "rank0.100.jsonl", std::ios::binary) << lines;
    FollowedRun run({folder.path()}, "run", std::nullopt, [](std::int64_t) { return true; });
    run.look([] { return false; });
    return run.ranks().at(0).labels.stage;
  };
  EXPECT_EQ(stage_of(header_line(0, 1) + bubble_line(1, 1000, 2000)), std::nullopt);
  EXPECT_EQ(stage_of(header_line(0, 1) + said(2) + said(2)), 2);
  EXPECT_EQ(stage_of(header_line(0, 1) + said(2) + said(3) + said(3)), std::nullopt) << "it says several";
}

// `weft summary` adds up the same traces.
TEST(MetricsText, AgreesWithTheSummary) {
  std::vector<std::string> notes;
  for (const FileTotals& file : newest_run({WEFT_TEST_RUN}, notes)) {
    const std::map<std::string, double> samples = samples_of(text_of(file.path, {"run", "0", 0, {}}));
    const TraceSummary& totals = file.rank.totals;
    double idle = 0, bubbles = 0, units = 0;
    for (const auto& [name, value] : samples) {
      if (name.starts_with("weft_idle_seconds_total")) idle += value;
      if (name.starts_with("weft_bubbles_total")) bubbles += value;
      if (name.starts_with("weft_fill_units_total")) units += value;
    }
    const auto seconds = [](Duration length) { return std::chrono::duration<double>(length).count(); };
    const auto sample = [&](const char* name) { return samples.at(std::string(name) + labels + "}"); };
    EXPECT_DOUBLE_EQ(idle, seconds(totals.idle));
    EXPECT_EQ(bubbles, totals.bubbles);
    EXPECT_EQ(units, totals.fill_units);
    EXPECT_DOUBLE_EQ(sample("weft_filled_seconds_total"), seconds(totals.filled));
    EXPECT_DOUBLE_EQ(sample("weft_window_seconds_total"), seconds(file.rank.window));
    EXPECT_EQ(sample("weft_iterations_total"), totals.iterations);
  }
}

// A table of docs/metrics.md has each metric with its type and text.
TEST(MetricsText, AllMetricsStandInTheDocuments) {
  std::set<std::string> rows;
  for (const std::string& line : lines_of(read_file(WEFT_METRICS_PAGE)))
    if (line.starts_with("| `weft_")) rows.insert(line);
  std::set<std::string> wanted;
  for (const MetricInfo& metric : metric_infos)
    wanted.insert(std::string("| `") + metric.name + "` | " + metric.type + " | " + metric.help + " |");
  EXPECT_EQ(rows, wanted);
  for (const MetricInfo& metric : metric_infos) {
    const std::string name = metric.name;
    EXPECT_EQ(name.ends_with("_total"), std::string(metric.type) == "counter") << name;
  }
}

}  // namespace
}  // namespace weft::test
