// The lines of one file that may be anything: it has the name of a trace, nothing more is known of it.
//
// Used by reader.cpp, in the weft command only. Memory does not depend on the file, and reading ends: it never waits
// for a writer, and a file that grows meanwhile is read up to the size that it had at first.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace weft {

// A record of Weft has a few hundred bytes. Longer lines are passed over without being kept.
inline constexpr std::size_t most_line_bytes = 64 * 1024;

struct FileLine {
  std::string_view text;     // until the next call; empty when too long
  std::uint64_t number = 0;  // from 1
  bool too_long = false;
  bool cut_off = false;  // the file ends without a line break
};

// Lines from pieces of a file that come one after the other. Memory does not depend on the length of a line.
class LineSplitter {
 public:
  // The piece before has been used up; this one is there until next() gives nothing.
  void give(std::string_view piece) { unread_ = piece; }
  // Nothing: the piece is used up, and the begin of a line may be kept from it.
  std::optional<FileLine> next();
  // That begin, as the line that it is where nothing more comes. Nothing: the last line was whole.
  std::optional<FileLine> rest();

 private:
  void keep(std::string_view part);

  std::string_view unread_;
  std::uint64_t number_ = 0;
  std::string line_;
  bool too_long_ = false, any_ = false, given_ = false;
};

class LineReader {
 public:
  // Throws std::runtime_error, one line, when it cannot be opened or is no regular file (a FIFO, a device, a
  // directory).
  explicit LineReader(const std::string& path);
  ~LineReader();
  LineReader(const LineReader&) = delete;
  LineReader& operator=(const LineReader&) = delete;

  std::optional<FileLine> next();
  // errno of the read that failed, after which there are no more lines; 0: none did.
  int error() const { return error_; }

 private:
  bool fill();

  int file_ = -1;
  std::uint64_t left_ = 0;  // of the file, in bytes
  int error_ = 0;
  std::array<char, 64 * 1024> buffer_;
  LineSplitter lines_;
};

}  // namespace weft
