// One JSON object per line, written key by key into a string. `"key": value`, with a blank after each colon: some
// readers of such files look for exactly that.
//
// Used by the writer thread only. It knows objects and lists of objects; the caller closes what it opens.
#pragma once

#include <concepts>
#include <cstdint>
#include <string>
#include <string_view>

#include "detector/time.h"

namespace weft {

class JsonLine {
 public:
  explicit JsonLine(std::string& out) : out_(out) { out_ += '{'; }

  JsonLine& text(std::string_view key, std::string_view value);
  JsonLine& null(std::string_view key);
  JsonLine& flag(std::string_view key, bool value);
  JsonLine& number(std::string_view key, std::integral auto value) {
    if constexpr (std::signed_integral<decltype(value)>)
      return signed_number(key, value);
    else
      return unsigned_number(key, value);
  }
  JsonLine& number(std::string_view key, double value);  // with six decimals; finite
  JsonLine& number(std::string_view key, Duration value) { return signed_number(key, value.count()); }
  JsonLine& number(std::string_view key, TimePoint value) { return number(key, value.time_since_epoch()); }

  JsonLine& open(std::string_view key);  // an object as value
  JsonLine& close();
  JsonLine& open_list(std::string_view key);  // of objects
  JsonLine& open_item();
  JsonLine& close_list();
  void end() { out_ += "}\n"; }

 private:
  JsonLine& signed_number(std::string_view key, std::int64_t value);
  JsonLine& unsigned_number(std::string_view key, std::uint64_t value);
  void begin(std::string_view key);

  std::string& out_;
};

}  // namespace weft
