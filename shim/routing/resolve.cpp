// Routing: the only file that looks symbols up. See resolve.h.
//
// The entry (dlsym_entry.S) comes here for every dlsym of the process, also before main and inside the start of a
// sanitizer. Until a hooked name is asked for, nothing here may call into libc.
#include "shim/routing/resolve.h"

#include <dlfcn.h>

#include "shim/process.h"
#include "shim/routing/elf.h"
#include "shim/tables/address_table.h"

namespace weft {

constinit std::atomic<void*> real_addresses[kSymbols]{};
constinit LoadedRange library_ranges[2]{};

}  // namespace weft

// Named here and in the assembly only.
extern "C" {
__attribute__((visibility("hidden"))) void* (*weft_real_dlsym)(void*, const char*) = nullptr;

struct WeftPick {
  void* answer;
  std::uintptr_t decided;  // 0: go on to the real dlsym with the caller's own return address
};
__attribute__((visibility("hidden"))) WeftPick weft_pick(void* handle, const char* name, const void* caller) noexcept;
__attribute__((visibility("default"))) void* dlsym(void* handle, const char* name) noexcept;
}

namespace weft {
namespace {

// In the read-only image, although a cast keeps `constinit` from saying so; tests/artefact sees that nothing runs at
// load.
struct Description {
  const char* name;
  void* hook;  // nullptr: only called
  Library library;
};

const Description descriptions[kSymbols] = {
#define HOOK(library, name, presence, ...) {#name, reinterpret_cast<void*>(&::name), Library::library},
#define CALL(library, name, presence) {#name, nullptr, Library::library},
#include "shim/hooks.def"
#undef HOOK
#undef CALL
};

constexpr std::uint32_t hash_of(const char* name) noexcept {
  std::uint32_t hash = 2166136261u;
  for (; *name != '\0'; ++name) hash = (hash ^ static_cast<unsigned char>(*name)) * 16777619u;
  return hash;
}

// Names to symbols: open addressing, made by the compiler. 0 is empty, else the symbol's number plus one.
struct NameTable {
  static constexpr std::uint32_t kSlots = 256;
  std::uint16_t slots[kSlots]{};

  constexpr NameTable() {
    constexpr const char* kNames[] = {
#define HOOK(library, name, presence, ...) #name,
#define CALL(library, name, presence) "",
#include "shim/hooks.def"
#undef HOOK
#undef CALL
    };
    for (std::uint16_t number = 0; number < kSymbols; ++number) {
      if (kNames[number][0] == '\0') continue;
      std::uint32_t slot = hash_of(kNames[number]) % kSlots;
      while (slots[slot] != 0) slot = (slot + 1) % kSlots;
      slots[slot] = static_cast<std::uint16_t>(number + 1);
    }
  }
};
constexpr NameTable name_table;

bool same(const char* left, const char* right) noexcept {
  while (*left != '\0' && *left == *right) ++left, ++right;
  return *left == *right;
}

constexpr std::uint16_t kNoSymbol = 0xffff;

std::uint16_t hook_named(const char* name) noexcept {
  for (std::uint32_t slot = hash_of(name) % NameTable::kSlots;; slot = (slot + 1) % NameTable::kSlots) {
    const std::uint16_t entry = name_table.slots[slot];
    if (entry == 0) return kNoSymbol;
    if (same(descriptions[entry - 1].name, name)) return static_cast<std::uint16_t>(entry - 1);
  }
}

constinit AddressTable hooks_by_address{};

void publish(std::uint16_t symbol, void* address) noexcept {
  void* expected = nullptr;
  real_addresses[symbol].compare_exchange_strong(expected, address, std::memory_order_acq_rel);
  if (descriptions[symbol].hook == nullptr || (expected != nullptr && expected != address)) return;
  hooks_by_address.enter_export(address, symbol);
}

constinit std::atomic<bool> adopted[2]{};  // by Library: all its addresses are known

std::atomic<bool>& adopted_of(Library library) noexcept {
  return adopted[static_cast<std::size_t>(library)];
}

LoadedRange& code_of(Library library) noexcept {
  return library_ranges[static_cast<std::size_t>(library)];
}

// Behind ncclX stands pncclX, NCCL's own second name for it; a wrapper of NCCL may have only the first.
void* defined_for(const link_map* object, const Description& description) noexcept {
  if (description.library == Library::nccl) {
    char own_name[48] = {'p'};
    for (std::size_t i = 0; description.name[i] != '\0' && i + 2 < sizeof(own_name); ++i) {
      own_name[i + 1] = description.name[i];
    }
    if (void* address = defined_in(object, own_name)) return address;
  }
  return defined_in(object, description.name);
}

// Hooks go to its functions for as long as the process lives, also when everybody who had opened it has closed it.
void keep_loaded(const link_map* object) noexcept {
  if (object->l_name == nullptr || object->l_name[0] == '\0') return;
  if (void* handle = dlopen(object->l_name, RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE)) dlclose(handle);
}

// Takes the addresses of all symbols of the library from the object that `address` lies in.
void adopt(Library library, const void* address) noexcept {
  Dl_info info;
  void* extra = nullptr;
  if (dladdr1(address, &info, &extra, RTLD_DL_LINKMAP) == 0 || extra == nullptr) return;
  const auto* object = static_cast<const link_map*>(extra);
  if (object == own_object()) return;
  keep_loaded(object);
  start_routing();
  if (!adopted_of(library).load(std::memory_order_acquire)) {
    const AddressRange range = range_of(object);
    code_of(library).end.store(range.end, std::memory_order_relaxed);
    code_of(library).begin.store(range.begin, std::memory_order_relaxed);
  }
  for (std::uint16_t symbol = 0; symbol < kSymbols; ++symbol) {
    if (descriptions[symbol].library != library) continue;
    if (void* found = defined_for(object, descriptions[symbol])) publish(symbol, found);
  }
  adopted_of(library).store(true, std::memory_order_release);
}

bool is_known(std::uint16_t symbol) noexcept {
  return real_addresses[symbol].load(std::memory_order_acquire) != nullptr;
}

// From the object that the handle leads to, if that has the symbol. Closes the handle.
void adopt_by(void* handle, const Description& description) noexcept {
  if (handle == nullptr) return;
  void* found = real_dlsym(handle, description.name);
  if (found != nullptr && found != description.hook) adopt(description.library, found);
  dlclose(handle);
}

// From the copy of the library that programs are linked to: behind us in the global scope, or, loaded with RTLD_LOCAL
// as Python loads extension modules, by its name.
void adopt_linked(std::uint16_t symbol) noexcept {
  const Description& description = descriptions[symbol];
  if (void* found = real_dlsym(RTLD_NEXT, description.name)) adopt(description.library, found);
  if (is_known(symbol)) return;
  const char* name = description.library == Library::cuda ? "libcuda.so.1" : "libnccl.so.2";
  adopt_by(dlopen(name, RTLD_LAZY | RTLD_NOLOAD), description);
}

// What a lookup of a hooked name by handle is answered with, the real dlsym having found `found`. Who calls a hook by
// its linked name has to get to the copy that it is linked to, even when another one was looked into first.
void* route(std::uint16_t symbol, void* found) noexcept {
  const Description& description = descriptions[symbol];
  if (!is_known(symbol) || !adopted_of(description.library).load(std::memory_order_acquire)) adopt_linked(symbol);
  if (!adopted_of(description.library).load(std::memory_order_acquire)) adopt(description.library, found);
  // Another copy of the library, or another interposer: theirs, untouched.
  return real_addresses[symbol].load(std::memory_order_acquire) == found ? description.hook : found;
}

// The first object after ours that defines dlsym: another interposer, or libc. A versioned lookup would skip the
// former.
void find_real_dlsym() noexcept {
  const link_map* own = own_object();
  for (const link_map* object = own == nullptr ? nullptr : own->l_next; object != nullptr; object = object->l_next) {
    if (void* found = defined_in(object, "dlsym")) {
      __atomic_store_n(&weft_real_dlsym, reinterpret_cast<void* (*)(void*, const char*)>(found), __ATOMIC_RELEASE);
      return;
    }
  }
  void* found = dlvsym(RTLD_NEXT, "dlsym", "GLIBC_2.2.5");
  __atomic_store_n(&weft_real_dlsym, reinterpret_cast<void* (*)(void*, const char*)>(found), __ATOMIC_RELEASE);
}

// Would dlsym(RTLD_DEFAULT) of this caller find the name if we were not there? Our own export must not make it seem so.
bool visible_without_us(const char* name, const void* caller) noexcept {
  if (real_dlsym(RTLD_NEXT, name) != nullptr) return true;
  void* handle = object_handle(caller);
  if (handle == nullptr) return false;
  const bool found = real_dlsym(handle, name) != nullptr;
  dlclose(handle);
  if (!found) real_dlsym(RTLD_NEXT, name);  // for dlerror(), which the closing has cleared
  return found;
}

WeftPick pick_hooked(void* handle, const char* name, const void* caller) noexcept {
  constexpr WeftPick kPass{nullptr, 0};
  const std::uint16_t symbol = hook_named(name);
  if (symbol == kNoSymbol || handle == RTLD_NEXT || switched_off()) return kPass;
  if (code_of(Library::cuda).contains(caller)) return kPass;  // the driver looks its own functions up
  if (handle == RTLD_DEFAULT) return visible_without_us(name, caller) ? kPass : WeftPick{nullptr, 1};
  void* found = real_dlsym(handle, name);
  if (found == nullptr) return {nullptr, 1};
  if (found == descriptions[symbol].hook) {  // the handle's scope begins with us, as the main program's does
    return {real_dlsym(RTLD_NEXT, name) != nullptr ? found : nullptr, 1};
  }
  return {route(symbol, found), 1};
}

CUresult absent_from_cuda() {
  return CUDA_ERROR_NOT_FOUND;
}
ncclResult_t absent_from_nccl() {
  return ncclInvalidUsage;
}

}  // namespace

void* real_dlsym(void* handle, const char* name) noexcept {
  if (__atomic_load_n(&weft_real_dlsym, __ATOMIC_ACQUIRE) == nullptr) find_real_dlsym();
  return weft_real_dlsym(handle, name);
}

void* object_handle(const void* address) noexcept {
  Dl_info info;
  void* extra = nullptr;
  if (dladdr1(address, &info, &extra, RTLD_DL_LINKMAP) == 0 || extra == nullptr) return nullptr;
  const char* path = static_cast<const link_map*>(extra)->l_name;
  return path == nullptr || path[0] == '\0' ? nullptr : dlopen(path, RTLD_LAZY | RTLD_NOLOAD);
}

void* route_address(void* address) noexcept {
  const std::uint16_t symbol = hooks_by_address.find(address);
  return symbol == AddressTable::kNobody ? address : descriptions[symbol].hook;
}

bool is_routed(Symbol symbol, void* address) noexcept {
  return route_address(address) == descriptions[static_cast<std::size_t>(symbol)].hook;
}

bool is_exported(const void* address) noexcept {
  Dl_info info;
  return dladdr(address, &info) != 0 && info.dli_saddr == address;
}

void learn_alias(Symbol symbol, void* address) noexcept {
  if (is_routed(symbol, address) || is_exported(address)) return;
  hooks_by_address.enter_alias(address, static_cast<std::uint16_t>(symbol));
}

bool has_real(Symbol symbol) noexcept {
  const auto number = static_cast<std::size_t>(symbol);
  if (real_addresses[number].load(std::memory_order_acquire) != nullptr) return true;
  find_real(symbol, nullptr);
  return real_addresses[number].load(std::memory_order_acquire) != nullptr;
}

void* find_real(Symbol symbol, const void* caller) noexcept {
  const auto number = static_cast<std::uint16_t>(symbol);
  const Description& description = descriptions[number];
  adopt_linked(number);
  if (!is_known(number)) adopt_by(object_handle(caller), description);
  if (void* found = real_addresses[number].load(std::memory_order_acquire)) return found;
  return description.library == Library::cuda ? reinterpret_cast<void*>(&absent_from_cuda)
                                              : reinterpret_cast<void*>(&absent_from_nccl);
}

void* real_driver_symbol(const char* name) noexcept {
  const std::uint16_t symbol = hook_named(name);
  if (symbol != kNoSymbol) {
    return has_real(static_cast<Symbol>(symbol)) ? real_addresses[symbol].load(std::memory_order_acquire) : nullptr;
  }
  void* handle = object_handle(reinterpret_cast<void*>(real<Symbol::cuCtxGetDevice>()));
  if (handle == nullptr) return nullptr;
  void* found = real_dlsym(handle, name);
  dlclose(handle);
  return found;
}

}  // namespace weft

WeftPick weft_pick(void* handle, const char* name, const void* caller) noexcept {
  if (__builtin_expect(__atomic_load_n(&weft_real_dlsym, __ATOMIC_ACQUIRE) == nullptr, 0)) weft::find_real_dlsym();
  const auto upper = [](char letter) { return letter >= 'A' && letter <= 'Z'; };
  if (name != nullptr && ((name[0] == 'c' && name[1] == 'u' && upper(name[2])) ||
                          (name[0] == 'n' && name[1] == 'c' && name[2] == 'c' && name[3] == 'l' && upper(name[4])))) {
    return weft::pick_hooked(handle, name, caller);
  }
  return {nullptr, 0};
}
