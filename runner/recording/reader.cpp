// See reader.h.
#include "runner/recording/reader.h"

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>

#include "trace/read/decode.h"
#include "weft/version.h"

namespace weft {
namespace {

using nlohmann::json;

// The value in front of a block's contents, which is cut off there.
template <class Value>
Value leading(std::string_view& contents) {
  Value value{};
  if (contents.size() < sizeof value) throw RecordingError("is damaged: a block is too short");
  std::memcpy(&value, contents.data(), sizeof value);
  contents.remove_prefix(sizeof value);
  return value;
}

json line_in(std::string_view contents) {
  json line = json::parse(contents, nullptr, false);
  if (!line.is_object()) throw RecordingError("is damaged: a line cannot be read");
  return line;
}

std::unique_ptr<std::istream> opened(const std::string& path) {
  std::error_code error;
  const std::filesystem::file_status status = std::filesystem::status(path, error);
  if (status.type() == std::filesystem::file_type::not_found) throw RecordingError("does not exist");
  if (status.type() == std::filesystem::file_type::none) throw RecordingError("cannot be read: " + error.message());
  if (!is_regular_file(status)) throw RecordingError("is not a file");
  auto file = std::make_unique<std::ifstream>(path, std::ios::binary);
  if (!*file) throw RecordingError(std::string("cannot be read: ") + std::strerror(errno));
  return file;
}

}  // namespace

RecordedHeader header_in(const RecordingBlock& block) {
  std::string_view contents = block.contents;
  RecordedHeader result;
  result.layout = leading<std::uint64_t>(contents);
  TraceLine line;
  result.header = decode_header(line_in(contents), line);
  if (!line.sound()) throw RecordingError("is damaged: its header cannot be");
  if (result.header.version > WEFT_TRACE_VERSION) throw RecordingError("was made by a newer Weft");
  return result;
}

RecordedEnd end_in(const RecordingBlock& block) {
  std::string_view contents = block.contents;
  RecordedEnd result;
  result.end = leading<RecordingEnd>(contents);
  if (result.end > RecordingEnd::without_summary) throw RecordingError("is damaged: its end cannot be");
  if (contents.empty()) return result;
  TraceLine line;
  result.summary = decode_summary(line_in(contents), line);
  return result;
}

RecordingReader::RecordingReader(const std::string& path) : RecordingReader(opened(path)) {}

RecordingReader::RecordingReader(std::unique_ptr<std::istream> file) : file_(std::move(file)) {
  const RecordingPrefix own;
  RecordingPrefix prefix{};
  const std::size_t size = read(reinterpret_cast<char*>(&prefix), sizeof prefix);
  if (size == 0) throw RecordingError("is empty");
  if (size < sizeof prefix.magic || prefix.magic != own.magic) throw RecordingError("is not a recording of Weft");
  if (size < sizeof prefix) throw RecordingError("breaks off before its first block");
  if (prefix.byte_order == __builtin_bswap32(own.byte_order))
    throw RecordingError("was made on a machine of the other byte order");
  if (prefix.byte_order != own.byte_order) throw RecordingError("is damaged: its first bytes cannot be");
  if (prefix.version == own.version) return;
  throw RecordingError("has version " + std::to_string(prefix.version) + " of the format; this Weft (" +
                       WEFT_VERSION_STRING + ") replays version " + std::to_string(own.version));
}

std::optional<RecordingBlock> RecordingReader::next() {
  const std::uint64_t place = place_;
  const auto damaged = [&] { return RecordingError("is damaged at byte " + std::to_string(place)); };
  BlockHeader header;
  const std::size_t size = read(reinterpret_cast<char*>(&header), sizeof header);
  cut_ = size < sizeof header ? size != 0 || in_session_ : false;
  if (size < sizeof header && place == sizeof(RecordingPrefix))
    throw RecordingError("breaks off before its first block");
  if (size < sizeof header) return std::nullopt;
  if (header.own != own_checksum(header) || header.size > most_block_bytes) throw damaged();
  RecordingBlock block{header.kind, std::string(header.size, '\0')};
  if (read(block.contents.data(), header.size) < header.size) {
    if (place == sizeof(RecordingPrefix)) throw RecordingError("breaks off before its first block");
    cut_ = true;
    return std::nullopt;
  }
  if (header.contents != checksum(block.contents)) throw damaged();
  check_order(header.kind);
  return block;
}

void RecordingReader::check_order(BlockKind kind) {
  const bool can_be =
      kind == BlockKind::header || (in_session_ && (kind == BlockKind::calls || kind == BlockKind::end));
  if (!can_be) throw RecordingError("is damaged: its blocks are in an order that cannot be");
  in_session_ = kind != BlockKind::end;
}

std::size_t RecordingReader::read(char* bytes, std::size_t size) {
  file_->read(bytes, static_cast<std::streamsize>(size));
  const auto count = static_cast<std::size_t>(file_->gcount());
  place_ += count;
  return count;
}

}  // namespace weft
