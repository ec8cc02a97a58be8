// docs/trace.md against the table of fields: every key of every kind of line stands in the first column of its section,
// in the order of the line, and nothing else does. Likewise, in any order, those of weft summary --json.
#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>
#include <regex>
#include <set>
#include <sstream>

#include "tests/trace/temporary_directory.h"
#include "trace/read/summary.h"
#include "trace/record_fields.h"

namespace weft {
namespace {

using Names = std::vector<std::string>;
using nlohmann::json;

// By the title of its section, the names in the first column of its tables, in their order.
std::map<std::string, Names> documented() {
  std::map<std::string, Names> sections;
  std::istringstream page(test::read_file(WEFT_TRACE_PAGE));
  std::string section, line;
  const std::regex quoted("`([a-z_]+)`");
  while (std::getline(page, line)) {
    if (line.starts_with("## ")) section = line.substr(3);
    if (line.starts_with("## `")) sections[section];
    if (!line.starts_with("| `")) continue;
    const std::string column = line.substr(0, line.find('|', 1));
    for (auto name = std::sregex_iterator(column.begin(), column.end(), quoted); name != std::sregex_iterator(); ++name)
      sections[section].push_back((*name)[1]);
  }
  return sections;
}

struct Keys {
  void add(const char* key) { names.emplace_back(key); }
  void constant(const char* key, const char*) { add(key); }
  void count(const char* key, auto&) { add(key); }
  void integer(const char* key, auto&) { add(key); }
  void total(const char* key, auto&) { add(key); }
  void time(const char* key, auto&) { add(key); }
  void begin_time(const char* key, auto&) { add(key); }
  void end_time(const char* key, auto&) { add(key); }
  void time_if(bool, const char* key, auto&) { add(key); }
  void length(const char* key, auto&) { add(key); }
  void needed_length(const char* key, auto&) { add(key); }
  void length_if(bool, const char* key, auto&) { add(key); }
  void total_if(bool, const char* key, auto&) { add(key); }
  void offset_if(bool, const char* key, auto&) { add(key); }
  void share(const char* key, auto&) { add(key); }
  void share_if(bool, const char* key, auto&) { add(key); }
  void flag(const char* key, auto&) { add(key); }
  void verdict(const char* key, auto&) { add(key); }
  void text(const char* key, auto&) { add(key); }
  void choice(const char* key, const auto&, auto&) { add(key); }
  void hash(const char* key, auto&) { add(key); }
  void object(const char* key, auto&) { add(key); }
  void list(const char* key, auto&) { add(key); }
  void counts(const char* key, const auto&, auto&) { add(key); }
  Names names;
};

Names keys_of(auto value) {
  Keys keys;
  visit_fields(keys, value);
  return keys.names;
}

TEST(TracePage, HasEveryKeyOfEveryLineInItsOrder) {
  std::map<std::string, Names> expected{{"`header`", keys_of(TraceHeader{})}, {"`summary`", keys_of(TraceSummary{})}};
#define RECORD(kind, Type) expected["`" #kind "`"] = keys_of(Type{});
#include "trace/record_kinds.def"
#undef RECORD
  std::map<std::string, Names> page = documented();
  page.erase("`weft summary --json`");
  for (const auto& [title, keys] : page) {
    if (!title.starts_with("`")) continue;
    EXPECT_TRUE(expected.contains(title)) << title << " is no kind of line";
    EXPECT_EQ(keys, expected[title]) << title;
    expected.erase(title);
  }
  EXPECT_TRUE(expected.empty()) << expected.begin()->first << " has no section";
}

// Names of reasons, causes and events, and keys inside of objects, stand in the rows of the keys that have them.
TEST(TracePage, HasEveryNameThatAValueMayBe) {
  const std::string page = test::read_file(WEFT_TRACE_PAGE);
  Names names = keys_of(Forecast{});
  for (const Names& inside : {keys_of(OperationRecord{}), keys_of(StartupRecord{})})
    names.insert(names.end(), inside.begin(), inside.end());
  for (const auto& list :
       {Names(cause_names.begin(), cause_names.end()), Names(pattern_names.begin(), pattern_names.end()),
        Names(memory_event_names.begin(), memory_event_names.end()),
        Names(communicator_event_names.begin(), communicator_event_names.end()),
        Names(operation_names.begin(), operation_names.end()), Names(unfilled_names.begin(), unfilled_names.end())})
    names.insert(names.end(), list.begin(), list.end());
  for (const std::string& name : names) EXPECT_NE(page.find("`" + name + "`"), std::string::npos) << name;
}

TEST(TracePage, HasEveryKeyOfWeftSummary) {
  const json run = json::parse(to_json(summarize_directories({WEFT_TEST_RUN})));
  std::set<std::string> all;
  for (const json& part : {run, run["ranks"][0], run["total"], run["most_idle_slots"][0]})
    for (const auto& [key, value] : part.items()) all.insert(key);
  const Names page = documented().at("`weft summary --json`");
  EXPECT_EQ(std::set<std::string>(page.begin(), page.end()), all);
}

}  // namespace
}  // namespace weft
