// See live_page.h.
#include "trace/live/live_page.h"

#include <cstring>

namespace weft {

// Word by word: each bit of the page changes about half of the sum's.
std::uint64_t checksum_of(const LivePage& page) {
  constexpr std::uint64_t seed = 0x9e3779b97f4a7c15, factor = 0xff51afd7ed558ccd;
  std::uint64_t sum = seed;
  for (std::size_t place = 0; place < offsetof(LivePage, checksum); place += sizeof(std::uint64_t)) {
    std::uint64_t word = 0;
    std::memcpy(&word, reinterpret_cast<const char*>(&page) + place, sizeof word);
    sum = (sum ^ word) * factor;
    sum ^= sum >> 32;
  }
  return sum;
}

void seal(LivePage& page, std::uint64_t sequence) {
  page.sequence = page.sequence_again = sequence;
  page.checksum = checksum_of(page);
}

std::string live_path(std::string_view trace_path) {
  constexpr std::string_view extension = ".jsonl";
  if (trace_path.ends_with(extension)) trace_path.remove_suffix(extension.size());
  return std::string(trace_path) + std::string(live_extension);
}

}  // namespace weft
