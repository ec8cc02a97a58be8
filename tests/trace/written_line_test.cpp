// The quick way to read a line against the JSON library: where it gives a record, that has to be the same one, whatever
// became of the line; and of lines that the writer wrote it has to give one.
#include "trace/read/written_line.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "trace/read/decode.h"
#include "trace/write/lines.h"

namespace weft {
namespace {

std::string line_of(const Record& record) {
  std::string line;
  append_record(line, record);
  if (line.ends_with('\n')) line.pop_back();
  return line;
}

// With something in all that may be absent.
std::vector<Record> records() {
  std::vector<Record> all;
#define RECORD(kind, Type) all.emplace_back(3, TimePoint(Duration(59491859529334)), Type{});
#include "trace/record_kinds.def"
#undef RECORD
  Bubble bubble;
  bubble.id = 7;
  bubble.opened = TimePoint(Duration(100));
  bubble.closed = TimePoint(Duration(200));
  bubble.cause = Cause::collective;
  bubble.rhythm = 0x492916a09701045e;
  bubble.forecast = Forecast{Duration(1), Duration(2), Duration(3), 4};
  bubble.left_out = true;
  all.emplace_back(0, TimePoint(Duration(200)), bubble);
  GroupRecord group;
  group.begun_known = group.ended_known = true;
  group.begun = TimePoint(Duration(5));
  group.ended = TimePoint(Duration(9));
  for (const std::int32_t peer : {-1, 3}) group.operations.add({Operation::all_reduce, peer, 65536, 12});
  all.emplace_back(0, TimePoint(Duration(9)), group);
  SlowdownRecord slowdown{-0.0125, -0.5, 12.25, 3, 4, 0.01, 0.5, 60};
  all.emplace_back(0, TimePoint(Duration(9)), slowdown);
  SliceRecord slice;
  slice.unit_done = true;
  slice.correct = 1;
  all.emplace_back(0, TimePoint(Duration(9)), slice);
  JobRecord job;
  job.name = std::string_view("matmul (batch=8)");
  all.emplace_back(0, TimePoint(Duration(9)), job);
  return all;
}

// As the JSON library has it; nothing: it is no record, or holds something that cannot be true.
std::optional<Record> read_as_json(const std::string& text) {
  const nlohmann::json json = nlohmann::json::parse(text, nullptr, false);
  if (!json.is_object() || !json.contains("type") || !json["type"].is_string()) return std::nullopt;
  TraceLine line{1, {}};
  const std::optional<Record> record = decode_record(json["type"], json, line);
  return line.sound() ? record : std::nullopt;
}

TEST(WrittenLine, IsReadAsTheJsonLibraryReadsIt) {
  for (const Record& record : records()) {
    const std::string line = line_of(record);
    const std::optional<Record> found = read_written_record(line);
    ASSERT_TRUE(found) << line;
    EXPECT_EQ(line_of(*found), line);
  }
}

TEST(WrittenLine, OneLetterThatIsAnotherOneNeverMakesItAnotherRecordThanTheJsonLibraryHas) {
  std::size_t taken = 0;
  for (const Record& record : records()) {
    const std::string line = line_of(record);
    for (std::size_t place = 0; place < line.size(); ++place) {
      for (const char letter : std::string_view("09-.,e\"\\ {}[]nt\x01\xff")) {
        std::string changed = line;
        changed[place] = letter;
        const std::optional<Record> found = read_written_record(changed);
        if (!found) continue;
        ++taken;
        const std::optional<Record> expected = read_as_json(changed);
        ASSERT_TRUE(expected) << changed;
        ASSERT_EQ(line_of(*found), line_of(*expected)) << changed;
      }
    }
  }
  EXPECT_GT(taken, 1000u);
}

TEST(WrittenLine, ALetterTooFewOrTooManyIsLeftToTheJsonLibrary) {
  for (const Record& record : records()) {
    const std::string line = line_of(record);
    for (std::size_t place = 0; place < line.size(); ++place) {
      for (const std::string& changed : {line.substr(0, place), line.substr(0, place) + line.substr(place + 1),
                                         line.substr(0, place) + " " + line.substr(place)}) {
        const std::optional<Record> found = read_written_record(changed);
        if (!found) continue;
        const std::optional<Record> expected = read_as_json(changed);
        ASSERT_TRUE(expected) << changed;
        ASSERT_EQ(line_of(*found), line_of(*expected)) << changed;
      }
    }
  }
}

TEST(WrittenLine, AnythingThatCannotBeTrueIsLeftToTheJsonLibrary) {
  const std::string slice =
      R"({"type": "slice", "time": 1, "device": 0, "job": 0, "unit": 0, "slice": 0, "bubble": 1, "launched": 5, )"
      R"("finished": 4, "alone": 1, "unit_done": false, "correct": null})";
  EXPECT_FALSE(read_written_record(slice));
  EXPECT_FALSE(read_written_record(R"({"type": "limit", "time": 1, "device": 0, "bytes": 9223372036854775807})"));
  EXPECT_FALSE(read_written_record(R"({"type": "limit", "time": -1, "device": 0, "bytes": 1})"));
  EXPECT_FALSE(read_written_record(R"({"type": "header", "format": "weft-trace"})"));
  EXPECT_FALSE(read_written_record(""));
}

}  // namespace
}  // namespace weft
