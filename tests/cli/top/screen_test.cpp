// The screen of `weft top` as a pure function: golden screens of a run of 64 ranks, order, filter and keys, hostile
// pages.
#include "cli/top/screen.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>
#include <random>
#include <set>

#include "cli/top/columns.h"
#include "cli/top/json.h"
#include "tests/trace/live/sample_pages.h"
#include "tests/trace/temporary_directory.h"
#include "trace/live/read_live.h"

namespace weft::cli {
namespace {

using test::sample_run;

const TopLook look{"weft-4711", true};

std::string text_of(const std::vector<TopLine>& lines) {
  std::string text;
  for (const TopLine& line : lines) text += plain(line) + "\n";
  return text;
}

std::size_t columns_of(const std::string& line) {
  return static_cast<std::size_t>(
      std::ranges::count_if(line, [](char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; }));
}

void expect_golden(const std::string& name, const std::string& text) {
  const std::string path = std::string(WEFT_TEST_SCREENS) + "/" + name;
  if (std::getenv("WEFT_WRITE_SCREENS") != nullptr) std::ofstream(path) << text;
  EXPECT_EQ(text, test::read_file(path)) << "WEFT_WRITE_SCREENS=1 writes " << path << " anew";
}

TEST(TopScreen, IsAsItWasOn80Columns) {
  expect_golden("80x24.txt", text_of(screen_of(sample_run(64), {}, look, {80, 24})));
}

TEST(TopScreen, IsAsItWasOn200Columns) {
  expect_golden("200x50.txt", text_of(screen_of(sample_run(64), {}, look, {200, 50})));
}

TEST(TopScreen, IsAsItWasInAsciiAndWithHelp) {
  TopView view;
  expect_golden("ascii.txt", text_of(screen_of(sample_run(4), view, {"weft-4711", false}, {80, 16})));
  view.help = true;
  expect_golden("help.txt", text_of(screen_of(sample_run(4), view, look, {80, 24})));
}

TEST(TopTable, IsAsItWas) {
  expect_golden("once.txt", table_of(sample_run(24), {}, {"weft-4711", false}, 200));
}

// Whatever the size: as many lines as there are, none of them too long.
TEST(TopScreen, FitsEverySize) {
  const LiveRun run = sample_run(64), none;
  for (const bool help : {false, true})
    for (const std::size_t lines : {0, 1, 2, 3, 5, 8, 24, 80})
      for (const std::size_t columns : {1, 5, 20, 79, 80, 81, 133, 300})
        for (const LiveRun* const shown : {&run, &none}) {
          TopView view;
          view.help = help;
          const std::vector<TopLine> screen = screen_of(*shown, view, look, {columns, lines});
          ASSERT_EQ(screen.size(), lines);
          for (const TopLine& line : screen) ASSERT_LE(columns_of(plain(line)), columns);
        }
}

TEST(TopScreen, NamesTroubleInColour) {
  const std::vector<TopLine> lines = screen_of(sample_run(64), {}, look, {80, 50});
  const auto style_of = [&](const std::string& begin) {
    for (const TopLine& line : lines)
      if (plain(line).starts_with(begin)) return line.at(0).style;
    return TopStyle::bold;
  };
  EXPECT_EQ(style_of("    0 filling"), TopStyle::plain);
  EXPECT_EQ(style_of("    3 stopped"), TopStyle::yellow);
  EXPECT_EQ(style_of("    5 gone"), TopStyle::red);
  EXPECT_EQ(style_of("   17 silent"), TopStyle::yellow);
}

TEST(TopScreen, SaysThatItWaits) {
  const std::string text = text_of(screen_of({}, {}, look, {80, 24}));
  EXPECT_NE(text.find("no rank has a page here yet (rank*.live): waiting"), std::string::npos);
}

std::vector<std::int64_t> order(const LiveRun& run, const TopView& view) {
  std::vector<std::int64_t> ranks;
  for (const LiveRank* const rank : rows_of(run, view)) ranks.push_back(rank->rank());
  return ranks;
}

TEST(TopView, SortsByWhatIsWanted) {
  const LiveRun run = sample_run(8);
  TopView view;
  EXPECT_EQ(order(run, view), (std::vector<std::int64_t>{0, 1, 2, 3, 4, 5, 6, 7}));
  view.sort = TopSort::idle;
  EXPECT_EQ(order(run, view), (std::vector<std::int64_t>{0, 4, 1, 5, 2, 6, 3, 7}));
  view.reverse = true;
  EXPECT_EQ(order(run, view).front(), 3);
  view.reverse = false;
  view.sort = TopSort::iteration;
  EXPECT_EQ(order(run, view), (std::vector<std::int64_t>{0, 3, 6, 1, 4, 7, 2, 5}));
  view.sort = TopSort::slowdown;
  EXPECT_EQ(order(run, view).front(), 6);
  view.sort = TopSort::filled;
  EXPECT_EQ(order(run, view).front(), 3);
}

TEST(TopView, PutsWhatIsNotKnownLastInBothOrders) {
  std::vector<LivePageOf> pages = test::sample_pages(3);
  pages[1].page.numbers.slowdown_known = 0;
  const LiveRun run = live_run_of(pages, test::sample_observer());
  TopView view;
  view.sort = TopSort::slowdown;
  EXPECT_EQ(order(run, view), (std::vector<std::int64_t>{2, 0, 1}));
  view.reverse = true;
  EXPECT_EQ(order(run, view), (std::vector<std::int64_t>{0, 2, 1}));
}

// Fill work makes no iteration shorter: it is something else that was measured.
TEST(TopView, ASlowdownBelowZeroForSureIsNotKnown) {
  std::vector<LivePageOf> pages = test::sample_pages(2);
  LiveNumbers& numbers = pages[1].page.numbers;
  numbers.slowdown = -0.02;
  numbers.slowdown_low = -0.03;
  numbers.slowdown_high = 0.001;
  EXPECT_TRUE(numbers.knows_slowdown());
  numbers.slowdown_high = -0.01;
  EXPECT_FALSE(numbers.knows_slowdown());
}

TEST(TopView, FiltersByRanksAndByText) {
  const LiveRun run = sample_run(64);
  const auto passing = [&](const std::string& filter) {
    TopView view;
    view.filter = filter;
    return order(run, view);
  };
  EXPECT_EQ(passing("3,60-61"), (std::vector<std::int64_t>{3, 60, 61}));
  EXPECT_EQ(passing("NODE-2").size(), 8u);
  EXPECT_EQ(passing("stopped"), (std::vector<std::int64_t>{3}));
  EXPECT_EQ(passing("gone"), (std::vector<std::int64_t>{5}));
  EXPECT_TRUE(passing("nothing of that").empty());
  EXPECT_EQ(passing("").size(), 64u);
}

TEST(TopView, TakesKeys) {
  TopView view;
  const auto press = [&](TopKey key, char character = 0) { return take(view, {key, character}, 64, 16); };
  const auto type = [&](const std::string& text) {
    for (const char c : text) press(TopKey::character, c);
  };
  type("s");
  EXPECT_EQ(view.sort, TopSort::idle);
  type("rp");
  EXPECT_TRUE(view.reverse && view.paused);
  press(TopKey::page_down);
  press(TopKey::down);
  EXPECT_EQ(view.first, 17u);
  press(TopKey::end);
  EXPECT_EQ(view.first, 48u);
  press(TopKey::up);
  EXPECT_EQ(view.first, 47u);
  press(TopKey::home);
  press(TopKey::up);
  EXPECT_EQ(view.first, 0u);
  type("/4-q");
  EXPECT_EQ(view.typed, "4-q");
  press(TopKey::backspace);
  type("7");
  press(TopKey::enter);
  EXPECT_EQ(view.filter, "4-7");
  type("/x");
  press(TopKey::escape);
  EXPECT_EQ(view.filter, "4-7");
  press(TopKey::escape);
  EXPECT_EQ(view.filter, "");
  type("h");
  EXPECT_TRUE(view.help);
  type("?");
  EXPECT_FALSE(view.help);
  EXPECT_FALSE(press(TopKey::character, 'q'));
}

TEST(TopColumns, AreAllDifferentAndFirstOnesFill80) {
  std::set<std::string> titles;
  for (const TopColumn& column : top_columns()) {
    EXPECT_TRUE(titles.insert(column.title).second) << column.title;
    EXPECT_LE(std::string_view(column.title).size(), column.width);
  }
  EXPECT_EQ(top_columns_in(80).size(), 9u);
  EXPECT_EQ(top_columns_in(200).size(), top_columns().size());
  EXPECT_EQ(top_columns_in(0).size(), 1u);
}

TEST(TopColumns, WriteNumbersForPeople) {
  EXPECT_EQ(short_length(std::chrono::nanoseconds(152'300'000)), "152 ms");
  EXPECT_EQ(short_length(std::chrono::nanoseconds(1'234'000'000)), "1.23 s");
  EXPECT_EQ(short_length(std::chrono::nanoseconds(90'000'000'000)), "1.50 min");
  EXPECT_EQ(short_length(std::chrono::nanoseconds(12'345)), "12.3 us");
  EXPECT_EQ(short_length(std::nullopt), "-");
  EXPECT_EQ(percent(0.1234), "12.3");
  EXPECT_EQ(signed_percent(0.0012), "+0.12");
  EXPECT_EQ(short_bytes(std::int64_t{1} << 30), "1.0 GiB");
  EXPECT_EQ(short_bytes(0), "0 B");
}

TEST(Sparkline, IsFlatWhereIterationsAreAlike) {
  using std::chrono::milliseconds;
  const std::vector<Duration> alike{milliseconds(100), milliseconds(101), milliseconds(100)};
  EXPECT_EQ(sparkline(alike, 8, true), "▁▁▁");
  const std::vector<Duration> long_one{milliseconds(100), milliseconds(200), milliseconds(100)};
  EXPECT_EQ(sparkline(long_one, 8, true), "▁█▁");
  EXPECT_EQ(sparkline(long_one, 2, false), "#_");
  EXPECT_EQ(sparkline({}, 8, true), "");
}

// Names with escapes, texts without an end.
TEST(TopScreen, LetsNoByteOfAPageMoveTheCursor) {
  std::vector<LivePageOf> pages = test::sample_pages(2);
  set_text(pages[0].page.identity.host, "\x1b[31mred\n\t");
  pages[0].page.numbers.fill_jobs.fill('\x9b');
  pages[1].page.numbers.filling = LiveFilling::ended;
  pages[1].page.numbers.why.fill('\r');
  const LiveRun run = live_run_of(pages, test::sample_observer());
  const TopView view;
  const std::string all =
      text_of(screen_of(run, view, look, {300, 50})) + table_of(run, view, look, 300) + top_json(run, view);
  for (const char c : all) ASSERT_TRUE(c == '\n' || static_cast<unsigned char>(c) >= 0x20) << static_cast<int>(c);
  EXPECT_EQ(all.find('\x9b'), std::string::npos);
  EXPECT_TRUE(nlohmann::json::accept(top_json(run, view)));
}

// Pages of random bytes under a right checksum: each is refused, or shown without harm.
TEST(TopScreen, SurvivesPagesOfAnyBytes) {
  std::mt19937_64 random(1);
  const std::string good = [] {
    const LivePage page = test::sample_page(1, 4);
    return std::string(reinterpret_cast<const char*>(&page), sizeof page);
  }();
  int shown = 0;
  for (int round = 0; round < 3000; ++round) {
    std::string bytes = good;
    const std::size_t changes = round % 50 == 0 ? bytes.size() : 1 + random() % 8;
    for (std::size_t change = 0; change < changes; ++change) {
      const std::size_t place = 32 + random() % (bytes.size() - 48);
      const bool small = random() % 2 == 0;
      for (std::size_t byte = place / 8 * 8; byte < place / 8 * 8 + 8; ++byte)
        bytes[byte] = small && byte % 8 != 0 ? '\0' : static_cast<char>(random());
    }
    LivePage page;
    std::memcpy(static_cast<void*>(&page), bytes.data(), sizeof page);
    seal(page, 3);
    std::memcpy(bytes.data(), &page, sizeof page);
    const LiveReading reading = read_live_page(bytes);
    if (!reading.page) continue;
    ++shown;
    const LiveRun run =
        live_run_of({{"a.live", *reading.page}, {"b.live", test::sample_page(0, 4)}}, test::sample_observer());
    const TopView view;
    screen_of(run, view, look, {200, 20});
    table_of(run, view, look, 200);
    ASSERT_TRUE(nlohmann::json::accept(top_json(run, view)));
  }
  EXPECT_GT(shown, 100);
}

TEST(TopJson, HasTheNumbersOfWeftSummary) {
  const LiveRun run = sample_run(8);
  const nlohmann::json json = nlohmann::json::parse(top_json(run, {}));
  ASSERT_EQ(json["ranks"].size(), 8u);
  const nlohmann::json& rank = json["ranks"][4];
  EXPECT_EQ(rank["iterations"], 1188);
  EXPECT_EQ(rank["presence"], "running");
  EXPECT_EQ(rank["state"], "filling");
  EXPECT_EQ(rank["waits_for"]["rank"], 7);
  EXPECT_DOUBLE_EQ(rank["idle_share"].get<double>(), run.ranks[4].whole.idle_share());
  EXPECT_DOUBLE_EQ(rank["steady"]["idle_share"].get<double>(), run.ranks[4].steady->idle_share());
  EXPECT_EQ(rank["recent"]["lengths"].size(), 32u);
  EXPECT_EQ(json["ranks"][3]["state"], "stopped");
  EXPECT_FALSE(json["notes"].empty());
}

}  // namespace
}  // namespace weft::cli
