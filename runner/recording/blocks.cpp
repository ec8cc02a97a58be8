// See blocks.h.
#include "runner/recording/blocks.h"

#include "runner/recording/record_hash.h"
#include "trace/write/lines.h"

namespace weft {
namespace {

template <class Value>
std::string_view bytes_of(const Value& value) {
  return {reinterpret_cast<const char*>(&value), sizeof value};
}

}  // namespace

std::string prefix_bytes() {
  const RecordingPrefix prefix;
  return std::string(bytes_of(prefix));
}

void append_block(std::string& out, BlockKind kind, std::string_view contents) {
  BlockHeader block;
  block.kind = kind;
  block.size = static_cast<std::uint32_t>(contents.size());
  block.contents = checksum(contents);
  block.own = own_checksum(block);
  out.append(bytes_of(block)).append(contents);
}

void append_header_block(std::string& out, const TraceHeader& header) {
  const std::uint64_t layout = record_layout();
  std::string contents(bytes_of(layout));
  append_header(contents, header);
  append_block(out, BlockKind::header, contents);
}

void append_end_block(std::string& out, RecordingEnd end, const TraceSummary* summary) {
  std::string contents(bytes_of(end));
  if (summary != nullptr) append_summary(contents, *summary);
  append_block(out, BlockKind::end, contents);
}

}  // namespace weft
