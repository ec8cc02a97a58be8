// docs/trace.md against what is written: every key of every kind of line, and of weft summary --json, stands in the
// first column of its section, and nothing else does.
#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>
#include <regex>
#include <set>
#include <sstream>

#include "tests/trace/temporary_directory.h"
#include "trace/read/summary.h"
#include "trace/write/lines.h"

namespace weft {
namespace {

using Names = std::set<std::string>;
using nlohmann::json;

constexpr RecordKind every_kind[] = {
#define RECORD(kind, Type) RecordKind::kind,
#include "trace/record_kinds.def"
#undef RECORD
};

// By the title of its section, the names in the first column of its tables.
std::map<std::string, Names> documented() {
  std::map<std::string, Names> sections;
  std::istringstream page(test::read_file(WEFT_TRACE_PAGE));
  std::string section, line;
  const std::regex quoted("`([a-z_]+)`");
  while (std::getline(page, line)) {
    if (line.starts_with("## ")) section = line.substr(3);
    if (!line.starts_with("| `")) continue;
    const std::string column = line.substr(0, line.find('|', 1));
    for (auto name = std::sregex_iterator(column.begin(), column.end(), quoted); name != std::sregex_iterator(); ++name)
      sections[section].insert((*name)[1]);
  }
  return sections;
}

Names keys_of(const json& object, const Names& common = {}) {
  Names names;
  for (const auto& [key, value] : object.items())
    if (!common.contains(key)) names.insert(key);
  return names;
}

TEST(TracePage, HasEveryKeyOfEveryRecord) {
  const auto page = documented();
  for (const RecordKind kind : every_kind) {
    Record record;
    record.kind = kind;
    std::string line;
    append_record(line, record);
    const json object = json::parse(line);
    const std::string title = "`" + object["type"].get<std::string>() + "`";
    ASSERT_TRUE(page.contains(title)) << title;
    EXPECT_EQ(page.at(title), keys_of(object, {"type", "time", "device"})) << title;
  }
}

TEST(TracePage, HasEveryKeyOfHeaderAndSummary) {
  std::string header, summary;
  append_header(header, {}, {});
  append_summary(summary, {}, {});
  EXPECT_EQ(documented().at("`header`"), keys_of(json::parse(header), {"type"}));
  EXPECT_EQ(documented().at("`summary`"), keys_of(json::parse(summary), {"type"}));
  const std::string page = test::read_file(WEFT_TRACE_PAGE);
  for (const std::string& reason : keys_of(json::parse(summary)["unfilled"]))
    EXPECT_NE(page.find("`" + reason + "`"), std::string::npos) << reason;
}

TEST(TracePage, HasEveryKeyOfWeftSummary) {
  const json run = json::parse(to_json(summarize_directories({WEFT_TEST_RUN})));
  Names all = keys_of(run);
  for (const json& part : {run["ranks"][0], run["total"], run["most_idle_slots"][0]}) all.merge(keys_of(part));
  EXPECT_EQ(documented().at("`weft summary --json`"), all);
}

}  // namespace
}  // namespace weft
