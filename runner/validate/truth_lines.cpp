// See the header.
#include "runner/validate/truth_lines.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cstring>
#include <utility>

#include "trace/write/json.h"

namespace weft {
namespace {

constexpr std::size_t rows_of_a_line = 256;

void append(std::string& text, std::uint64_t value) {
  char digits[24];
  text.append(digits, std::to_chars(digits, digits + sizeof digits, value).ptr);
}

// One object as a line.
template <class Fill>
std::string line(std::string_view type, Fill fill) {
  std::string text;
  JsonLine json(text);
  json.text("type", type);
  fill(json);
  json.end();
  return text;
}

}  // namespace

std::string TruthLines::header(const TruthHeader& header) {
  return line("header", [&](JsonLine& json) {
    json.text("format", "weft-truth").number("version", 1).number("rank", header.rank).text("host", header.host);
    json.number("process", header.process).number("start_id", header.start_id).number("cupti", header.cupti);
    json.text("library", header.library).number("started", header.started);
  });
}

std::string TruthLines::off(std::string_view reason) {
  return line("off", [&](JsonLine& json) { json.text("reason", reason); });
}

std::string TruthLines::device(std::uint32_t cupti_device, int device) {
  return line("device", [&](JsonLine& json) { json.number("cupti", cupti_device).number("device", device); });
}

std::string TruthLines::fill_stream(std::uint32_t cupti_device, std::uint32_t context, std::uint32_t stream) {
  return line("fill", [&](JsonLine& json) {
    json.number("cupti", cupti_device).number("context", context).number("stream", stream);
  });
}

std::string TruthLines::clock(TimePoint before, std::uint64_t cupti, TimePoint after) {
  return line("clock",
              [&](JsonLine& json) { json.number("before", before).number("cupti", cupti).number("after", after); });
}

std::string TruthLines::counts(std::string_view type, const TruthCounts& counts) {
  return line(type, [&](JsonLine& json) {
    json.number("records", counts.records).number("dropped", counts.dropped).number("untimed", counts.untimed);
    json.number("unreadable", counts.unreadable).number("unwritten", counts.unwritten);
  });
}

bool TruthLines::add(const cupti::Activity& activity) {
  switch (activity.kind) {
    case cupti::concurrent_kernel: {
      const auto& kernel = reinterpret_cast<const cupti::KernelActivity&>(activity);
      const Work work = is_nccl_kernel(kernel.name) ? Work::communication : Work::compute;
      return add({static_cast<char>(work), kernel.device, kernel.context, kernel.stream}, kernel.start, kernel.end);
    }
    case cupti::memory_copy: {
      const auto& copy = reinterpret_cast<const cupti::CopyActivity&>(activity);
      // A copy within the device may use the multiprocessors; the others have engines of their own.
      const Work work = copy.copy_kind == cupti::copy_device_to_device ? Work::compute : Work::copy;
      return add({static_cast<char>(work), copy.device, copy.context, copy.stream}, copy.start, copy.end);
    }
    case cupti::memory_set: {
      const auto& set = reinterpret_cast<const cupti::SetActivity&>(activity);
      return add({static_cast<char>(Work::compute), set.device, set.context, set.stream}, set.start, set.end);
    }
    default:
      return true;
  }
}

bool TruthLines::add(const Place& place, std::uint64_t begin, std::uint64_t end) {
  if (begin == 0 || end < begin) return false;
  const Row row{begin, end, end - begin, 1};
  // Each NCCL kernel stays as it is: its ends are what bubbles are compared with.
  ++taken_;
  if (std::get<0>(place) == static_cast<char>(Work::communication)) {
    write(place, row);
    return true;
  }
  const auto [found, is_new] = open_.try_emplace(place, row);
  Row& latest = found->second;
  if (is_new) return true;
  if (begin >= latest.begin && begin < latest.end + joined_gap) {
    latest.end = std::max(latest.end, end);
    latest.busy += row.busy;
    ++latest.records;
  } else {
    write(place, latest);
    latest = row;
  }
  return true;
}

void TruthLines::write(const Place& place, const Row& row) {
  const auto& [work, device, context, stream] = place;
  rows_ += rows_.empty() ? "{\"type\": \"work\", \"rows\": [[\"" : ",[\"";
  rows_ += work;
  rows_ += '"';
  for (const std::uint64_t value : {std::uint64_t{device}, std::uint64_t{context}, std::uint64_t{stream}, row.begin,
                                    row.end, row.busy, row.records}) {
    rows_ += ',';
    append(rows_, value);
  }
  rows_ += ']';
  if (++row_count_ < rows_of_a_line) return;
  lines_ += rows_ + "]}\n";
  rows_.clear();
  row_count_ = 0;
}

std::string TruthLines::take() {
  for (const auto& [place, row] : open_) write(place, row);
  open_.clear();
  if (!rows_.empty()) lines_ += rows_ + "]}\n";
  rows_.clear();
  row_count_ = 0;
  taken_ = 0;
  return std::exchange(lines_, {});
}

bool is_nccl_kernel(const char* name) {
  if (name == nullptr) return false;
  const char* plain = name;
  if (std::strncmp(plain, "_Z", 2) == 0)
    for (plain += 2; std::isdigit(static_cast<unsigned char>(*plain)) != 0;) ++plain;
  return std::strncmp(plain, "nccl", 4) == 0 && std::strstr(plain, "Kernel") != nullptr;
}

}  // namespace weft
