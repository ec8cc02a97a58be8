// What cuGetProcAddress gives for the hooked functions; see proc_address.h.
#include "shim/routing/proc_address.h"

#include <cudaTypedefs.h>

#include <algorithm>
#include <array>
#include <limits>
#include <string_view>
#include <type_traits>

namespace weft {

constinit std::atomic<bool> aliases_learned{false};

namespace {

// cuMemAllocAsync_v11020_ptsz: a plain name, the first version of the API that means this function by it, and whether
// the caller's default stream is per thread.
struct EntryPoint {
  char base[40];
  int since;
  bool per_thread;

  consteval explicit EntryPoint(std::string_view entry) : base{}, since(0), per_thread(entry.ends_with("_ptsz")) {
    const std::size_t mark = entry.rfind("_v");
    for (std::size_t i = 0; i < mark; ++i) base[i] = entry[i];
    for (std::size_t i = mark + 2; i < entry.size() && entry[i] != '_'; ++i) since = 10 * since + (entry[i] - '0');
  }
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
      if (std::string_view(other.entry.base) != hook.entry.base) continue;
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
  static_assert(std::string_view(#name).ends_with("_ptsz") == EntryPoint(#entry).per_thread);
#include "shim/hooks.def"
#undef HOOK_cuda
#undef HOOK_nccl
#undef HOOK
#undef CALL

constexpr bool means(const Hook& hook, cuuint64_t flags) {
  const bool per_thread = flags == CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM;
  return per_thread ? hook.entry.per_thread || !hook.has_twin : !hook.entry.per_thread;
}

// What comes after the toolkit this was built with may mean another function by the same name.
int newest_version() noexcept {
  int version = 0;
  return real<Symbol::cuDriverGetVersion>()(&version) == CUDA_SUCCESS ? std::min(version, CUDA_VERSION) : 0;
}

void* answer_of_driver(const char* base, int version, cuuint64_t flags) noexcept {
  void* found = nullptr;
  const CUresult result = real<Symbol::cuGetProcAddress_v2>()(base, &found, version, flags, nullptr);
  return result == CUDA_SUCCESS ? found : nullptr;
}

// visit(address) for each answer to which the hook belongs, until it says true.
template <class Visit>
bool any_answer(const Hook& hook, int newest, Visit visit) noexcept {
  const bool known = real_addresses[static_cast<std::size_t>(hook.symbol)].load(std::memory_order_acquire) != nullptr;
  if (!known || hook.entry.since > newest) return false;
  for (const int version : {hook.entry.since, std::min(hook.last, newest)}) {
    for (const cuuint64_t flags : {CU_GET_PROC_ADDRESS_DEFAULT, CU_GET_PROC_ADDRESS_LEGACY_STREAM,
                                   CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM}) {
      void* address = means(hook, flags) ? answer_of_driver(hook.entry.base, version, flags) : nullptr;
      if (address != nullptr && visit(address)) return true;
    }
  }
  return false;
}

}  // namespace

void learn_aliases() noexcept {
  const int newest = newest_version();
  for (const Hook& hook : hooks) {
    any_answer(hook, newest, [&](void* address) {
      learn_alias(hook.symbol, address);
      return false;
    });
  }
  aliases_learned.store(true, std::memory_order_release);
}

// An address that another object exports is another interposer's and goes through untouched, as everywhere; of one
// function it may not be.
const char* unroutable_function() noexcept {
  learn_aliases();
  const int newest = newest_version();
  for (const Hook& hook : hooks) {
    const bool misses =
        hook.presence == Presence::required && any_answer(hook, newest, [&](void* address) {
          return !is_routed(hook.symbol, address) && (hook.symbol == Symbol::cuEventRecord || !is_exported(address));
        });
    if (misses) return hook.name;
  }
  return nullptr;
}

}  // namespace weft
