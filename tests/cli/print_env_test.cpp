// The forms in which variables are printed: what they hold, and what they refuse.
#include "cli/print_env.h"

#include <gtest/gtest.h>

#include <stdexcept>

namespace weft::cli {
namespace {

TEST(PrintEnv, PlainIsQuotedWhereAShellWouldChangeIt) {
  EXPECT_EQ(env_text("plain", {{"A", "/lib/x.so:/y"}, {"B", ""}, {"C", "weft-%j"}}), "A=/lib/x.so:/y\nB=\nC=weft-%j\n");
  EXPECT_EQ(env_text("plain", {{"A", "a b"}, {"B", "it's"}, {"C", "x;y"}, {"D", "~/x"}}),
            "A='a b'\nB='it'\\''s'\nC='x;y'\nD='~/x'\n");
}

TEST(PrintEnv, FlagsRefuseWhatAShellWouldSplit) {
  EXPECT_EQ(env_text("docker", {{"A", "x;y:z=1,2"}, {"B", ""}}), "-e A=x;y:z=1,2\n-e B=\n");
  EXPECT_EQ(env_text("mpirun", {{"A", "x"}}), "-x A=x\n");
  for (const char* const form : {"docker", "mpirun"})
    for (const char* const value : {"a b", "a\nb", "a*", "a?", "a[b]", "a\\b", "a'b", "a\"b"})
      EXPECT_THROW(env_text(form, {{"A", value}}), std::runtime_error) << form << " " << value;
}

TEST(PrintEnv, DeepspeedRefusesWhatIsQuotedThere) {
  EXPECT_EQ(env_text("deepspeed", {{"A", "/x/y.so:size=64"}}), "A=/x/y.so:size=64\n");
  for (const char* const value : {"a b", "a;b", "a$b", "a~"})
    EXPECT_THROW(env_text("deepspeed", {{"A", value}}), std::runtime_error) << value;
}

TEST(PrintEnv, YamlHoldsEverythingAndKubernetesReplacesNothing) {
  EXPECT_EQ(env_text("yaml", {{"A", "a \"b\"\nc"}}), "- name: A\n  value: \"a \\\"b\\\"\\nc\"\n");
  EXPECT_EQ(env_text("yaml", {{"A", "$(B) $$(C) $D"}}), "- name: A\n  value: \"$$(B) $$$$(C) $$D\"\n");
  EXPECT_THROW(env_text("yaml", {{"A", "\xff"}}), std::runtime_error);
}

TEST(PrintEnv, JsonIsOneObject) {
  EXPECT_EQ(env_text("json", {{"A", "x y"}, {"B", "\""}}), "{\"A\": \"x y\", \"B\": \"\\\"\"}\n");
}

TEST(PrintEnv, HelpNamesEachForm) {
  for (const std::string& form : env_forms()) EXPECT_NE(env_forms_help().find(form + ": "), std::string::npos) << form;
}

}  // namespace
}  // namespace weft::cli
