// The answers of cuGetProcAddress for the hooked functions; see proc_address.h.
#include "shim/routing/proc_address.h"

#include <cudaTypedefs.h>

#include <algorithm>
#include <array>
#include <limits>
#include <span>
#include <string_view>
#include <type_traits>

#include "shim/routing/libraries.h"
#include "shim/routing/objects.h"
#include "shim/routing/real.h"

namespace weft {

constinit std::atomic<bool> aliases_learned{false};

namespace {

// _ptsz, and _ptds of functions without a stream.
consteval bool is_per_thread(std::string_view name) {
  return name.ends_with("_ptsz") || name.ends_with("_ptds");
}

// cuMemAllocAsync_v11020_ptsz: a plain name, the first version of the API that means this function by it, and whether
// the caller's default stream is per thread.
struct EntryPoint {
  char base[40];
  std::size_t length;  // of the base; the list is compared with itself, at compile time
  int since;
  bool per_thread;

  consteval explicit EntryPoint(std::string_view entry)
      : base{}, length(entry.rfind("_v")), since(0), per_thread(is_per_thread(entry)) {
    for (std::size_t i = 0; i < length; ++i) base[i] = entry[i];
    for (std::size_t i = length + 2; i < entry.size() && entry[i] != '_'; ++i) since = 10 * since + (entry[i] - '0');
  }
  constexpr std::string_view name() const { return {base, length}; }
};

struct Hook {
  Symbol symbol;
  const char* name;
  Presence presence;
  EntryPoint entry;
  int last = std::numeric_limits<int>::max();  // version by which this function is meant
  bool has_twin = false;                       // one for callers whose default stream is per thread
};

#define HOOK(library, name, presence, ...) HOOK_##library(name, presence __VA_OPT__(, ) __VA_ARGS__)
#define CALL(library, name, presence)
#define HOOK_nccl(name, presence)

#define HOOK_cuda(name, presence, entry) Hook{Symbol::name, #name, Presence::presence, EntryPoint(#entry)},
constexpr auto hooks = [] {
  std::array list{
#include "shim/hooks.def"
  };
  for (Hook& hook : list) {
    for (const Hook& other : list) {
      if (other.entry.name() != hook.entry.name()) continue;
      const bool same_stream = other.entry.per_thread == hook.entry.per_thread;
      if (same_stream && other.entry.since > hook.entry.since) hook.last = std::min(hook.last, other.entry.since - 1);
      if (!same_stream) hook.has_twin = true;
    }
  }
  return list;
}();
#undef HOOK_cuda

// The toolkit's own list is the judge of the entries: that there is one, and that it is of the hook's type.
#define HOOK_cuda(name, presence, entry)                                       \
  static_assert(std::is_same_v<PFN_##entry, decltype(&::name)>);               \
  static_assert(std::string_view(#name).starts_with(EntryPoint(#entry).base)); \
  static_assert(is_per_thread(#name) == EntryPoint(#entry).per_thread);
#include "shim/hooks.def"
#undef HOOK_cuda
#undef HOOK_nccl
#undef HOOK
#undef CALL

constexpr bool means(const Hook& hook, cuuint64_t flags) {
  const bool per_thread = flags == CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM;
  return per_thread ? hook.entry.per_thread || !hook.has_twin : !hook.entry.per_thread;
}

// Somebody's cuGetProcAddress_v2. Versions after that of the toolkit this was built with may mean another
// function by the same name.
struct Source {
  decltype(&::cuGetProcAddress_v2) get;
  int newest;

  Source(void* function, void* version_function) noexcept : get(reinterpret_cast<decltype(get)>(function)), newest(0) {
    const auto version_of = reinterpret_cast<decltype(&::cuDriverGetVersion)>(version_function);
    int version = 0;
    if (version_of != nullptr && version_of(&version) == CUDA_SUCCESS) newest = std::min(version, CUDA_VERSION);
  }

  void* answer(const char* base, int version, cuuint64_t flags) const noexcept {
    void* found = nullptr;
    return get(base, &found, version, flags, nullptr) == CUDA_SUCCESS ? found : nullptr;
  }
};

std::size_t index_of(Symbol symbol) noexcept {
  return static_cast<std::size_t>(symbol);
}

Source driver() noexcept {
  return {reinterpret_cast<void*>(real<Symbol::cuGetProcAddress_v2>()),
          reinterpret_cast<void*>(real<Symbol::cuDriverGetVersion>())};
}

// visit(address) for each answer to which the hook belongs, until it says true.
template <class Visit>
bool any_answer(const Hook& hook, const Source& source, Visit visit) noexcept {
  if (hook.entry.since > source.newest) return false;
  for (const int version : {hook.entry.since, std::min(hook.last, source.newest)}) {
    for (const cuuint64_t flags : {CU_GET_PROC_ADDRESS_DEFAULT, CU_GET_PROC_ADDRESS_LEGACY_STREAM,
                                   CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM}) {
      void* address = means(hook, flags) ? source.answer(hook.entry.base, version, flags) : nullptr;
      if (address != nullptr && visit(address)) return true;
    }
  }
  return false;
}

bool is_known(const Hook& hook) noexcept {
  return real_addresses[index_of(hook.symbol)].load(std::memory_order_acquire) != nullptr;
}

// The hook for a function that is given for both of these; nullptr: their arguments differ. One that is given for both
// ABIs of cuGetProcAddress is called as the longer one, whose last argument goes through as it is.
const Hook* common_hook(const Hook& earlier, const Hook& later) noexcept {
  if (std::string_view(earlier.entry.base) != later.entry.base) return nullptr;
  if (std::string_view(earlier.entry.base) == "cuGetProcAddress") return &later;
  return earlier.entry.per_thread != later.entry.per_thread ? &earlier : nullptr;
}

struct Given {
  void* address;
  const Hook* hook;  // nullptr: several, and none is right
};

}  // namespace

void prefer_entry_points(void* (&addresses)[symbol_count]) noexcept {
  const Source source(addresses[index_of(Symbol::cuGetProcAddress_v2)],
                      addresses[index_of(Symbol::cuDriverGetVersion)]);
  Given given[hooks.size()];
  std::size_t count = 0;
  for (const Hook& hook : hooks) {
    bool first = true;
    any_answer(hook, source, [&](void* address) {
      if (is_ours(address)) return false;
      if (const char* name = exported_name(address)) {
        const std::uint16_t symbol = hook_named(name);
        if (symbol != no_symbol) addresses[symbol] = address;
        return false;
      }
      Given* known = std::find_if(given, given + count, [=](const Given& one) { return one.address == address; });
      if (known != given + count) {
        if (known->hook != nullptr && known->hook != &hook) known->hook = common_hook(*known->hook, hook);
      } else if (first) {
        given[count++] = {address, &hook};
        first = false;
      }
      return false;
    });
  }
  for (const Given& one : std::span(given, count)) {
    if (one.hook != nullptr) addresses[index_of(one.hook->symbol)] = one.address;
  }
}

void learn_aliases() noexcept {
  const Source source = driver();
  for (const Hook& hook : hooks) {
    if (!is_known(hook)) continue;
    any_answer(hook, source, [&](void* address) {
      learn_alias(hook.symbol, address);
      return false;
    });
  }
  aliases_learned.store(true, std::memory_order_release);
}

const char* answered_otherwise(void* get, bool (*accepted)(std::uint16_t symbol, void* answer)) noexcept {
  const Source source(get, reinterpret_cast<void*>(real<Symbol::cuDriverGetVersion>()));
  for (const Hook& hook : hooks) {
    if (hook.presence != Presence::required) continue;
    const auto number = static_cast<std::uint16_t>(hook.symbol);
    if (any_answer(hook, source, [=](void* address) { return !accepted(number, address); })) return hook.name;
  }
  return nullptr;
}

// An address that the driver exports as another function's goes through untouched; of one function it may not be.
Unseen unroutable_function() noexcept {
  learn_aliases();
  const Source source = driver();
  const link_map* home = home_of(Library::cuda);
  for (const Hook& hook : hooks) {
    if (hook.presence != Presence::required || !is_known(hook)) continue;
    const void* culprit = nullptr;
    any_answer(hook, source, [&](void* address) {
      const bool others =
          hook.symbol != Symbol::cuEventRecord && object_of(address) == home && exported_name(address) != nullptr;
      const bool misses = route_address(address) == address && !is_ours(address) && !others;
      if (misses) culprit = address;
      return misses;
    });
    if (culprit == nullptr) continue;
    // Of an interposer that answers some questions only, the driver's own answer to another one misses.
    if (object_of(culprit) == home) culprit = real_addresses[index_of(hook.symbol)].load(std::memory_order_acquire);
    return {hook.name, object_of(culprit) == home ? nullptr : library_name(culprit)};
  }
  return {};
}

}  // namespace weft
