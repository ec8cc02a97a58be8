// The options: every type of value, good and malformed, unknown names, sources, and the table's own form.
#include "runner/options/options.h"

#include <gtest/gtest.h>

#include <iterator>
#include <ostream>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

namespace weft {
namespace {

using namespace std::chrono_literals;

ParsedOptions parse_one(const std::string& name, const std::string& value) {
  return parse_options({{name, value}});
}

const OptionValue& value_of(const ParsedOptions& parsed, std::string_view variable) {
  for (const OptionValue& value : parsed.values)
    if (value.option->variable == variable) return value;
  throw std::out_of_range("no such option");
}

TEST(Options, NothingSetGivesTheDefaultsOfTheTable) {
  const ParsedOptions parsed = parse_options({});
  EXPECT_TRUE(parsed.warnings.empty());
  EXPECT_EQ(parsed.options.mode, Mode::observe);
  EXPECT_EQ(parsed.options.memory, std::uint64_t{1} << 30);
  EXPECT_EQ(parsed.options.output, "weft-%j");
  EXPECT_EQ(parsed.options.log, LogLevel::warn);
  EXPECT_EQ(parsed.options.slice, 300us);
  EXPECT_EQ(parsed.options.poll, 50us);
  EXPECT_EQ(parsed.options.reserve_sms, 8u);
  EXPECT_TRUE(parsed.options.summary);
  EXPECT_EQ(parsed.values.size(), option_table().size());
  for (const OptionValue& value : parsed.values) EXPECT_EQ(value.source, Source::built_in) << value.option->variable;
}

TEST(Options, EveryDefaultOfTheTableIsWellFormed) {
  for (const OptionInfo& option : option_table())
    EXPECT_TRUE(parse_one(option.variable, option.fallback).warnings.empty()) << option.variable;
}

TEST(Options, HelpHasAtMost25Words) {
  for (const OptionInfo& option : option_table()) {
    std::istringstream words(option.help);
    EXPECT_LE(std::distance(std::istream_iterator<std::string>(words), {}), 25) << option.variable;
  }
}

TEST(Options, OnlyVariablesThatWeftRunSetsAreInternal) {
  std::vector<std::string> internal;
  for (const OptionInfo& option : option_table())
    if (option.standing == Standing::internal) internal.emplace_back(option.variable);
  EXPECT_EQ(internal, (std::vector<std::string>{"WEFT_JOB", "WEFT_WARNED"}));
}

TEST(Options, Sizes) {
  const std::pair<const char*, std::uint64_t> good[] = {
      {"10000000", 10000000}, {"64MiB", 64u << 20},  {"1GiB", 1u << 30},   {"1.5GiB", 3u << 29}, {"2000kb", 2000000},
      {"2048kib", 2u << 20},  {"2000000B", 2000000}, {"1tib", 1ull << 40}, {"7mb", 7000000}};
  for (const auto& [text, bytes] : good) {
    const ParsedOptions parsed = parse_one("WEFT_MEMORY", text);
    EXPECT_TRUE(parsed.warnings.empty()) << text;
    EXPECT_EQ(parsed.options.memory, bytes) << text;
  }
}

TEST(Options, Durations) {
  const std::pair<const char*, Duration> good[] = {
      {"250us", 250us}, {"2ms", 2ms}, {"0.1s", 100ms}, {"17000ns", 17us}, {"0.5ms", 500us}};
  for (const auto& [text, length] : good) {
    const ParsedOptions parsed = parse_one("WEFT_SLICE", text);
    EXPECT_TRUE(parsed.warnings.empty()) << text;
    EXPECT_EQ(parsed.options.slice, length) << text;
  }
}

TEST(Options, FlagsModesAndLevelsInAnyCase) {
  for (const char* yes : {"1", "true", "YES", "On"}) EXPECT_TRUE(parse_one("WEFT_SUMMARY", yes).options.summary) << yes;
  for (const char* no : {"0", "false", "No", "OFF"}) EXPECT_FALSE(parse_one("WEFT_SUMMARY", no).options.summary) << no;
  EXPECT_EQ(parse_one("WEFT", "OFF").options.mode, Mode::off);
  EXPECT_EQ(parse_one("WEFT", "fill").options.mode, Mode::fill);
  EXPECT_EQ(parse_one("WEFT_LOG", "INFO").options.log, LogLevel::info);
  EXPECT_EQ(parse_one("WEFT_RESERVE_SMS", "0").options.reserve_sms, 0u);
}

// Found by a reader: below 5 us the dispatcher's sleep had a lower limit above its upper one, and 0 spun a core.
TEST(Options, ValuesOutsideTheBoundsOfTheTableAreMalformed) {
  const std::pair<const char*, const char*> outside[] = {{"WEFT_POLL", "0"},          {"WEFT_POLL", "4us"},
                                                         {"WEFT_POLL", "1s"},         {"WEFT_SLICE", "0"},
                                                         {"WEFT_SLICE", "1s"},        {"WEFT_MEMORY", "0"},
                                                         {"WEFT_MEMORY", "100 %"},    {"WEFT_MEMORY", "1025TiB"},
                                                         {"WEFT_MEMORY", "10000"},    {"WEFT_SLOWDOWN_BUDGET", "101%"},
                                                         {"WEFT_RESERVE_SMS", "1025"}};
  for (const auto& [variable, text] : outside) {
    const ParsedOptions parsed = parse_one(variable, text);
    EXPECT_EQ(parsed.warnings.size(), 1u) << variable << "=" << text;
    EXPECT_EQ(value_of(parsed, variable).source, Source::built_in) << variable << "=" << text;
  }
  EXPECT_EQ(parse_one("WEFT_POLL", "4us").options.poll, 50us);
  EXPECT_EQ(parse_one("WEFT_POLL", "4us").warnings.at(0),
            "WEFT_POLL=4us is not a duration from 10us to 10ms; the default 50us is used");
}

TEST(Options, APathWhoseVariableIsMissingIsNotUsed) {
  for (const Variables& others : {Variables{}, Variables{{"SCRATCH", ""}}}) {
    Variables variables = others;
    variables["WEFT_OUTPUT"] = "%q{SCRATCH}/weft";
    variables["WEFT_CHECKPOINT"] = "kept/%q{SCRATCH}";
    const ParsedOptions parsed = parse_options(variables);
    EXPECT_EQ(parsed.options.output, "weft-%j");
    EXPECT_EQ(parsed.options.checkpoint, "");
    EXPECT_EQ(value_of(parsed, "WEFT_OUTPUT").source, Source::built_in);
    EXPECT_EQ(parsed.warnings,
              (std::vector<std::string>{
                  "WEFT_CHECKPOINT=kept/%q{SCRATCH} needs SCRATCH, which is unset or empty; it counts as not set",
                  "WEFT_OUTPUT=%q{SCRATCH}/weft needs SCRATCH, which is unset or empty; the default weft-%j is "
                  "used"}));
    EXPECT_EQ(parsed.mistakes.back(), "WEFT_OUTPUT=%q{SCRATCH}/weft needs SCRATCH, which is unset or empty");
  }
  const ParsedOptions parsed = parse_options({{"SCRATCH", "/s"}, {"WEFT_OUTPUT", "%q{SCRATCH}/weft"}});
  EXPECT_TRUE(parsed.warnings.empty());
  EXPECT_EQ(parsed.options.output, "%q{SCRATCH}/weft");
}

TEST(Options, AnUnknownSequenceOfAPathIsNamedAndStays) {
  const ParsedOptions parsed = parse_one("WEFT_OUTPUT", "t/%z-%r");
  EXPECT_EQ(parsed.options.output, "t/%z-%r");
  EXPECT_EQ(parsed.warnings, (std::vector<std::string>{"WEFT_OUTPUT=t/%z-%r has %z, which stands for nothing (%% is a "
                                                       "percent sign); it stays in the name"}));
  EXPECT_EQ(parsed.mistakes.front(), "WEFT_OUTPUT=t/%z-%r has %z, which stands for nothing (%% is a percent sign)");
  EXPECT_TRUE(parse_one("WEFT_OUTPUT", "t/%r-100%%").warnings.empty());
  EXPECT_TRUE(parse_one("WEFT_CUPTI", "/x/%z").warnings.empty());  // no path of sequences
}

TEST(Options, BoundsOfTheTableAreThemselvesAccepted) {
  for (const OptionInfo& option : option_table())
    for (const char* bound : {option.least, option.most})
      EXPECT_TRUE(parse_one(option.variable, bound).warnings.empty()) << option.variable << "=" << bound;
}

TEST(Options, EveryTypeWithAnOrderHasBounds) {
  for (const OptionInfo& option : option_table()) {
    const std::string type = option.type;
    const bool ordered =
        type == "Bytes" || type == "Limit" || type == "Duration" || type == "Percent" || type == "Count";
    EXPECT_EQ(option.least[0] != '\0', ordered) << option.variable;
    EXPECT_EQ(option.most[0] != '\0', ordered) << option.variable;
  }
}

struct Malformed {
  const char* variable;
  const char* value;
  const char* warning;
};
// Names of tests are to be the same in every build.
void PrintTo(const Malformed& malformed, std::ostream* out) {
  *out << malformed.variable << '=' << malformed.value;
}

class MalformedValue : public testing::TestWithParam<Malformed> {};

TEST_P(MalformedValue, SaysWhatIsAcceptedAndUsesTheDefault) {
  const auto& [variable, value, warning] = GetParam();
  const ParsedOptions parsed = parse_one(variable, value);
  ASSERT_EQ(parsed.warnings.size(), 1u);
  EXPECT_EQ(parsed.warnings.front(), warning);
  EXPECT_EQ(parsed.warnings.front().find('\n'), std::string::npos);
  EXPECT_EQ(value_of(parsed, variable).source, Source::built_in);
  EXPECT_EQ(value_of(parsed, variable).text, value_of(parse_options({}), variable).text);
  EXPECT_EQ(parsed.options.slice, 300us);
  EXPECT_EQ(parsed.options.memory, std::uint64_t{1} << 30);
  EXPECT_EQ(parsed.options.reserve_sms, 8u);
  EXPECT_EQ(parsed.options.mode, Mode::observe);
  EXPECT_TRUE(parsed.options.summary);
}

INSTANTIATE_TEST_SUITE_P(
    EveryType, MalformedValue,
    testing::Values(
        Malformed{"WEFT", "on", "WEFT=on is not one of off, observe, fill; the default observe is used"},
        Malformed{"WEFT_SLICE", "abc",
                  "WEFT_SLICE=abc is not a duration from 10us to 100ms; the default 300us is used"},
        Malformed{
            "WEFT_SLICE", "5",
            "WEFT_SLICE=5 is not a duration from 10us to 100ms: its unit is missing, as in 5ms; the default 300us "
            "is used"},
        Malformed{"WEFT_SLICE", "5000000",
                  "WEFT_SLICE=5000000 is not a duration from 10us to 100ms; the default 300us is used"},
        Malformed{"WEFT_MEMORY", "1",
                  "WEFT_MEMORY=1 is not a size from 1MiB to 1024TiB: its unit is missing, as in 1MiB; the default 1GiB "
                  "is used"},
        Malformed{"WEFT_TRACE_LIMIT", "2.5",
                  "WEFT_TRACE_LIMIT=2.5 is not a size from 1MiB to 1024TiB, or off: its unit is missing, as in 2.5MiB; "
                  "the default 1GiB is used"},
        Malformed{"WEFT_SLICE", "-2ms",
                  "WEFT_SLICE=-2ms is not a duration from 10us to 100ms; the default 300us is used"},
        Malformed{"WEFT_SLICE", "99999999999999999999s",
                  "WEFT_SLICE=99999999999999999999s is not a duration from 10us to 100ms; the default 300us is used"},
        Malformed{"WEFT_SLICE", "99999999999s",
                  "WEFT_SLICE=99999999999s is not a duration from 10us to 100ms; the default 300us is used"},
        Malformed{"WEFT_SLICE", "1.2.3ms",
                  "WEFT_SLICE=1.2.3ms is not a duration from 10us to 100ms; the default 300us is used"},
        Malformed{"WEFT_MEMORY", "1GB!",
                  "WEFT_MEMORY=1GB! is not a size from 1MiB to 1024TiB; the default 1GiB is used"},
        Malformed{"WEFT_MEMORY", "99999999TiB",
                  "WEFT_MEMORY=99999999TiB is not a size from 1MiB to 1024TiB; the default 1GiB is used"},
        Malformed{"WEFT_RESERVE_SMS", "-1",
                  "WEFT_RESERVE_SMS=-1 is not a number from 0 to 1024; the default 8 is used"},
        Malformed{"WEFT_RESERVE_SMS", "4294967296",
                  "WEFT_RESERVE_SMS=4294967296 is not a number from 0 to 1024; the default 8 is used"},
        Malformed{"WEFT_SUMMARY", "maybe",
                  "WEFT_SUMMARY=maybe is not one of on, off, yes, no, true, false, 1, 0; the default on is used"},
        Malformed{"WEFT_LOG", "loud", "WEFT_LOG=loud is not one of info, warn, error, off; the default warn is used"}));

TEST(Options, AnEmptyValueCountsAsNotSet) {
  const ParsedOptions parsed = parse_options({{"WEFT_SLICE", ""}, {"WEFT", ""}, {"WEFT_FILL", "job.so"}});
  EXPECT_TRUE(parsed.warnings.empty());
  EXPECT_EQ(parsed.options.slice, 300us);
  EXPECT_EQ(parsed.options.mode, Mode::fill);
}

TEST(Options, AFillJobImpliesModeFillUnlessTheModeIsSet) {
  const ParsedOptions implied = parse_one("WEFT_FILL", "job.so:64");
  EXPECT_EQ(implied.options.mode, Mode::fill);
  EXPECT_EQ(implied.options.fill, "job.so:64");
  EXPECT_EQ(value_of(implied, "WEFT").source, Source::implied);
  EXPECT_EQ(value_of(implied, "WEFT").text, "fill");
  EXPECT_EQ(parse_options({{"WEFT_FILL", "job.so"}, {"WEFT", "observe"}}).options.mode, Mode::observe);
  EXPECT_EQ(parse_options({{"WEFT_FILL", "job.so"}, {"WEFT", "off"}}).options.mode, Mode::off);
  EXPECT_EQ(parse_options({{"WEFT_FILL", "job.so"}, {"WEFT", "nonsense"}}).options.mode, Mode::observe);
}

TEST(Options, UnknownNamesGetTheNearestOne) {
  EXPECT_EQ(parse_one("WEFT_FOO", "1").warnings.at(0), "WEFT_FOO is not an option of Weft; 'weft config' lists them");
  EXPECT_EQ(parse_one("WEFT_SLCE", "1").warnings.at(0), "WEFT_SLCE is not an option of Weft; did you mean WEFT_SLICE?");
  EXPECT_EQ(parse_one("WEFT_RESERVED_SM", "1").warnings.at(0),
            "WEFT_RESERVED_SM is not an option of Weft; did you mean WEFT_RESERVE_SMS?");
  EXPECT_EQ(parse_one("WEFT_MODE", "fill").warnings.at(0), "WEFT_MODE is not an option of Weft; did you mean WEFT?");
  EXPECT_EQ(parse_one("WEFT_SOMETHING_ELSE", "1").warnings.at(0),
            "WEFT_SOMETHING_ELSE is not an option of Weft; 'weft config' lists them");
  EXPECT_TRUE(parse_one("WEFTED", "1").warnings.empty());
  EXPECT_TRUE(parse_one("NCCL_DEBUG", "1").warnings.empty());
}

TEST(Options, SourcesAreTold) {
  const ParsedOptions parsed = parse_one("WEFT_SLICE", "1ms");
  EXPECT_EQ(value_of(parsed, "WEFT_SLICE").source, Source::environment);
  EXPECT_EQ(value_of(parsed, "WEFT_SLICE").text, "1ms");
  EXPECT_STREQ(name_of(Source::environment), "environment");
}

TEST(Options, Percentages) {
  const std::pair<const char*, double> good[] = {{"1%", 0.01}, {"0.5 %", 0.005}, {"2", 0.02}, {"0%", 0.0}};
  for (const auto& [text, share] : good) {
    const ParsedOptions parsed = parse_one("WEFT_SLOWDOWN_BUDGET", text);
    EXPECT_TRUE(parsed.warnings.empty()) << text;
    EXPECT_DOUBLE_EQ(parsed.options.slowdown_budget, share) << text;
  }
  EXPECT_GT(parse_one("WEFT_SLOWDOWN_BUDGET", "off").options.slowdown_budget, 1e300);
  for (const char* text : {"-1%", "1%%", "little", "%", "nan", "inf", "1 percent"})
    EXPECT_EQ(parse_one("WEFT_SLOWDOWN_BUDGET", text).warnings.size(), 1u) << text;
}

TEST(Options, LimitsHaveARangeOrAreOff) {
  EXPECT_EQ(parse_options({}).options.trace_limit.bytes, std::uint64_t{1} << 30);
  EXPECT_EQ(parse_one("WEFT_TRACE_LIMIT", "20MiB").options.trace_limit.bytes, std::uint64_t{20} << 20);
  const ParsedOptions off = parse_one("WEFT_TRACE_LIMIT", "Off");
  EXPECT_TRUE(off.warnings.empty());
  EXPECT_EQ(off.options.trace_limit.bytes, ByteLimit::off);
  for (const char* text : {"1KiB", "2000TiB", "none", "-1"})
    EXPECT_EQ(parse_one("WEFT_TRACE_LIMIT", text).warnings,
              std::vector<std::string>{std::string("WEFT_TRACE_LIMIT=") + text +
                                       " is not a size from 1MiB to 1024TiB, or off; the default 1GiB is used"});
}

}  // namespace
}  // namespace weft
