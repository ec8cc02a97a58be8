// The start line and the end lines.
#include "runner/core/report.h"

#include <gtest/gtest.h>

namespace weft {
namespace {

using namespace std::chrono_literals;
using Lines = std::vector<std::string>;

TraceHeader filling_header() {
  TraceHeader header;
  header.ranks = 4;
  header.mode = "fill";
  header.fill_job = "matmul";
  return header;
}

TraceSummary filling_summary() {
  TraceSummary summary;
  summary.window_begin = TimePoint(5s);
  summary.window_end = TimePoint(9s);
  summary.iterations = 40;
  summary.iteration_median = 99500us;
  summary.bubbles = 480;
  summary.idle = 1s;
  summary.filled = 700ms;
  summary.slices = 2000;
  summary.fill_units = 31;
  return summary;
}

TEST(StartLine, SaysWhatIsDoneAndWhereTheTracesGo) {
  EXPECT_EQ(start_line(filling_header(), "weft-12"), "0.1.0, filling bubbles with matmul, 4 ranks; traces in weft-12/");
  TraceHeader header;
  header.ranks = 1;
  header.mode = "observe";
  EXPECT_EQ(start_line(header, "out/"), "0.1.0, observing bubbles, 1 rank; traces in out/");
}

TEST(Lines, NameTheQueueThatFillWorkHasForItself) {
  TraceHeader header = filling_header();
  TraceSummary summary = filling_summary();
  header.fill_stream = summary.fill_stream = "plain";
  EXPECT_EQ(start_line(header, "d"), "0.1.0, filling bubbles with matmul, 4 ranks; traces in d/");
  const std::string plain = end_lines(header, summary, "d").at(2);
  EXPECT_TRUE(plain.ends_with("0 of them wrong")) << plain;
  for (const auto& [stream, words] : {std::pair{"green_context", ", in a hardware queue of its own (a green context)"},
                                      std::pair{"above", ", in a hardware queue of its own (a higher priority)"}}) {
    header.fill_stream = summary.fill_stream = stream;
    EXPECT_EQ(start_line(header, "d"),
              std::string("0.1.0, filling bubbles with matmul") + words + ", 4 ranks; traces in d/");
    EXPECT_EQ(end_lines(header, summary, "d").at(2), plain + words);
  }
}

TEST(Lines, SayWhatConfinesLargeKernels) {
  TraceHeader header = filling_header();
  TraceSummary summary = filling_summary();
  header.fill_confinement = summary.fill_confinement = "job";
  EXPECT_EQ(start_line(header, "d"), "0.1.0, filling bubbles with matmul, 4 ranks; traces in d/");
  for (const auto& [confinement, words] : {std::pair{"green", ", confined by a green context"},
                                           std::pair{"none", ", in kernels of any size that nothing confines"}}) {
    header.fill_confinement = summary.fill_confinement = confinement;
    EXPECT_EQ(start_line(header, "d"),
              std::string("0.1.0, filling bubbles with matmul") + words + ", 4 ranks; traces in d/");
    EXPECT_TRUE(end_lines(header, summary, "d").at(2).ends_with(words));
  }
}

TEST(Lines, SayThatIdleTimeIsUnknown) {
  TraceHeader header;
  header.ranks = 4;
  header.mode = "observe";
  header.idle_unknown = "one hardware queue (CUDA_DEVICE_MAX_CONNECTIONS=1)";
  EXPECT_EQ(
      start_line(header, "d"),
      "0.1.0, one hardware queue (CUDA_DEVICE_MAX_CONNECTIONS=1): bubbles are not measured, idle time is unknown, "
      "4 ranks; traces in d/");
  TraceSummary summary;
  summary.iterations = 40;
  summary.iteration_median = 99500us;
  EXPECT_EQ(end_lines(header, summary, "d"),
            (Lines{"rank 0: 40 iterations, median 99.50 ms",
                   "rank 0: idle time unknown: one hardware queue (CUDA_DEVICE_MAX_CONNECTIONS=1)",
                   "rank 0: 0 records dropped", "traces of all ranks in d/   next: weft summary d"}));
  EXPECT_EQ(end_lines(header, {}, "d").at(0), "rank 0: no repeating iteration was found");
}

TEST(Lines, NameTheCauseForWhichTimeMayBeUncertain) {
  TraceHeader header;
  header.ranks = 4;
  header.mode = "observe";
  header.caution = "one hardware queue (CUDA_DEVICE_MAX_CONNECTIONS=1): some time may be uncertain";
  EXPECT_EQ(start_line(header, "d"),
            "0.1.0, observing bubbles; one hardware queue (CUDA_DEVICE_MAX_CONNECTIONS=1): some time may be uncertain, "
            "4 ranks; traces in d/");
}

TEST(Lines, NameNoTracesWhereThereAreNone) {
  EXPECT_EQ(start_line(filling_header(), ""), "0.1.0, filling bubbles with matmul, 4 ranks; no trace");
  EXPECT_EQ(start_line(filling_header(), "d", "d"),
            "0.1.0, filling bubbles with matmul, 4 ranks; traces in d/, recordings in d/");
  EXPECT_EQ(end_lines(filling_header(), filling_summary(), "").back(), "rank 0: it left no trace");
}

TEST(EndLines, Filled) {
  EXPECT_EQ(
      end_lines(filling_header(), filling_summary(), "weft-12"),
      (Lines{
          "rank 0: 40 iterations, median 99.50 ms", "rank 0: idle in 480 bubbles for 25.0 % of 4.00 s",
          "rank 0: fill used 70.0 % of the idle time (17.5 points of all time) for 31 units of matmul, 0 of them wrong",
          "rank 0: 0 records dropped", "traces of all ranks in weft-12/   next: weft summary weft-12"}));
}

TEST(EndLines, StartupStandsBesideTheSteadyState) {
  TraceSummary summary = filling_summary();
  summary.startup = StartupRecord{.length = 2s, .idle = 600ms, .uncertain = 500ms, .filled = 100ms};
  summary.uncertain = 540ms;
  summary.uncertain_reason = "a test";
  Lines lines = end_lines(filling_header(), summary, "d");
  EXPECT_EQ(lines.at(1),
            "rank 0: idle in 480 bubbles for 20.0 % of 2.00 s, and for 30.0 % of 2.00 s of start-up before; uncertain "
            "for 2.0 %, and for 25.0 % of start-up: a test");
  EXPECT_EQ(
      lines.at(2),
      "rank 0: fill used 150.0 % of the idle time (30.0 points of all time) after start-up and 16.7 % before for 31 "
      "units of matmul, 0 of them wrong");
  summary.startup->filled = {};
  EXPECT_EQ(
      end_lines(filling_header(), summary, "d").at(2),
      "rank 0: fill used 175.0 % of the idle time (35.0 points of all time) after start-up for 31 units of matmul, 0 "
      "of them wrong");
  // Without an iteration there is nothing else.
  summary.iterations = 0;
  summary.startup = StartupRecord{.length = 4s, .idle = 1s, .uncertain = 540ms, .filled = 700ms};
  lines = end_lines(filling_header(), summary, "d");
  EXPECT_EQ(lines.at(1),
            "rank 0: idle in 480 bubbles for 25.0 % of 4.00 s, all of it start-up; uncertain for 13.5 %: a test");
}

TEST(EndLines, TellWhatFillingCost) {
  TraceSummary summary = filling_summary();
  summary.slowdown = SlowdownRecord{};
  EXPECT_EQ(end_lines(filling_header(), summary, "d").at(3),
            "rank 0: slowdown not known, too few iterations without fill to compare with");
  summary.slowdown = {0.0012, -0.0021, 0.0045, 6, 30, 0.01, 1, 40};
  EXPECT_EQ(
      end_lines(filling_header(), summary, "d").at(3),
      "rank 0: slowdown +0.12 % (95 % interval -0.21 to +0.45 %, 30 iterations with fill against 6 without; budget "
      "1 %)");
  summary.slowdown->share = 0.125;
  EXPECT_TRUE(end_lines(filling_header(), summary, "d")
                  .at(3)
                  .ends_with("budget 1 %); at last 12.5 % of the bubbles might be filled, the longest ones"));
  summary.slowdown = {-0.0112, -0.0121, -0.0045, 6, 30, 0.01, 1, 40};
  EXPECT_TRUE(end_lines(filling_header(), summary, "d")
                  .at(3)
                  .ends_with("budget 1 %), which is not the doing of fill work: its price is not known"));
}

TEST(EndLines, TellWhyNothingWasFilled) {
  TraceSummary summary = filling_summary();
  summary.slices = summary.fill_units = 0;
  summary.unfilled = {20, 0, 450, 10, 0, 0};
  EXPECT_EQ(end_lines(filling_header(), summary, "d").at(3),
            "rank 0: nothing was filled in 480 bubbles, in 450 of them because they were expected to end so soon "
            "that a slice would have delayed the training too much");
  summary.fill_units = 1;
  EXPECT_EQ(end_lines(filling_header(), summary, "d").at(3), "rank 0: 0 records dropped");
}

TEST(EndLines, Observed) {
  TraceHeader header = filling_header();
  header.mode = "observe";
  TraceSummary summary = filling_summary();
  summary.slices = 0;
  EXPECT_EQ(end_lines(header, summary, "weft-12").size(), 4u);
}

TEST(EndLines, EverythingThatCanBeSaidStaysWithinTwelveLines) {
  TraceSummary summary = filling_summary();
  summary.filling_stopped = true;
  summary.reason = std::string(300, 'x');
  summary.dropped_records = 3;
  const Lines lines = end_lines(filling_header(), summary, "weft-12");
  EXPECT_LE(lines.size(), 12u);
  EXPECT_EQ(lines.at(3), "rank 0: filling was stopped: " + std::string(251, 'x') + " ...");
  EXPECT_EQ(lines.at(4), "rank 0: 3 records dropped");
}

TEST(EndLines, NothingHappened) {
  TraceHeader header;
  header.mode = "observe";
  EXPECT_EQ(end_lines(header, {}, "d").at(1), "rank 0: idle in 0 bubbles for 0.0 % of 0.0 us");
}

TEST(EndLines, ForecastsWithoutAnIteration) {
  TraceSummary summary = filling_summary();
  summary.iterations = 0;
  summary.forecasts = true;
  EXPECT_EQ(end_lines(filling_header(), summary, "out").front(),
            "rank 0: bubbles were forecast, but what repeats was not long enough the same to count as an iteration");
}

TEST(EndLines, TheNextCommandCanBePasted) {
  EXPECT_TRUE(end_lines(filling_header(), {}, "a b/rank*/*").back().ends_with("next: weft summary 'a b/rank'*/*"));
  EXPECT_TRUE(end_lines(filling_header(), {}, "it's here").back().ends_with("next: weft summary 'it'\\''s here'"));
}

}  // namespace
}  // namespace weft
