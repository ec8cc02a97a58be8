// Every field of every kind of line, written and read back: each has a value of its own, so a field that is lost, or
// swapped with another one, is found. The fields come from the table: a new one is covered.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "trace/read/decode.h"
#include "trace/write/lines.h"

namespace weft {
namespace {

// Gives each field another value that its type can have.
class Filler : public IgnoredFields {
 public:
  void count(const char*, auto& value) { set(value, ++last_); }
  void integer(const char*, auto& value) { set(value, -(++last_)); }
  void total(const char*, std::uint64_t& value) { set(value, ++last_); }
  void total(const char*, Duration& value) { value = Duration(++last_); }
  void time(const char*, TimePoint& value) { value = TimePoint(Duration(++last_)); }
  void begin_time(const char* key, TimePoint& value) { time(key, value); }
  void end_time(const char* key, TimePoint& value) { time(key, value); }
  void time_if(bool& known, const char* key, TimePoint& value) {
    known = true;
    time(key, value);
  }
  void length(const char*, Duration& value) { value = Duration(++last_); }
  void needed_length(const char* key, Duration& value) { length(key, value); }
  void length_if(bool& known, const char* key, Duration& value) {
    EXPECT_TRUE(known) << key;
    length(key, value);
  }
  void total_if(bool& known, const char* key, Duration& value) { length_if(known, key, value); }
  void offset_if(bool& known, const char*, Duration& value) {
    known = true;
    value = -Duration(++last_);
  }
  void share(const char*, double& value) { value = static_cast<double>(++last_) / 64; }
  void share_if(bool known, const char* key, double& value) {
    EXPECT_TRUE(known) << key;
    share(key, value);
  }
  void flag(const char*, bool& value) { value = !value; }
  void verdict(const char*, std::int8_t& value) { value = 0; }
  void text(const char* key, auto& value) { value = std::string(key) + " \"\n" + std::to_string(++last_); }
  template <class Value>
  void choice(const char*, const auto& names, Value& value) {
    value = static_cast<Value>(names.size() - 1);
  }
  void hash(const char*, std::uint64_t& bits) { bits = 0xfedcba9876543210 + static_cast<std::uint64_t>(++last_); }
  template <class Part>
  void object(const char*, std::optional<Part>& part) {
    visit_fields(*this, part.emplace());
  }
  void list(const char*, auto& values) {
    std::remove_reference_t<decltype(*values.begin())> value{};
    do visit_fields(*this, value);
    while (values.add(value));
  }
  void counts(const char* key, const auto&, auto& values) {
    for (auto& value : values) count(key, value);
  }

 private:
  template <class Integer>
  static void set(Integer& value, std::int64_t number) {
    value = static_cast<Integer>(number);
  }
  std::int64_t last_ = 0;
};

// All values of a record as text.
class Teller {
 public:
  void constant(const char*, const char*) {}
  void count(const char* key, auto value) { tell(key, value); }
  void integer(const char* key, auto value) { tell(key, value); }
  void total(const char* key, std::uint64_t value) { tell(key, value); }
  void total(const char* key, Duration value) { tell(key, value.count()); }
  void time(const char* key, TimePoint value) { tell(key, value.time_since_epoch().count()); }
  void begin_time(const char* key, TimePoint value) { time(key, value); }
  void end_time(const char* key, TimePoint value) { time(key, value); }
  void time_if(bool known, const char* key, TimePoint value) { length_if(known, key, value.time_since_epoch()); }
  void length(const char* key, Duration value) { tell(key, value.count()); }
  void needed_length(const char* key, Duration value) { length(key, value); }
  void length_if(bool known, const char* key, Duration value) {
    tell(key, known);
    length(key, value);
  }
  void total_if(bool known, const char* key, Duration value) { length_if(known, key, value); }
  void offset_if(bool known, const char* key, Duration value) { length_if(known, key, value); }
  void share(const char* key, double value) { tell(key, value); }
  void share_if(bool, const char* key, double value) { tell(key, value); }
  void flag(const char* key, bool value) { tell(key, value); }
  void verdict(const char* key, int value) { tell(key, value); }
  void text(const char* key, std::string_view value) { tell(key, value); }
  void choice(const char* key, const auto&, auto value) { tell(key, static_cast<int>(value)); }
  void hash(const char* key, std::uint64_t bits) { tell(key, bits); }
  void object(const char* key, const auto& part) {
    tell(key, part.has_value());
    if (part) visit_fields(*this, *part);
  }
  void list(const char* key, const auto& parts) {
    tell(key, parts.size());
    for (const auto& part : parts) visit_fields(*this, part);
  }
  void counts(const char* key, const auto&, const auto& values) {
    for (const auto value : values) tell(key, value);
  }
  std::string told() const { return out_.str(); }

 private:
  void tell(const char* key, const auto& value) { out_ << key << " " << value << "\n"; }
  std::ostringstream out_;
};

std::string told(const auto& value) {
  Teller teller;
  visit_fields(teller, value);
  return teller.told();
}

template <class Value>
Value filled() {
  Value value{};
  if constexpr (std::is_same_v<Value, SlowdownRecord>) value.control = 1;  // then it is known
  Filler filler;
  visit_fields(filler, value);
  return value;
}

template <class Value>
void goes_through_a_line(RecordKind kind, const char* name, const Value& value) {
  std::string text;
  append_record(text, Record(3, TimePoint(Duration(77)), value));
  const auto json = nlohmann::json::parse(text);
  EXPECT_EQ(json["type"], name);
  TraceLine line{1, {}};
  const std::optional<Record> read = decode_record(json["type"], json, line);
  ASSERT_TRUE(read) << text;
  EXPECT_TRUE(line.sound()) << line.doubts.text("line") << "\n" << text;
  EXPECT_EQ(read->kind, kind);
  EXPECT_EQ(read->device, 3);
  EXPECT_EQ(read->time, TimePoint(Duration(77)));
  visit_kind(*read, [&](const auto& found) { EXPECT_EQ(told(found), told(value)) << text; });
}

TEST(RoundTrip, OfEveryKindWithEveryFieldSet) {
#define RECORD(kind, Type) goes_through_a_line(RecordKind::kind, #kind, filled<Type>());
#include "trace/record_kinds.def"
#undef RECORD
}

TEST(RoundTrip, OfEveryKindAsItIsMade) {
#define RECORD(kind, Type) goes_through_a_line(RecordKind::kind, #kind, Type{});
#include "trace/record_kinds.def"
#undef RECORD
}

TEST(RoundTrip, OfAnIterationWhoseIdleTimeWasNotMeasured) {
  Iteration iteration;
  iteration.idle_known = false;
  goes_through_a_line(RecordKind::iteration, "iteration", iteration);
}

TEST(RoundTrip, OfTheHeader) {
  for (const TraceHeader& header : {filled<TraceHeader>(), TraceHeader{}}) {
    std::string text;
    append_header(text, header);
    TraceLine line;
    EXPECT_EQ(told(decode_header(nlohmann::json::parse(text), line)), told(header)) << text;
    EXPECT_TRUE(line.sound());
  }
}

TEST(RoundTrip, OfTheSummary) {
  TraceSummary unmeasured;
  unmeasured.idle_known = false;
  for (const TraceSummary& summary : {filled<TraceSummary>(), TraceSummary{}, unmeasured}) {
    std::string text;
    append_summary(text, summary);
    TraceLine line;
    EXPECT_EQ(told(decode_summary(nlohmann::json::parse(text), line)), told(summary)) << text;
    EXPECT_TRUE(line.sound());
  }
}

TEST(RoundTrip, OfAKindThatIsNotKnownIsNothing) {
  TraceLine line;
  EXPECT_FALSE(decode_record("forecast", nlohmann::json::parse(R"({"type": "forecast", "real": -1})"), line));
  EXPECT_TRUE(line.sound());
}

std::string doubt_of(const char* text) {
  TraceLine line{7, {}};
  decode_record("iteration", nlohmann::json::parse(text), line);
  return line.doubts.text("file");
}

TEST(Decode, SaysWhichValueCannotBe) {
  const std::string sound = R"("started": 1, "ended": 2)";
  EXPECT_EQ(doubt_of(("{" + sound + R"(, "groups": 4294967296})").c_str()), "file:7: `groups` cannot be 4294967296");
  EXPECT_EQ(doubt_of(("{" + sound + R"(, "device": -1})").c_str()), "file:7: `device` cannot be -1");
  for (const char* rhythm : {"7", "\"\"", "\"0x7\"", "\"11112222333344445\"", "\"-1\""})
    EXPECT_EQ(doubt_of(("{" + sound + R"(, "rhythm": )" + rhythm + "}").c_str()),
              "file:7: `rhythm` is not a hash of 64 bits");
}

TEST(Decode, ShowsThatATextWasCutOff) {
  TraceLine line;
  const nlohmann::json json{{"host", std::string(300, 'h')}};
  EXPECT_EQ(decode_header(json, line).host, std::string(251, 'h') + " ...");
}

}  // namespace
}  // namespace weft
