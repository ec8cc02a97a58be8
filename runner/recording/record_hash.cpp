// See record_hash.h.
#include "runner/recording/record_hash.h"

#include <bit>
#include <concepts>
#include <optional>
#include <string_view>
#include <type_traits>

#include "runner/recording/format.h"
#include "trace/record_fields.h"

namespace weft {
namespace {

class FieldHash {
 public:
  std::uint64_t value() const { return value_; }

  void constant(const char*, const char*) {}
  void count(const char*, auto value) { add(value); }
  void integer(const char*, auto value) { add(value); }
  void total(const char*, auto value) { add(value); }
  void time(const char*, TimePoint value) { add(value.time_since_epoch()); }
  void begin_time(const char*, TimePoint value) { add(value.time_since_epoch()); }
  void end_time(const char*, TimePoint value) { add(value.time_since_epoch()); }
  void time_if(bool known, const char*, TimePoint value) { add_if(known, value.time_since_epoch()); }
  void length(const char*, Duration value) { add(value); }
  void needed_length(const char*, Duration value) { add(value); }
  void length_if(bool known, const char*, Duration value) { add_if(known, value); }
  void total_if(bool known, const char*, Duration value) { add_if(known, value); }
  void offset_if(bool known, const char*, Duration value) { add_if(known, value); }
  void share(const char*, double value) { add(std::bit_cast<std::uint64_t>(value)); }
  void share_if(bool known, const char* key, double value) { known ? share(key, value) : add(0); }
  void flag(const char*, bool value) { add(value ? 1 : 0); }
  void verdict(const char*, int value) { add(value); }
  void text(const char*, std::string_view value) {
    add(value.size());
    value_ = checksum(value, value_);
  }
  void choice(const char*, const auto&, auto value) { add(static_cast<std::uint64_t>(value)); }
  void hash(const char*, std::uint64_t bits) { add(bits); }
  template <class Part>
  void object(const char*, const std::optional<Part>& part) {
    add(part ? 1 : 0);
    if (part) visit_fields(*this, *part);
  }
  void list(const char*, const auto& parts) {
    add(parts.size());
    for (const auto& part : parts) visit_fields(*this, part);
  }
  void counts(const char*, const auto&, const auto& values) {
    for (const std::uint64_t value : values) add(value);
  }

 private:
  void add(std::integral auto value) {
    const auto bits = static_cast<std::uint64_t>(value);
    value_ = checksum({reinterpret_cast<const char*>(&bits), sizeof bits}, value_);
  }
  void add(Duration value) { add(value.count()); }
  void add_if(bool known, Duration value) {
    add(known ? 1 : 0);
    if (known) add(value);
  }

  std::uint64_t value_ = checksum("");
};

class KeyHash {
 public:
  std::uint64_t value() const { return value_; }

  void constant(const char*, const char*) {}
  void count(const char* key, auto&) { add(key); }
  void integer(const char* key, auto&) { add(key); }
  void total(const char* key, auto&) { add(key); }
  void time(const char* key, auto&) { add(key); }
  void begin_time(const char* key, auto&) { add(key); }
  void end_time(const char* key, auto&) { add(key); }
  void time_if(auto&, const char* key, auto&) { add(key); }
  void length(const char* key, auto&) { add(key); }
  void needed_length(const char* key, auto&) { add(key); }
  void length_if(auto&, const char* key, auto&) { add(key); }
  void total_if(auto&, const char* key, auto&) { add(key); }
  void offset_if(auto&, const char* key, auto&) { add(key); }
  void share(const char* key, auto&) { add(key); }
  void share_if(bool, const char* key, auto&) { add(key); }
  void flag(const char* key, auto&) { add(key); }
  void verdict(const char* key, auto&) { add(key); }
  void text(const char* key, auto&) { add(key); }
  void choice(const char* key, const auto& names, auto&) { add_all(key, names); }
  void hash(const char* key, auto&) { add(key); }
  template <class Part>
  void object(const char* key, std::optional<Part>&) {
    add(key);
    Part part{};
    visit_fields(*this, part);
  }
  void list(const char* key, auto& parts) {
    add(key);
    std::remove_cvref_t<decltype(*parts.begin())> part{};
    visit_fields(*this, part);
  }
  void counts(const char* key, const auto& names, auto&) { add_all(key, names); }

 private:
  void add(std::string_view key) { value_ = checksum(",", checksum(key, value_)); }
  void add_all(const char* key, const auto& names) {
    add(key);
    for (const auto& name : names) add(name);
  }

  std::uint64_t value_ = checksum("");
};

}  // namespace

RecordHash hash_of(const Record& record) {
  FieldHash hash;
  visit_common_fields(hash, record);
  visit_kind(record, [&](const auto& value) { visit_fields(hash, value); });
  if (record.kind == RecordKind::anomaly) hash.count("audience", static_cast<unsigned>(record.anomaly.audience));
  return {record.kind, hash.value()};
}

std::uint64_t record_layout() {
  KeyHash keys;
#define RECORD(kind, Type)     \
  {                            \
    Type value{};              \
    visit_fields(keys, value); \
  }
#include "trace/record_kinds.def"
#undef RECORD
  return keys.value();
}

}  // namespace weft
