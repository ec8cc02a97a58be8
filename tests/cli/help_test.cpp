// The two lengths of help, and the list of exit codes.
#include "cli/help.h"

#include <gtest/gtest.h>

#include <set>
#include <sstream>

#include "cli/exit_codes.h"

namespace weft::cli {
namespace {

std::size_t widest(const std::string& text) {
  std::size_t width = 0;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) width = std::max(width, line.size());
  return width;
}

// A verb with one of each.
struct Described {
  CLI::App app{"Does something. And that.\n\nAt length, with all that there is to say of it.", "weft validate"};
  std::string text, file;
  int number = 0;
  bool flag = false, hidden = false;

  Described() {
    app.set_help_flag("-h,--help", "This text.");
    app.add_option("DIR", file, "Where it lies. Several where each has its own.")->required()->type_name("");
    app.add_option("--number", number, "How many. More are slower.")->check(CLI::Range(1, 16))->default_str("4");
    app.add_flag("-q,--quiet", flag, "Say nothing.");
    app.add_option("--kind", text, "Which.")->check(CLI::IsMember({"one", "two"}))->group(advanced_options);
    app.add_flag("--inner", hidden, "Between the parts.")->group("");
    app.get_option("--number")->excludes(app.get_option("--quiet"));
  }
};

TEST(Help, ShortFormHasFirstSentencesAndSaysWhereMoreIs) {
  const Described verb;
  EXPECT_EQ(short_help(verb.app),
            "Usage: weft validate [OPTIONS] DIR\n"
            "Does something. And that.\n"
            "\n"
            "  DIR           Where it lies.\n"
            "  --number INT  How many. [4]\n"
            "  -q, --quiet   Say nothing.\n"
            "  -h, --help    This text.\n"
            "\n"
            "All about them, and 1 advanced options: weft help validate\n");
}

TEST(Help, ShortFormHasADefaultOnlyWhereItFits) {
  CLI::App app("Does something.", "weft validate");
  std::string text;
  app.add_option("--text", text, "A sentence of some length.")->default_str(std::string(30, 'x'));
  EXPECT_NE(short_help(app).find(" [xxxx"), std::string::npos) << short_help(app);
  app.get_option("--text")->default_str(std::string(50, 'x'));
  EXPECT_EQ(short_help(app).find(" [xxxx"), std::string::npos) << short_help(app);
  EXPECT_NE(long_help(app).find("Default: xxxx"), std::string::npos) << long_help(app);
}

TEST(Help, LongPageHasAllButWhatIsInternal) {
  const Described verb;
  const std::string page = long_help(verb.app);
  for (const char* const part :
       {"At length, with all that there is to say of it.", "Several where each has its own.", "More are slower.",
        "From 1 to 16.", "Default: 4.", "Not with --quiet.", "Advanced options\n  --kind TEXT\n      Which.\n",
        "One of one, two.", "Exit codes\n    0  all ranks keep the bounds\n"})
    EXPECT_NE(page.find(part), std::string::npos) << part << "\n" << page;
  EXPECT_EQ(page.find("inner"), std::string::npos);
  EXPECT_LE(widest(page), help_width);
}

TEST(Help, OfACommandOfAVerb) {
  CLI::App app("All of them.", "weft jobs");
  std::string id;
  app.add_subcommand("show", "all about one")->add_option("ID", id, "Its number.")->required()->type_name("");
  EXPECT_NE(short_help(app).find("Usage: weft jobs [OPTIONS] COMMAND ...\n"), std::string::npos) << short_help(app);
  EXPECT_NE(short_help(app).find("\n  show      all about one\n"), std::string::npos);
  const CLI::App& show = *app.get_subcommand("show");
  EXPECT_EQ(full_name(show), "weft jobs show");
  EXPECT_NE(short_help(show).find("weft help jobs show\n"), std::string::npos) << short_help(show);
}

TEST(Help, FirstSentence) {
  EXPECT_EQ(first_sentence("One. Two."), "One.");
  EXPECT_EQ(first_sentence("All of it"), "All of it");
  EXPECT_EQ(first_sentence("One.\nTwo."), "One.");
  EXPECT_EQ(first_sentence("A file as .npy or 0.5 of it."), "A file as .npy or 0.5 of it.");
  EXPECT_EQ(first_sentence(""), "");
}

TEST(Help, WrapsAtBlanksAndKeepsLineBreaks) {
  EXPECT_EQ(wrapped("a bb ccc", 4), (std::vector<std::string>{"a bb", "ccc"}));
  EXPECT_EQ(wrapped("a\n\nb", 4), (std::vector<std::string>{"a", "", "b"}));
  EXPECT_EQ(wrapped("longer-than-that a", 4), (std::vector<std::string>{"longer-than-that", "a"}));
  EXPECT_TRUE(wrapped("", 4).empty());
}

TEST(Help, ColumnsBeginAnewBehindALongHead) {
  EXPECT_EQ(in_columns("  -q", "quiet", 8), "  -q    quiet\n");
  EXPECT_EQ(in_columns("  --quiet", "quiet", 8), "  --quiet\n        quiet\n");
}

TEST(ExitCodes, AVerbsOwnMeaningGoesBeforeThatOfAll) {
  const std::vector<ExitCode> codes = exit_codes_of("validate");
  ASSERT_EQ(codes.size(), 4U);
  for (int code = 0; code < 4; ++code) EXPECT_EQ(codes[static_cast<std::size_t>(code)].code, code);
  EXPECT_EQ(codes[1].verb, "validate");
  EXPECT_EQ(codes[2].verb, "");
  EXPECT_EQ(exit_codes_of("summary").size(), 3U);
}

TEST(ExitCodes, NoneHasTwoMeanings) {
  std::set<std::pair<std::string_view, int>> seen;
  for (const ExitCode& each : exit_codes()) {
    EXPECT_TRUE(seen.emplace(each.verb, each.code).second) << each.verb << " " << each.code;
    EXPECT_NE(exit_codes_page().find(std::string(each.meaning).substr(0, 40)), std::string::npos) << each.meaning;
  }
  EXPECT_LE(widest(exit_codes_page()), help_width);
}

}  // namespace
}  // namespace weft::cli
