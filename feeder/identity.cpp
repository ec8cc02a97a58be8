// See identity.h.
#include "feeder/identity.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <vector>

#include "feeder/files/open_file.h"

namespace weft {
namespace {

constexpr std::uint64_t wholly = std::uint64_t{256} << 20, piece = std::uint64_t{1} << 20, pieces = 256;

}  // namespace

std::string identity_of_file(const std::string& path) {
  const OpenFile file(path);
  const std::unique_ptr<XXH3_state_t, XXH_errorcode (*)(XXH3_state_t*)> state(XXH3_createState(), &XXH3_freeState);
  XXH3_128bits_reset(state.get());
  std::vector<std::byte> bytes(piece);
  const auto add = [&](std::uint64_t offset) {
    const std::span part = std::span(bytes).first(std::min(piece, file.bytes() - offset));
    file.read(offset, part);
    XXH3_128bits_update(state.get(), part.data(), part.size());
  };
  if (file.bytes() <= wholly) {
    for (std::uint64_t offset = 0; offset < file.bytes(); offset += piece) add(offset);
  } else {
    const std::uint64_t size = file.bytes();
    XXH3_128bits_update(state.get(), &size, sizeof size);
    for (std::uint64_t number = 0; number < pieces; ++number) add((size - piece) / (pieces - 1) * number);
    add(size - piece);
  }
  const XXH128_hash_t hash = XXH3_128bits_digest(state.get());
  std::array<char, 33> text{};
  std::snprintf(text.data(), text.size(), "%016llx%016llx", static_cast<unsigned long long>(hash.high64),
                static_cast<unsigned long long>(hash.low64));
  return text.data();
}

}  // namespace weft
