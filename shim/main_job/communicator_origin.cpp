// Ids and names of communicators; see communicator_origin.h.
#include "shim/main_job/communicator_origin.h"

#include <time.h>
#include <unistd.h>

#include <cstddef>

namespace weft {
namespace {

constexpr unsigned int config_magic = 0xcafebeef;
constexpr unsigned int first_with_names = NCCL_VERSION(2, 27, 0);
constexpr std::size_t least_with_name = offsetof(ncclConfig_t, commName) + sizeof(ncclConfig_t::commName);

enum class Maker : std::uint64_t { ids = 1, process, split, shrink };

// The finalizer of MurmurHash3: each bit of the input changes half of the output's.
std::uint64_t mixed(std::uint64_t bits) noexcept {
  bits = (bits ^ (bits >> 33)) * 0xff51afd7ed558ccdu;
  bits = (bits ^ (bits >> 33)) * 0xc4ceb9fe1a85ec53u;
  return bits ^ (bits >> 33);
}

std::uint64_t with(std::uint64_t hash, std::uint64_t value) noexcept {
  return mixed(hash * 0x9e3779b97f4a7c15u + value);
}

std::uint64_t begun(Maker maker) noexcept {
  return mixed(static_cast<std::uint64_t>(maker));
}

// 0 stands for none.
std::uint64_t finished(std::uint64_t hash) noexcept {
  return hash == 0 ? 1 : hash;
}

std::uint64_t with_bytes(std::uint64_t hash, const char* bytes, std::size_t count) noexcept {
  for (std::size_t place = 0; place < count; place += sizeof(std::uint64_t)) {
    std::uint64_t word = 0;
    for (std::size_t byte = 0; byte < sizeof word && place + byte < count; ++byte) {
      word |= static_cast<std::uint64_t>(static_cast<unsigned char>(bytes[place + byte])) << (8 * byte);
    }
    hash = with(hash, word);
  }
  return hash;
}

// The struct grows at its end, and has the size that it had when the program was built.
const char* name_in(const ncclConfig_t* config) noexcept {
  if (config == nullptr || config->size < least_with_name) return nullptr;
  return config->magic == config_magic && config->version >= first_with_names ? config->commName : nullptr;
}

CommunicatorOrigin named(std::uint64_t shared_id, const ncclConfig_t* config) noexcept {
  CommunicatorOrigin origin{};
  origin.shared_id = shared_id;
  const char* name = name_in(config);
  for (std::size_t place = 0; name != nullptr && name[place] != '\0' && place + 1 < sizeof origin.name.text; ++place) {
    origin.name.text[place] = name[place];
  }
  return origin;
}

}  // namespace

CommunicatorOrigin origin_of_ids(const ncclUniqueId* ids, int count, const ncclConfig_t* config) noexcept {
  if (ids == nullptr || count <= 0) return origin_unknown(config);
  std::uint64_t hash = begun(Maker::ids);
  for (int index = 0; index < count; ++index) {
    hash = with_bytes(hash, ids[index].internal, sizeof ids[index].internal);
  }
  return named(finished(hash), config);
}

CommunicatorOrigin origin_in_process() noexcept {
  timespec time{};
  clock_gettime(CLOCK_REALTIME, &time);
  std::uint64_t hash = with(begun(Maker::process), static_cast<std::uint64_t>(getpid()));
  hash = with(hash, static_cast<std::uint64_t>(time.tv_sec));
  hash = with(hash, static_cast<std::uint64_t>(time.tv_nsec));
  return named(finished(hash), nullptr);
}

CommunicatorOrigin origin_of_split(std::uint64_t parent_id, Descent& descent, int color, const ncclConfig_t* config,
                                   bool made) noexcept {
  const std::uint32_t before = descent.splits++;
  if (!made) descent.splits_are_unsure = true;
  if (parent_id == 0 || descent.splits_are_unsure) return origin_unknown(config);
  std::uint64_t hash = with(begun(Maker::split), parent_id);
  hash = with(hash, static_cast<std::uint32_t>(color));
  return named(finished(with(hash, before)), config);
}

CommunicatorOrigin origin_of_shrink(std::uint64_t parent_id, Descent& descent, const int* excluded, int count,
                                    const ncclConfig_t* config, bool made) noexcept {
  std::uint64_t left_out = 1;  // in whatever order
  for (int index = 0; excluded != nullptr && index < count; ++index) {
    left_out += mixed(static_cast<std::uint32_t>(excluded[index]) + std::uint64_t{1});
  }
  const std::uint32_t before = descent.shrinks++;
  if (!made || (before != 0 && left_out != descent.excluded)) descent.shrinks_are_unsure = true;
  descent.excluded = left_out;
  if (parent_id == 0 || descent.shrinks_are_unsure) return origin_unknown(config);
  const std::uint64_t hash = with(with(begun(Maker::shrink), parent_id), left_out);
  return named(finished(with(hash, before)), config);
}

CommunicatorOrigin origin_unknown(const ncclConfig_t* config) noexcept {
  return named(0, config);
}

}  // namespace weft
