// Values into bytes and back: Put writes an entry of a recording, Take reads one. Both have the same methods, so the
// fields of a struct are listed once for both (fields.h).
//
// Put is used by whoever steps a Session, in a bubble as well: it allocates nothing. Take believes nothing: of what
// cannot be, good() says so, and values are defaults from there on. Pure.
//
// Integers have seven bits in a byte, small ones first; those that may be negative are folded (0, -1, 1, -2 ...). A
// time is the difference to the time before it, and slices that are offered again are not listed again. So an entry
// can only be read behind all before it.
#pragma once

#include <array>
#include <bit>
#include <concepts>
#include <cstdint>
#include <cstring>
#include <limits>
#include <string_view>
#include <type_traits>
#include <utility>

#include "detector/time.h"
#include "runner/policy/planner.h"
#include "runner/recording/format.h"
#include "trace/fixed_text.h"

namespace weft {

// As of the entry before.
struct CodingState {
  TimePoint time{};
  Candidates candidates{};
};

inline bool are_same(const Candidates& one, const Candidates& other) {
  if (one.count != other.count) return false;
  for (std::uint32_t i = 0; i < one.count; ++i)
    if (one.alone[i] != other.alone[i]) return false;
  return true;
}

enum class Offered : std::uint8_t { nothing, the_same, others };

class Put {
 public:
  Put(CodingState& state, Call call) : state_(state) { byte(static_cast<std::uint8_t>(call)); }

  std::string_view bytes() const { return {bytes_.data(), size_}; }

  void number(std::integral auto value) {
    if constexpr (std::signed_integral<decltype(value)>)
      folded(value);
    else
      unsigned_number(value);
  }
  void flag(bool value) { byte(value ? 1 : 0); }
  void choice(auto value, bool (*)(decltype(value))) { byte(static_cast<std::uint8_t>(value)); }
  void time(TimePoint value) {
    const auto now = static_cast<std::uint64_t>(value.time_since_epoch().count());
    const auto before = static_cast<std::uint64_t>(state_.time.time_since_epoch().count());
    folded(static_cast<std::int64_t>(now - before));
    state_.time = value;
  }
  void length(Duration value) { folded(value.count()); }
  void long_length(Duration value) { length(value); }
  void real(double value) { bits(std::bit_cast<std::uint64_t>(value)); }
  void bits(std::uint64_t value) {
    for (int i = 0; i < 8; ++i) byte(static_cast<std::uint8_t>(value >> (8 * i)));
  }
  template <std::size_t most>
  void text(const FixedText<most>& value) {
    const std::string_view view = value;
    unsigned_number(view.size());
    for (const char c : view) byte(static_cast<std::uint8_t>(c));
  }
  void candidates(const Candidates& value) {
    const bool is_same = are_same(value, state_.candidates);
    byte(static_cast<std::uint8_t>(value.count == 0 ? Offered::nothing
                                   : is_same        ? Offered::the_same
                                                    : Offered::others));
    if (value.count == 0 || is_same) return;
    unsigned_number(value.count);
    for (std::uint32_t i = 0; i < value.count; ++i) length(value.alone[i]);
    state_.candidates = value;
  }

 private:
  static constexpr std::size_t most = 1024;  // more than any entry has

  void byte(std::uint8_t value) {
    if (size_ < most) bytes_[size_++] = static_cast<char>(value);
  }
  void unsigned_number(std::uint64_t value) {
    for (; value >= 0x80; value >>= 7) byte(static_cast<std::uint8_t>(value | 0x80));
    byte(static_cast<std::uint8_t>(value));
  }
  void folded(std::int64_t value) {
    unsigned_number((static_cast<std::uint64_t>(value) << 1) ^ static_cast<std::uint64_t>(value >> 63));
  }

  CodingState& state_;
  std::size_t size_ = 0;
  std::array<char, most> bytes_;
};

class Take {
 public:
  Take(CodingState& state, std::string_view bytes) : state_(state), bytes_(bytes) {}

  bool good() const { return good_; }
  bool at_end() const { return next_ == bytes_.size() || !good_; }
  std::uint8_t byte() {
    if (next_ == bytes_.size()) good_ = false;
    return good_ ? static_cast<std::uint8_t>(bytes_[next_++]) : std::uint8_t{0};
  }

  template <std::integral Value>
  void number(Value& value) {
    if constexpr (std::signed_integral<Value>)
      value = within<Value>(folded());
    else
      value = within<Value>(unsigned_number());
  }
  void flag(bool& value) {
    const std::uint8_t read = byte();
    expect(read <= 1);
    value = read == 1;
  }
  template <class Value>
  void choice(Value& value, bool (*is_one)(Value)) {
    const auto read = static_cast<Value>(byte());
    expect(is_one(read));
    value = good_ ? read : Value{};
  }
  // Nine years at most: ten times a length, and a few of them added up, do not go beyond 64 bits.
  void time(TimePoint& value) {
    const auto before = static_cast<std::uint64_t>(state_.time.time_since_epoch().count());
    const auto now = static_cast<std::int64_t>(before + static_cast<std::uint64_t>(folded()));
    expect(now >= 0 && now <= largest);
    value = TimePoint(Duration(good_ ? now : 0));
    state_.time = value;
  }
  void length(Duration& value) { value = length_within(largest); }
  // Since 1970, up to the year 2043, or a user's deadline: nothing is added to them.
  void long_length(Duration& value) { value = length_within(largest_alone); }
  void real(double& value) {
    std::uint64_t read = 0;
    bits(read);
    value = std::bit_cast<double>(read);
    expect(value == value);
  }
  void bits(std::uint64_t& value) {
    value = 0;
    for (int i = 0; i < 8; ++i) value |= std::uint64_t{byte()} << (8 * i);
  }
  template <std::size_t most>
  void text(FixedText<most>& value) {
    const std::uint64_t size = unsigned_number();
    expect(size <= most && size <= bytes_.size() - next_);
    value = bytes_.substr(next_, good_ ? size : 0);
    if (good_) next_ += size;
  }
  void candidates(Candidates& value) {
    const auto offered = static_cast<Offered>(byte());
    expect(offered <= Offered::others);
    value = offered == Offered::the_same ? state_.candidates : Candidates{};
    if (!good_ || offered != Offered::others) return;
    const std::uint64_t count = unsigned_number();
    expect(count != 0 && count <= Candidates::most);
    for (std::uint64_t i = 0; good_ && i < count; ++i) {
      length(value.alone[i]);
      expect(value.alone[i] >= Duration{});
    }
    value.count = good_ ? static_cast<std::uint32_t>(count) : 0;
    state_.candidates = value;
  }
  // A rule that the values read so far have to keep.
  void expect(bool holds) { good_ = good_ && holds; }

 private:
  static constexpr std::int64_t largest = std::int64_t{1} << 58, largest_alone = std::int64_t{1} << 61;

  Duration length_within(std::int64_t most) {
    const std::int64_t read = folded();
    expect(read >= -most && read <= most);
    return Duration(good_ ? read : 0);
  }
  template <class Value>
  Value within(auto read) {
    expect(std::in_range<Value>(read));
    return good_ ? static_cast<Value>(read) : Value{};
  }
  std::uint64_t unsigned_number() {
    std::uint64_t value = 0;
    for (unsigned shift = 0;; shift += 7) {
      const std::uint8_t read = byte();
      expect(shift < 63 || read <= 1);
      if (!good_) return 0;
      value |= std::uint64_t{read & 0x7fU} << shift;
      if (read < 0x80) return value;
    }
  }
  std::int64_t folded() {
    const std::uint64_t read = unsigned_number();
    return static_cast<std::int64_t>((read >> 1) ^ (~(read & 1) + 1));
  }

  CodingState& state_;
  const std::string_view bytes_;
  std::size_t next_ = 0;
  bool good_ = true;
};

}  // namespace weft
