// The values of one line of a trace, as far as they can be true. A disk, a bug or a stranger may have put anything
// there; a value that cannot be is said with its file and line, and never reaches a sum.
//
// Used by file_totals.cpp, in the weft command only. Pure.
#pragma once

#include <chrono>
#include <cstdint>
#include <limits>
#include <nlohmann/json.hpp>
#include <string>

#include "detector/time.h"

namespace weft {

// Nanoseconds: 146 years, of uptime or since 1970. The sum of two of them is still a number.
inline constexpr std::int64_t latest_time = (std::int64_t{1} << 62) - 1;
inline constexpr std::uint64_t highest_count = std::uint64_t{1} << 53;
inline constexpr std::size_t most_text_bytes = 256;

// Why the numbers of one file cannot be trusted.
class Doubts {
 public:
  void add(std::uint64_t line, const std::string& why);
  void add(const Doubts& others);
  std::uint64_t count() const { return count_; }
  std::string text(const std::string& file) const;  // the first with its place, and how many more lines

 private:
  std::uint64_t count_ = 0, lines_ = 0, last_line_ = 0;
  std::string first_;
};

class LineValues {
 public:
  LineValues(const nlohmann::json& line, std::uint64_t number, Doubts& doubts)
      : line_(line), number_(number), doubts_(doubts), doubts_before_(doubts.count()) {}

  std::uint64_t number() const { return number_; }
  bool sound() const { return doubts_.count() == doubts_before_; }  // nothing impossible so far
  void doubt(const std::string& why) { doubts_.add(number_, why); }

  // An absent key is 0, false or "". Text is cut after most_text_bytes.
  std::int64_t integer(const char* key, std::int64_t absent = 0);
  std::uint64_t count(const char* key);
  Duration time(const char* key);                        // or a length: from 0 to latest_time
  Duration needed_time(const char* key);                 // an absent one is impossible
  Duration between(const char* begin, const char* end);  // both needed
  double fraction(const char* key, double absent = 0);
  std::string text(const char* key) const;
  bool is(const char* key, bool wanted) const;

  // An object in this line; something impossible there makes the line unsound, too.
  LineValues inside(const nlohmann::json& object) const { return {object, number_, doubts_}; }

 private:
  const nlohmann::json* find(const char* key) const;

  const nlohmann::json& line_;
  std::uint64_t number_;
  Doubts& doubts_;
  std::uint64_t doubts_before_;
};

// Never beyond the ends of the type: what is there has been doubted before.
inline void add_to(Duration& sum, Duration part) {
  std::int64_t result = 0;
  const bool beyond = __builtin_add_overflow(sum.count(), part.count(), &result);
  sum = beyond ? Duration::max() : Duration(result);
}
inline void add_to(std::uint64_t& sum, std::uint64_t part) {
  if (__builtin_add_overflow(sum, part, &sum)) sum = std::numeric_limits<std::uint64_t>::max();
}

}  // namespace weft
