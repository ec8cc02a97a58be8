// Text and Markdown as roff.
#include "cli/man_page.h"

#include <gtest/gtest.h>

namespace weft::cli {
namespace {

TEST(ManPage, TextIsNeitherARequestNorAnEscape) {
  EXPECT_EQ(roff_text(".SH"), "\\&.SH");
  EXPECT_EQ(roff_text("a\n.b 0.5"), "a\n\\&.b 0.5");
  EXPECT_EQ(roff_text("'x' \\n"), "\\(aqx\\(aq \\en");
  EXPECT_EQ(roff_text("--mode `x`"), "\\-\\-mode \\(gax\\(ga");
}

TEST(ManPage, MarkdownKeepsCodeParagraphsAndTextOfLinks) {
  EXPECT_EQ(roff_of_markdown("Say `--x`, see [the\npage](a.md#b)."), "Say \\fB\\-\\-x\\fR, see the\npage.");
  EXPECT_EQ(roff_of_markdown("One.\n\nTwo."), "One.\n.PP\nTwo.");
  EXPECT_EQ(roff_of_markdown("A lone ` stays"), "A lone \\(ga stays");
}

TEST(ManPage, HasAllOfTheDescription) {
  CLI::App app("Does it. And more.\n\nAt length.", "weft validate");
  std::string text;
  app.add_option("--kind", text, "Which.")->check(CLI::IsMember({"one", "two"}))->default_str("one");
  app.add_option("--inner", text, "Between the parts.")->group("");
  const std::string page = man_page(app);
  for (const char* const part : {".TH WEFT\\-VALIDATE 1 ", "weft\\-validate \\- Does it\n", ".PP\nAt length.\n",
                                 ".TP\n\\fB\\-\\-kind TEXT\\fR\nWhich.\n.br\nOne of one, two.\n.br\nDefault: one.\n",
                                 "all ranks keep the bounds"})
    EXPECT_NE(page.find(part), std::string::npos) << part << "\n" << page;
  EXPECT_EQ(page.find("inner"), std::string::npos);
}

}  // namespace
}  // namespace weft::cli
