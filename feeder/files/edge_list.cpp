// See edge_list.h.
#include "feeder/files/edge_list.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <limits>
#include <new>
#include <utility>

#include "feeder/files/edge_order.h"
#include "feeder/files/open_file.h"
#include "feeder/files/shared_look.h"
#include "runner/fill/host_memory.h"

namespace weft {
namespace {

constexpr std::size_t longest_line = 64 << 10, most_columns = 3;
constexpr std::uint64_t most_numbered = std::numeric_limits<std::int32_t>::max();
constexpr std::uint64_t bytes_of_edge = 96;  // while it is read, where all its vertices are new and have 63 bits

constexpr std::string_view blanks = " \t", byte_order_mark = "\xEF\xBB\xBF";

// The next word of the line, which loses it; "": there is none.
std::string_view next_word(std::string_view& line) {
  line.remove_prefix(std::min(line.find_first_not_of(blanks), line.size()));
  const std::string_view word = line.substr(0, line.find_first_of(blanks));
  line.remove_prefix(word.size());
  return word;
}

}  // namespace

EdgeReader::EdgeReader(std::string path, std::uint64_t most_edges)
    : path_(std::move(path)), most_edges_(std::min(most_edges, most_numbered)) {}

void EdgeReader::fail(const std::string& what) const {
  throw FileError(path_, "line " + std::to_string(line_) + " " + what);
}

std::int64_t EdgeReader::vertex_in(std::string_view word) const {
  std::int64_t vertex = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), vertex);
  if (error != std::errc{} || end != word.data() + word.size() || vertex < 0)
    fail("has '" + shown(word) + "' for a vertex, which is a whole number from 0 to 9223372036854775807");
  return vertex;
}

float EdgeReader::value_in(std::string_view word) const {
  double value = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
  if (error != std::errc{} || end != word.data() + word.size() || !std::isfinite(static_cast<float>(value)))
    fail("has '" + shown(word) + "' for a value, which is a finite number of 32 bits");
  return static_cast<float>(value);
}

void EdgeReader::take_line(std::string_view line) {
  ++line_;
  if (line.ends_with('\r')) line.remove_suffix(1);
  if (line_ == 1 && line.starts_with(byte_order_mark)) line.remove_prefix(byte_order_mark.size());
  if (line_ == 1 && line.starts_with("%%MatrixMarket"))
    fail("says that this is a Matrix Market file, which has a line of sizes; take that and this away");
  std::array<std::string_view, most_columns> words;
  std::size_t count = 0;
  for (std::string_view word = next_word(line); !word.empty(); word = next_word(line)) {
    if (count == 0 && (word.front() == '#' || word.front() == '%')) return;
    if (count == most_columns) fail("has more than three columns");
    words[count++] = word;
  }
  if (count == 0) return;
  if (count == 1) fail("has one column; an edge is a source, a target, and perhaps a value");
  const std::int64_t source = vertex_in(words[0]), target = vertex_in(words[1]);
  if (columns_ != 0 && count != columns_)
    fail("has " + std::to_string(count) + " columns, and those before it have " + std::to_string(columns_));
  columns_ = count;
  if (sources_.size() == most_edges_) fail("is one edge too many: there is room for " + std::to_string(most_edges_));
  if (count == most_columns) values_.push_back(value_in(words[2]));
  sources_.push_back(source);
  targets_.push_back(target);
}

void EdgeReader::take(std::string_view block) {
  while (!block.empty()) {
    const std::size_t end = block.find('\n');
    const std::string_view part = block.substr(0, end);
    if (begun_.size() + part.size() > longest_line) {
      ++line_;
      fail("has more than " + std::to_string(longest_line >> 10) + " KiB");
    }
    block.remove_prefix(end == std::string_view::npos ? block.size() : end + 1);
    if (end == std::string_view::npos || !begun_.empty()) begun_ += part;
    if (end == std::string_view::npos) return;
    take_line(begun_.empty() ? part : begun_);
    begun_.clear();
  }
}

EdgeList EdgeReader::finish(const StillReading& still_reading) {
  if (!begun_.empty()) take_line(std::exchange(begun_, {}));
  if (sources_.empty()) throw FileError(path_, "has no edges");
  EdgeList list = in_order({std::move(sources_), std::move(targets_), std::move(values_)}, still_reading);
  if (list.ids.size() > most_numbered)
    throw FileError(path_,
                    "has " + std::to_string(list.ids.size()) + " vertices, more than " + std::to_string(most_numbered));
  return list;
}

bool is_edge_list(std::string_view path) {
  return path.ends_with(".edges") || path.ends_with(".tsv") || path.ends_with(".txt");
}

namespace {

EdgeList read_edge_list(const std::string& path, const StillReading& still_reading) {
  constexpr std::uint64_t at_once = 1 << 20;
  const OpenFile file(path);
  const std::uint64_t available = available_host_memory().value_or(std::numeric_limits<std::uint64_t>::max());
  try {
    EdgeReader reader(path, available / 2 / bytes_of_edge);
    for (std::uint64_t first = 0; first < file.bytes(); first += at_once) {
      still_reading();
      // Others of this machine may read graphs, too, and the training is not to be the one that has to go.
      if (available_host_memory().value_or(available) < available / 4)
        throw FileError(path, "has more edges than there is memory for, beside all else that runs here");
      reader.take(file.text(first, std::min(at_once, file.bytes() - first)));
    }
    return reader.finish(still_reading);
  } catch (const std::bad_alloc&) {
    throw FileError(path, "has more edges than there is memory for");
  }
}

}  // namespace

std::shared_ptr<const EdgeList> open_edge_list(const std::string& path, const StillReading& still_reading) {
  static SharedLooks<EdgeList> lists;
  return lists.of(path, still_reading, [&] { return read_edge_list(path, still_reading); });
}

}  // namespace weft
