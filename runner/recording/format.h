// The file of a recording: what stands around the calls. docs/replay.md is the description for readers.
//
// Written by Recording in the training process, read by RecordingReader in the command. Numbers are in the byte order
// of the machine, which the file tells. No clock, thread or file here.
//
//   prefix, then blocks: a header, calls..., an end; where a process has opened the device again, once more so
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace weft {

// Rises when an entry, or a field of one, is laid out in another way.
inline constexpr std::uint32_t recording_version = 7;

struct RecordingPrefix {
  std::array<char, 8> magic{'w', 'e', 'f', 't', '-', 'r', 'e', 'c'};
  std::uint32_t byte_order = 0x01020304;
  std::uint32_t version = recording_version;
};
static_assert(sizeof(RecordingPrefix) == 16);

enum class BlockKind : std::uint32_t { header = 1, calls = 2, end = 3 };

// In front of each block. No entry of a recording goes over the end of its block.
struct BlockHeader {
  BlockKind kind{};
  std::uint32_t size = 0;      // bytes that follow
  std::uint64_t contents = 0;  // checksum() of them
  std::uint64_t own = 0;       // and of the members above
};
static_assert(sizeof(BlockHeader) == 24);

inline constexpr std::uint32_t most_block_bytes = 4U << 20;

// header: RecordLayout of the records, then the trace's header, as it stands in the trace.
// end: RecordingEnd, then the trace's summary, likewise, where there is one.
enum class RecordingEnd : std::uint32_t { complete, limit, behind, without_summary };

enum class Call : std::uint8_t {
#define INPUT(name, number) name = number,
#define ANSWER(name, number) name = number,
#include "runner/recording/calls.def"
#undef INPUT
#undef ANSWER
};

// FNV-1a, 64 bits: no change of a single byte goes unnoticed.
constexpr std::uint64_t checksum(std::string_view bytes, std::uint64_t so_far = 0xcbf29ce484222325) {
  for (const char c : bytes) so_far = (so_far ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  return so_far;
}

// Of a block header without its last member.
inline std::uint64_t own_checksum(const BlockHeader& block) {
  return checksum({reinterpret_cast<const char*>(&block), offsetof(BlockHeader, own)});
}

}  // namespace weft
