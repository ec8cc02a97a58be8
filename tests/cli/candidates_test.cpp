// Completion: which words can stand in the place of the last one.
#include "cli/candidates.h"

#include <gtest/gtest.h>

#include "cli/description.h"

namespace weft::cli {
namespace {

// A verb with one of each.
struct Described {
  CLI::App app{"Does something.", "weft thing"};
  std::string text, file, kind;
  std::vector<std::string> places;
  bool flag = false;

  Described() {
    app.add_option("DIR", places, "Where.")->type_name("");
    app.add_option("--file", file, "A file. Of bytes.")->type_name("FILE");
    app.add_option("--kind", kind, "Which.")->check(CLI::IsMember({"one", "two"}));
    app.add_option("--number", text, "How many.")->type_name("N");
    app.add_option("--form", text, "As.")->type_name("[=FORM]")->check(CLI::IsMember({"plain", "other"}));
    app.add_flag("--advanced", flag, "Tunes.")->group(advanced_options);
    app.add_flag("--inner", flag, "Hidden.")->group("");
  }
  std::string of(const Arguments& words) const { return text_of(candidates(app, words)); }
};

TEST(Candidates, FlagsWithTheirFirstSentences) {
  const Described verb;
  EXPECT_EQ(verb.of({"--fi"}), "--file\tA file.\n");
  EXPECT_EQ(verb.of({"--in"}), "");
  EXPECT_EQ(verb.of({"--kind", "one", "--adv"}), "--advanced\tTunes.\n");
}

TEST(Candidates, ValuesOfTheOptionInFront) {
  const Described verb;
  EXPECT_EQ(verb.of({"--kind", ""}), "one\ntwo\n");
  EXPECT_EQ(verb.of({"--kind", "t"}), "two\n");
  EXPECT_EQ(verb.of({"--kind=t"}), "--kind=two\n");
  EXPECT_EQ(verb.of({"--file", "x"}), ":files\n");
  EXPECT_EQ(verb.of({"--file=x"}), ":files\n");
  EXPECT_EQ(verb.of({"--number", ""}), "");
  EXPECT_EQ(verb.of({"--none=x"}), "");
}

TEST(Candidates, AValueThatMayBeLeftOutStandsBehindEqualsOnly) {
  const Described verb;
  EXPECT_EQ(verb.of({"--form=p"}), "--form=plain\n");
  EXPECT_EQ(verb.of({"--form", ""}), ":folders\n");
}

TEST(Candidates, PositionalsMayStandSeveralTimes) {
  const Described verb;
  EXPECT_EQ(verb.of({""}), ":folders\n");
  EXPECT_EQ(verb.of({"a", "b", ""}), ":folders\n");
  EXPECT_EQ(verb.of({"--", "--f"}), ":folders\n");
}

TEST(Candidates, OneThatIsThereIsNotOfferedAgain) {
  CLI::App app("Does something.", "weft thing");
  std::string text;
  app.add_option("SHELL", text, "Which.")->check(CLI::IsMember({"bash", "zsh"}));
  EXPECT_EQ(text_of(candidates(app, {""})), "bash\nzsh\n");
  EXPECT_EQ(text_of(candidates(app, {"bash", ""})), "");
}

TEST(Candidates, CommandsOfAVerbAndTheirFlags) {
  CLI::App app("All of them.", "weft jobs");
  std::string queue, id;
  app.add_option("--queue", queue, "Where.")->type_name("QUEUE");
  CLI::App* const show = app.add_subcommand("show", "all about one");
  show->add_option("--json", id, "As JSON.");
  EXPECT_EQ(text_of(candidates(app, {""})), "show\tall about one\n");
  EXPECT_EQ(text_of(candidates(app, {"--queue", "show", "s"})), "show\tall about one\n");
  EXPECT_EQ(
      text_of(candidates(app, {"show", "--"})),
      "--json\tAs JSON.\n--help\t" + first_sentence(show->get_help_ptr()->get_description()) + "\n--queue\tWhere.\n");
}

TEST(Candidates, BehindAPrefixCommandAnotherOneBegins) {
  CLI::App app("Runs a command.", "weft run");
  app.prefix_command();
  std::string text;
  app.add_option("--file", text, "A file.")->type_name("FILE");
  EXPECT_EQ(text_of(candidates(app, {""})), ":command 0\n");
  EXPECT_EQ(text_of(candidates(app, {"--file", "x", "--", ""})), ":command 3\n");
  EXPECT_EQ(text_of(candidates(app, {"--file", "x", "ls", "--f"})), ":command 2\n");
  EXPECT_EQ(text_of(candidates(app, {"--file", "x", "--", "--f"})), ":command 3\n");
}

}  // namespace
}  // namespace weft::cli
