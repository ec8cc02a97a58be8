// See identity.h.
#include "feeder/identity.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "feeder/files/open_file.h"

namespace weft {
namespace {

constexpr std::uint64_t wholly = std::uint64_t{256} << 20, piece = std::uint64_t{1} << 20, pieces = 256;

// Files one behind the other. One of them is open at a time.
class Files {
 public:
  void add(std::string path, std::uint64_t its_bytes) {
    paths_.push_back(std::move(path));
    ends_.push_back(bytes() + its_bytes);
  }

  std::uint64_t bytes() const { return ends_.empty() ? 0 : ends_.back(); }

  void read(std::uint64_t offset, std::span<std::byte> to) {
    while (!to.empty()) {
      const auto number = static_cast<std::size_t>(std::ranges::upper_bound(ends_, offset) - ends_.begin());
      if (file_ == nullptr || number != open_) file_ = std::make_unique<OpenFile>(paths_[number]);
      if (file_->bytes() != ends_[number] - begin_of(number))
        throw FileError(paths_[number], "has changed since the folder was looked through");
      open_ = number;
      const auto part = to.first(std::min<std::uint64_t>(to.size(), ends_[number] - offset));
      file_->read(offset - begin_of(number), part);
      offset += part.size();
      to = to.subspan(part.size());
    }
  }

 private:
  std::uint64_t begin_of(std::size_t number) const { return number == 0 ? 0 : ends_[number - 1]; }

  std::vector<std::string> paths_;
  std::vector<std::uint64_t> ends_;
  std::unique_ptr<OpenFile> file_;
  std::size_t open_ = 0;
};

class Hash {
 public:
  Hash() : state_(XXH3_createState(), &XXH3_freeState) { XXH3_128bits_reset(state_.get()); }
  void add(std::span<const std::byte> bytes) { XXH3_128bits_update(state_.get(), bytes.data(), bytes.size()); }
  std::string text() const {
    const XXH128_hash_t hash = XXH3_128bits_digest(state_.get());
    std::array<char, 33> text{};
    std::snprintf(text.data(), text.size(), "%016llx%016llx", static_cast<unsigned long long>(hash.high64),
                  static_cast<unsigned long long>(hash.low64));
    return text.data();
  }

 private:
  const std::unique_ptr<XXH3_state_t, XXH_errorcode (*)(XXH3_state_t*)> state_;
};

void add_contents(Files& files, Hash& hash) {
  std::vector<std::byte> bytes(piece);
  const std::uint64_t size = files.bytes();
  const auto add = [&](std::uint64_t offset) {
    const std::span part = std::span(bytes).first(std::min(piece, size - offset));
    files.read(offset, part);
    hash.add(part);
  };
  if (size <= wholly) {
    for (std::uint64_t offset = 0; offset < size; offset += piece) add(offset);
  } else {
    hash.add(std::as_bytes(std::span(&size, 1)));
    for (std::uint64_t number = 0; number < pieces; ++number) add((size - piece) / (pieces - 1) * number);
    add(size - piece);
  }
}

}  // namespace

std::string identity_of_file(const std::string& path) {
  Files file;
  file.add(path, OpenFile(path).bytes());
  Hash hash;
  add_contents(file, hash);
  return hash.text();
}

std::string identity_of_input(const std::string& path, const InputFile& input) {
  const std::vector<std::string> names = input.names();
  if (names.empty()) return identity_of_file(path);
  Files files;
  Hash hash;
  for (std::size_t number = 0; number < names.size(); ++number) {
    const std::uint64_t bytes = input.file_bytes(number);
    hash.add(std::as_bytes(std::span(names[number].c_str(), names[number].size() + 1)));  // none has a zero in it
    hash.add(std::as_bytes(std::span(&bytes, 1)));
    files.add(path + "/" + names[number], bytes);
  }
  add_contents(files, hash);
  return hash.text();
}

}  // namespace weft
