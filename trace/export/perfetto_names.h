// Texts that come again and again, by numbers: Perfetto calls it interning. A number is given at the first use, in the
// packet that uses it, and is good for the rest of the sequence.
//
// Used by perfetto_packets, on one thread. Memory is bounded: of more texts than there is room for, the later ones are
// written out each time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <protozero/pbf_writer.hpp>
#include <string>
#include <string_view>
#include <utility>

namespace weft {

// By the numbers of their lists in InternedData.
enum class PerfettoName : std::uint8_t { category = 1, event = 2, argument = 3, value = 29 };

class PerfettoNames {
 public:
  // 0: it is to be written out.
  std::uint64_t id_of(PerfettoName kind, std::string_view text) {
    std::map<std::string, std::uint64_t, std::less<>>& known = ids_[kind];
    const auto found = known.find(text);
    if (found != known.end()) return found->second;
    if (known.size() == most_) return 0;
    const std::uint64_t id = known.size() + 1;
    known.emplace(text, id);
    protozero::pbf_writer list(new_);
    protozero::pbf_writer entry(list, static_cast<protozero::pbf_tag_type>(kind));
    entry.add_uint64(1, id);
    entry.add_string(2, text.data(), text.size());
    return id;
  }

  // The contents of InternedData with the numbers that were given since the last call; "": none were.
  std::string take_new() { return std::exchange(new_, {}); }
  // Another sequence begins.
  void clear() { *this = PerfettoNames(); }

 private:
  static constexpr std::size_t most_ = 4096;  // of a kind
  std::map<PerfettoName, std::map<std::string, std::uint64_t, std::less<>>> ids_;
  std::string new_;
};

}  // namespace weft
