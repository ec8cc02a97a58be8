// weft summary on files that only have the name of a trace, on damaged traces, and on traces that cannot be true. Every
// message names file and line, and nothing reaches a terminal that could command it.
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <filesystem>
#include <random>

#include "tests/trace/temporary_directory.h"
#include "trace/read/file_totals.h"
#include "trace/read/line_reader.h"
#include "trace/read/printable.h"
#include "trace/read/sentences.h"
#include "trace/utf8.h"

namespace weft {
namespace {

using test::TemporaryDirectory;

std::string header_of(int rank, int ranks = 2) {
  return R"({"type": "header", "format": "weft-trace", "version": 1, "host": "node", "mode": "fill", "rank": )" +
         std::to_string(rank) + R"(, "ranks": )" + std::to_string(ranks) + R"(, "process": )" +
         std::to_string(100 + rank) + R"(, "started": 0, "wall_clock": 1000000000})" + "\n";
}

// Of a run of one second, a fifth of it idle, half of that filled.
std::string summary_with(const std::string& more = "") {
  return R"({"type": "summary", "window_begin": 0, "window_end": 1000000000, "iterations": 10, "bubbles": 20, )"
         R"("iteration_median": 100000000, "idle": 200000000, "filled": 100000000, "fill_units": 3, )"
         R"("startup": {"length": 90000000, "idle": 9000000, "uncertain": 0, "filled": 0})" +
         more + "}\n";
}

void write(const std::string& path, const std::string& text) {
  std::ofstream(path, std::ios::binary) << text;
}

std::string notes_of(const RunSummary& run) {
  std::string all;
  for (const std::string& note : run.notes) all += note + "\n";
  return all;
}

// A sound rank 0, and rank 1 with these lines behind its header.
struct TwoRanks {
  explicit TwoRanks(const std::string& lines) {
    write(directory / "rank0.jsonl", header_of(0) + summary_with());
    write(directory / "rank1.jsonl", header_of(1) + lines);
    run = summarize_directories({directory.path()});
  }
  TemporaryDirectory directory;
  RunSummary run;
};

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

// Ends of lines aside.
bool is_harmless(const std::string& text) {
  for (const std::string& line : test::lines_of(text))
    if (printable(line) != line) return false;
  return true;
}

std::string reason_to_refuse(const std::string& path) {
  try {
    LineReader lines(path);
  } catch (const std::runtime_error& error) {
    return error.what();
  }
  return "none";
}

TEST(LineReader, RefusesWhatIsNoRegularFileWithoutWaiting) {
  TemporaryDirectory directory;
  ASSERT_EQ(::mkfifo((directory / "fifo").c_str(), 0600), 0);
  std::filesystem::create_directory(directory / "folder");
  std::filesystem::create_symlink(directory / "loop", directory / "loop");
  std::filesystem::create_symlink("/dev/zero", directory / "zero");
  EXPECT_EQ(reason_to_refuse(directory / "fifo"), directory / "fifo is a FIFO, not a regular file");
  EXPECT_EQ(reason_to_refuse(directory / "folder"), directory / "folder is a directory, not a regular file");
  EXPECT_EQ(reason_to_refuse(directory / "zero"), directory / "zero is a device, not a regular file");
  EXPECT_EQ(reason_to_refuse(directory / "loop"), directory / "loop cannot be read: Too many levels of symbolic links");
}

TEST(LineReader, FollowsALinkToARegularFile) {
  TemporaryDirectory directory;
  write(directory / "file", "one\n");
  std::filesystem::create_symlink(directory / "file", directory / "link");
  LineReader lines(directory / "link");
  EXPECT_EQ(lines.next()->text, "one");
  EXPECT_FALSE(lines.next());
}

TEST(LineReader, KeepsTheLongestLineThatIsAllowedAndSkipsTheNext) {
  TemporaryDirectory directory;
  const std::string longest(most_line_bytes, 'a');
  write(directory / "file", longest + "\n" + longest + "b\nshort\nlast");
  LineReader lines(directory / "file");
  EXPECT_EQ(lines.next()->text, longest);
  const std::optional<FileLine> skipped = lines.next();
  EXPECT_TRUE(skipped->too_long);
  EXPECT_EQ(skipped->text, "");
  EXPECT_EQ(lines.next()->text, "short");
  const std::optional<FileLine> last = lines.next();
  EXPECT_EQ(last->number, 4u);
  EXPECT_TRUE(last->cut_off);
  EXPECT_FALSE(lines.next());
}

TEST(LineReader, EndsWhereTheFileEndedWhenItWasOpened) {
  TemporaryDirectory directory;
  write(directory / "file", "one\n");
  LineReader lines(directory / "file");
  std::ofstream(directory / "file", std::ios::app) << "two\n";
  EXPECT_EQ(lines.next()->text, "one");
  EXPECT_FALSE(lines.next());
}

TEST(LineReader, EndsAtTheNewEndOfAFileThatWasCut) {
  TemporaryDirectory directory;
  write(directory / "file", std::string(1 << 20, '\n'));
  LineReader lines(directory / "file");
  ASSERT_TRUE(lines.next());
  std::filesystem::resize_file(directory / "file", 0);
  std::uint64_t more = 0;
  while (lines.next()) ++more;
  EXPECT_LT(more, 1u << 20);
  EXPECT_EQ(lines.error(), 0);
}

TEST(Printable, EscapesWhatCommandsATerminal) {
  EXPECT_EQ(printable("plain, Grüße 東京 €"), "plain, Grüße 東京 €");
  EXPECT_EQ(printable("\x1b[31mred\x7f\n\t"), "\\x1b[31mred\\x7f\\x0a\\x09");
  EXPECT_EQ(printable("\xc2\x9b"), "\\xc2\\x9b") << "CSI as one character";
  EXPECT_EQ(printable("\xe2\x80\xae"), "\\xe2\\x80\\xae") << "from right to left";
  EXPECT_EQ(printable("\xff\xc3"), "\\xff\\xc3") << "no UTF-8";
  EXPECT_EQ(printable(std::string("a\0b", 3)), "a\\x00b");
}

TEST(DamagedTrace, IsLeftOutWithItsNameAndTheOthersAreShown) {
  TemporaryDirectory directory;
  write(directory / "rank0.jsonl", header_of(0, 1) + summary_with());
  ASSERT_EQ(::mkfifo((directory / "rank1.jsonl").c_str(), 0600), 0);
  std::filesystem::create_directory(directory / "rank2.jsonl");
  write(directory / "rank3.jsonl", R"({"type": "header", "format": "weft-trace", "version": 99})"
                                   "\n");
  write(directory / "rank4.jsonl", "");
  const RunSummary run = summarize_directories({directory.path()});
  EXPECT_EQ(run.ranks.size(), 1u);
  const std::string folder = directory.path();
  EXPECT_EQ(notes_of(run),
            folder + "/rank1.jsonl is a FIFO, not a regular file; it is left out\n" + folder +
                "/rank2.jsonl is a directory, not a regular file; it is left out\n" + folder +
                "/rank3.jsonl:1: has version 99 of the trace format; this Weft reads up to 2; it is left out\n" +
                folder + "/rank4.jsonl holds no header; it is left out\n");
}

TEST(DamagedTrace, ThatIsAloneIsTheReasonToFail) {
  TemporaryDirectory directory;
  std::filesystem::create_directory(directory / "rank0.jsonl");
  try {
    summarize_directories({directory.path()});
    FAIL() << "nothing is there to show";
  } catch (const std::runtime_error& error) {
    EXPECT_EQ(std::string(error.what()), directory / "rank0.jsonl is a directory, not a regular file");
  }
}

TEST(DamagedTrace, NamesTheLines) {
  const TwoRanks two("no json\n" + std::string(most_line_bytes + 1, 'x') + "\n[]\n" + summary_with() + "{\"type\"");
  EXPECT_FALSE(two.run.ranks.at(1).unsure) << "all of its numbers are there";
  EXPECT_EQ(two.run.lost_lines.unreadable, 3u) << "with the last one, which breaks off";
  EXPECT_EQ(two.run.lost_lines.too_long, 1u);
  EXPECT_TRUE(contains(sentences_of(two.run).back(), "3 lines are not readable, 1 line is too long;"));
  const std::string file = two.directory / "rank1.jsonl", notes = notes_of(two.run);
  EXPECT_TRUE(contains(notes, "rank 1: 2 lines not readable, the first is " + file + ":2\n")) << notes;
  EXPECT_TRUE(contains(notes, "rank 1: 1 line longer than 65536 bytes, skipped: " + file + ":3\n")) << notes;
  EXPECT_TRUE(contains(notes, "rank 1: the last line breaks off: " + file + ":6\n")) << notes;
}

TEST(RefusedFillJob, IsCountedWithItsReason) {
  const std::string refused =
      R"({"type": "job", "job": 0, "name": "matmul", "event": "refused", "why": "no \u001b room"})";
  const TwoRanks two(refused + "\n" + summary_with());
  EXPECT_EQ(two.run.ranks.at(0).refused.jobs, 0u);
  EXPECT_EQ(two.run.ranks.at(1).refused.jobs, 1u);
  EXPECT_TRUE(contains(sentences_of(two.run).at(3), "; the fill job was refused on rank 1 (no \\x1b room))"))
      << sentences_of(two.run).at(3);
}

TEST(DamagedTrace, HasNoControlCharacterInTheOutput) {
  TemporaryDirectory directory;
  const std::string hostile = R"(\u001b[2J\u009b31m\u202e\u0000\n)";
  write(directory / "rank0.\x1b[31m.jsonl",
        R"({"type": "header", "format": "weft-trace", "version": 1, "rank": 0, "ranks": 1, "host": "one)" + hostile +
            R"(", "mode": ")" + hostile + R"(", "fill_job": ")" + hostile + "\"}\n" +
            R"({"type": "bubble", "opened": 0, "closed": 100, "cause": ")" + hostile + "\"}\nnot readable\n" +
            summary_with(R"(, "filling_stopped": true, "reason": ")" + hostile +
                         R"(", "fill_units": 0, "unfilled": {")" + hostile + R"(": 3})"));
  write(directory / "rank0.2.jsonl", R"({"type": "header", "format": "weft-trace", "version": 1, "host": "two"})"
                                     "\n" +
                                         summary_with());
  const RunSummary run = summarize_directories({directory.path()});
  EXPECT_EQ(run.ranks.size(), 2u);
  EXPECT_TRUE(is_harmless(to_text(run, "\x1b[2J"))) << to_text(run, "");
  EXPECT_TRUE(is_harmless(to_json(run))) << to_json(run);
  EXPECT_TRUE(contains(to_text(run, ""), "\\x1b[2J\\xc2\\x9b31m\\xe2\\x80\\xae\\x00\\x0a"));
}

TEST(ImpossibleTrace, IsNamedAndMarkedAndNotInTheTotals) {
  const TwoRanks two(R"({"type": "bubble", "opened": 500, "closed": 100, "cause": "receive"})"
                     "\n" +
                     summary_with());
  EXPECT_TRUE(two.run.ranks.at(1).unsure);
  EXPECT_TRUE(two.run.total.unsure);
  EXPECT_EQ(two.run.total.totals.iterations, 10u);
  EXPECT_EQ(two.run.total.totals.fill_units, 3u);
  EXPECT_EQ(two.run.total.totals.idle, Duration(200000000));
  EXPECT_EQ(notes_of(two.run), "rank 1: its numbers are unsure and left out of the totals: " +
                                   (two.directory / "rank1.jsonl") + ":2: `closed` is before `opened`\n");
  EXPECT_TRUE(contains(to_text(two.run, "here"), "\n  1?         10 ")) << to_text(two.run, "here");
}

TEST(ImpossibleTrace, AllOfThemHaveNoTotals) {
  TemporaryDirectory directory;
  write(directory / "rank0.jsonl", header_of(0, 1) + summary_with(R"(, "slices": -1)"));
  const RunSummary run = summarize_directories({directory.path()});
  EXPECT_FALSE(contains(to_text(run, "here"), "\n all ")) << to_text(run, "here");
}

struct Impossible {
  const char* name;
  std::string lines;
  const char* why;  // with the line
};

class ImpossibleLines : public testing::TestWithParam<Impossible> {};

TEST_P(ImpossibleLines, MakeTheRankUnsure) {
  const TwoRanks two(GetParam().lines);
  EXPECT_TRUE(two.run.ranks.at(1).unsure);
  EXPECT_FALSE(two.run.ranks.at(0).unsure);
  EXPECT_EQ(two.run.total.totals.fill_units, 3u);
  EXPECT_EQ(two.run.total.window, Duration(1000000000));
  const std::string notes = notes_of(two.run);
  EXPECT_TRUE(contains(notes, "rank1.jsonl:" + std::string(GetParam().why))) << notes;
  EXPECT_TRUE(is_harmless(to_text(two.run, "here")));
}

INSTANTIATE_TEST_SUITE_P(
    ImpossibleTrace, ImpossibleLines,
    testing::Values(
        Impossible{"iteration_ends_first",
                   R"({"type": "iteration", "started": 9, "ended": 8})"
                   "\n" +
                       summary_with(),
                   "2: `ended` is before `started`"},
        Impossible{"slice_ends_first",
                   R"({"type": "slice", "launched": 9, "finished": 8, "alone": 1})"
                   "\n" +
                       summary_with(),
                   "2: `finished` is before `launched`"},
        Impossible{"no_time",
                   R"({"type": "bubble", "closed": 8})"
                   "\n" +
                       summary_with(),
                   "2: `opened` is missing"},
        Impossible{"time_as_text",
                   R"({"type": "bubble", "opened": "now", "closed": 8})"
                   "\n" +
                       summary_with(),
                   "2: `opened` is not an integer of 64 bits"},
        Impossible{"time_as_fraction",
                   R"({"type": "iteration", "started": 1.5, "ended": 8})"
                   "\n" +
                       summary_with(),
                   "2: `started` is not an integer of 64 bits"},
        Impossible{"beyond_64_bits",
                   R"({"type": "iteration", "started": 0, "ended": 18446744073709551615})"
                   "\n" +
                       summary_with(),
                   "2: `ended` is not an integer of 64 bits"},
        Impossible{"beyond_any_uptime",
                   R"({"type": "bubble", "opened": 0, "closed": 9223372036854775807})"
                   "\n" +
                       summary_with(),
                   "2: `closed` cannot be 9223372036854775807"},
        Impossible{"long_iteration",
                   R"({"type": "iteration", "started": 0, "ended": 5000000000})"
                   "\n" +
                       summary_with(),
                   "2: an iteration is longer than the whole run"},
        Impossible{"long_bubble",
                   "\n"
                   R"({"type": "bubble", "opened": 0, "closed": 5000000000})"
                   "\n" +
                       summary_with(),
                   "3: a bubble is longer than the whole run"},
        Impossible{"window_turned_round", summary_with(R"(, "window_begin": 2000000000)"),
                   "2: `window_end` is before `window_begin`"},
        Impossible{"idle_beyond_the_window", summary_with(R"(, "idle": 9000000000)"),
                   "2: more idle time than the run is long"},
        Impossible{"negative_idle", summary_with(R"(, "idle": -1)"), "2: `idle` cannot be -1"},
        Impossible{"overlapping_bubbles_of_a_killed_rank",
                   R"({"type": "bubble", "opened": 0, "closed": 1000000000})"
                   "\n"
                   R"({"type": "bubble", "opened": 0, "closed": 1000000000})"
                   "\n",
                   "3: more idle time than the run is long"},
        Impossible{"filled_far_beyond_idle", summary_with(R"(, "idle": 1000, "filled": 900000000)"),
                   "2: more filled than there was idle time"},
        Impossible{"filled_beyond_the_window", summary_with(R"(, "filled": 4611686018427387903)"),
                   "2: more filled than there was idle time"},
        Impossible{"median_beyond_the_window", summary_with(R"(, "iteration_median": 5000000000)"),
                   "2: `iteration_median` is longer than the whole run"},
        Impossible{"count_of_a_bit_flip", summary_with(R"(, "iterations": 4611686018427387914)"),
                   "2: `iterations` cannot be 4611686018427387914"},
        Impossible{"more_wrong_than_units", summary_with(R"(, "fill_units_wrong": 4)"),
                   "2: more wrong units than units"},
        Impossible{"unfilled", summary_with(R"(, "unfilled": {"no_room": -7})"), "2: `no_room` cannot be -7"},
        Impossible{"slowdown", summary_with(R"(, "slowdown": {"estimate": 1e300, "control": 4})"),
                   "2: `estimate` is not a share"},
        Impossible{"several_sums_beyond_the_type",
                   summary_with() + header_of(1) +
                       R"({"type": "summary", "window_begin": 0, "window_end": 4611686018427387903})"
                       "\n" +
                       header_of(1) +
                       R"({"type": "summary", "window_begin": 0, "window_end": 4611686018427387903, "idle": -5})"
                       "\n" +
                       header_of(1) +
                       R"({"type": "summary", "window_begin": 0, "window_end": 4611686018427387903})"
                       "\n",
                   "6: `idle` cannot be -5"}),
    [](const testing::TestParamInfo<Impossible>& tested) { return std::string(tested.param.name); });

// Else it would be taken for the newest run, and all others would be left out.
TEST(ImpossibleTrace, FromTheFutureDoesNotHideTheOthers) {
  TemporaryDirectory directory;
  write(directory / "rank0.jsonl", header_of(0) + summary_with());
  write(directory / "rank1.jsonl",
        R"({"type": "header", "format": "weft-trace", "version": 1, "rank": 1, "ranks": 2, "started": 0, )"
        R"("wall_clock": 4611686018427387903})"
        "\n" +
            summary_with());
  const RunSummary run = summarize_directories({directory.path()});
  ASSERT_EQ(run.ranks.size(), 2u);
  EXPECT_FALSE(run.ranks[0].unsure);
  EXPECT_TRUE(contains(notes_of(run), "rank1.jsonl:1: `wall_clock` is in the future"));
}

TEST(HugeTrace, OfManySlotsAndNamesTakesBoundedMemory) {
  TemporaryDirectory directory;
  {
    std::ofstream out(directory / "rank0.jsonl");
    out << header_of(0, 1);
    for (int i = 0; i < 10000; ++i)
      out << R"({"type": "bubble", "opened": 0, "closed": 10, "ordinal": )" << i << R"(, "cause": ")" << i
          << std::string(1000, 'c') << "\"}\n";
    out << summary_with();
  }
  const FileTotals totals = add_up_file(directory / "rank0.jsonl");
  EXPECT_LE(totals.rank.slots.size(), 4096u);
  EXPECT_EQ(totals.rank.idle_by_cause.size(), 1u) << "causes that are not known are one";
  EXPECT_EQ(totals.bubbles_without_slot, 10000 - totals.rank.slots.size());
}

// One change: a byte, a bit, a piece that is missing or there twice, a digit, a line in another place.
void mutate(std::string& text, std::mt19937& random) {
  if (text.empty()) return;
  const auto below = [&](std::size_t end) { return random() % end; };
  const std::size_t place = below(text.size()), length = std::min(below(200), text.size() - place);
  switch (below(8)) {
    case 0:
      text[place] = static_cast<char>(below(256));
      break;
    case 1:
      text[place] = static_cast<char>(text[place] ^ (1 << below(8)));
      break;
    case 2:
      text.erase(place, length);
      break;
    case 3:
      text.insert(place, text.substr(place, length));
      break;
    case 4:
      if (const std::size_t digit = text.find_first_of("0123456789", place); digit != std::string::npos)
        text.replace(digit, below(2), std::to_string(random()) + std::to_string(random()));
      break;
    case 5:
      if (const std::size_t digit = text.find_first_of("0123456789", place); digit != std::string::npos)
        text.insert(digit, "-");
      break;
    case 6:
      if (const std::size_t quote = text.find("\": \"", place); quote != std::string::npos)
        text.insert(quote + 4, R"(\u001b[2J\u009b\u0000)");
      break;
    default:
      text.resize(place);
  }
}

TEST(MutatedTraces, AreAddedUpOrRefusedAndNeverReachTheTerminal) {
  std::mt19937 random(7);
  std::vector<std::string> originals;
  for (const char* name : {"/rank0.100.jsonl", "/rank1.101.jsonl", "/rank2.102.jsonl", "/rank0.90.jsonl"})
    originals.push_back(test::read_file(std::string(WEFT_TEST_RUN) + name));
  TemporaryDirectory directory;
  int refused = 0, unsure = 0;
  const auto begin = std::chrono::steady_clock::now();
  for (int round = 0; round < 3000; ++round) {
    for (std::size_t i = 0; i < originals.size(); ++i) {
      std::string text = originals[i];
      for (std::size_t changes = random() % 4; changes > 0; --changes) mutate(text, random);
      write(directory / ("rank" + std::to_string(i) + ".jsonl"), text);
    }
    try {
      const RunSummary run = summarize_directories({directory.path()});
      const std::string text = to_text(run, "here"), json = to_json(run);
      ASSERT_TRUE(is_harmless(text)) << round << "\n" << printable(text);
      ASSERT_TRUE(is_harmless(json)) << round;
      ASSERT_TRUE(nlohmann::json::accept(json)) << round;
      ASSERT_GE(run.total.idle_share(), 0.0) << round;
      ASSERT_LE(run.total.totals.idle, run.total.window * 2 + std::chrono::seconds(1)) << round;
      unsure += run.total.unsure ? 1 : 0;
    } catch (const std::runtime_error& error) {
      ASSERT_TRUE(is_harmless(error.what())) << round;
      ++refused;
    }
  }
  EXPECT_GT(unsure, 100) << "the changes reach the numbers";
  EXPECT_LT(refused, 300) << "the changes get past the header";
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(100));
}

}  // namespace
}  // namespace weft
