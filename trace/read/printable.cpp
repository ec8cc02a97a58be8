// Byte by byte; see the header.
#include "trace/read/printable.h"

#include "trace/utf8.h"

namespace weft {
namespace {

// U+0080 to U+009F are control characters to many terminals; U+2028, U+2029 end a line; the others turn the direction.
bool is_control(std::string_view sequence) {
  if (sequence.size() == 1) return static_cast<unsigned char>(sequence[0]) < 0x20 || sequence[0] == 0x7f;
  if (sequence.size() == 2) return sequence[0] == '\xc2' && static_cast<unsigned char>(sequence[1]) < 0xa0;
  if (sequence.size() != 3 || sequence[0] != '\xe2') return false;
  const unsigned char last = static_cast<unsigned char>(sequence[2]);
  if (sequence[1] == '\x80') return last == 0x8e || last == 0x8f || (last >= 0xa8 && last <= 0xae);
  return sequence[1] == '\x81' && last >= 0xa6 && last <= 0xa9;
}

}  // namespace

std::string printable(std::string_view text) {
  constexpr std::string_view digits = "0123456789abcdef";
  std::string result;
  while (!text.empty()) {
    const std::size_t length = utf8_sequence_length(text);
    const std::string_view sequence = text.substr(0, length == 0 ? 1 : length);
    if (length != 0 && !is_control(sequence)) {
      result += sequence;
    } else {
      for (const char c : sequence) {
        result += "\\x";
        result += digits[static_cast<unsigned char>(c) >> 4];
        result += digits[static_cast<unsigned char>(c) & 15];
      }
    }
    text.remove_prefix(sequence.size());
  }
  return result;
}

}  // namespace weft
