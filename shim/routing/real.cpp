// Which function stands behind each hook; see real.h. The only file that looks the real ones up.
//
// It is the function that the program would have got without us: the driver's own, or the one that another interposer
// answers in its place. That is settled once for a whole library, by asking what comes behind us as the program would,
// and never changes: a hook that had been given out with one function and called another could run in a circle.
//
// Reached from dlsym, also inside the start of a sanitizer: compiled so that the compiler puts no call into it.
#include "shim/routing/real.h"

#include <dlfcn.h>

#include "shim/process.h"
#include "shim/routing/elf.h"
#include "shim/routing/proc_address.h"
#include "shim/routing/resolve.h"
#include "shim/routing/symbols.h"
#include "shim/tables/address_table.h"

extern "C" {
void* (*weft_real_dlsym)(void*, const char*) = nullptr;
}

namespace weft {

constinit std::atomic<void*> real_addresses[symbol_count]{};
constinit LoadedRange library_ranges[2]{};

namespace {

using Dlsym = void* (*)(void*, const char*);

constinit AddressTable hooks_by_address{};
constinit std::atomic<const link_map*> homes[2]{};  // by Library: the object that it is; set when it is settled

// As programs are linked to them. Loaded with RTLD_LOCAL, as Python loads extension modules, they are not in the
// global scope.
constexpr const char* so_names[2] = {"libcuda.so.1", "libnccl.so.2"};

std::size_t index_of(Library library) noexcept {
  return static_cast<std::size_t>(library);
}

bool is_known(std::uint16_t symbol) noexcept {
  return real_addresses[symbol].load(std::memory_order_acquire) != nullptr;
}

void publish(std::uint16_t symbol, void* address) noexcept {
  void* expected = nullptr;
  if (address == nullptr || is_ours(address)) return;
  real_addresses[symbol].compare_exchange_strong(expected, address, std::memory_order_acq_rel);
  if (descriptions[symbol].hook == nullptr || (expected != nullptr && expected != address)) return;
  hooks_by_address.enter_export(address, symbol);
}

// A versioned lookup passes over every other library that defines the name.
Dlsym find_libc_dlsym() noexcept {
  static constinit Dlsym kept = nullptr;
  Dlsym found = __atomic_load_n(&kept, __ATOMIC_ACQUIRE);
  if (found != nullptr) return found;
  found = reinterpret_cast<Dlsym>(dlvsym(RTLD_NEXT, "dlsym", "GLIBC_2.2.5"));
  __atomic_store_n(&kept, found, __ATOMIC_RELEASE);
  return found;
}

void* open_loaded(const char* name, int flags = 0) noexcept {
  return name == nullptr || name[0] == '\0' ? nullptr : dlopen(name, RTLD_LAZY | RTLD_NOLOAD | flags);
}

// The function that a reference of that name is bound to where we are not there. An object that is not in the global
// scope is found by the library's name, or in the scope of the object that calls.
void* linked(const Description& description, const void* caller) noexcept {
  if (void* found = libc_dlsym(RTLD_NEXT, description.name)) return found;
  for (void* handle : {open_loaded(so_names[index_of(description.library)]), object_handle(caller)}) {
    if (handle == nullptr) continue;
    void* found = libc_dlsym(handle, description.name);
    dlclose(handle);
    if (found != nullptr && !is_ours(found)) return found;
  }
  return nullptr;
}

}  // namespace

void keep_loaded(const link_map* object) noexcept {
  if (object == nullptr || object->l_name == nullptr || object->l_name[0] == '\0') return;
  if (void* handle = open_loaded(object->l_name, RTLD_NODELETE)) dlclose(handle);
}

namespace {

// The object that the library is: the one of that name, else the one that `found` lies in.
const link_map* find_home(Library library, const void* found) noexcept {
  // Hooks go to its functions for as long as the process lives, also when everybody who had opened it has closed it.
  if (void* handle = open_loaded(so_names[index_of(library)], RTLD_NODELETE)) {
    link_map* object = nullptr;
    if (dlinfo(handle, RTLD_DI_LINKMAP, &object) != 0) object = nullptr;
    dlclose(handle);
    if (object != nullptr) return object;
  }
  const link_map* object = found == nullptr ? nullptr : object_of(found);
  if (object == nullptr || object == own_object() || !is_whole(object, library)) return nullptr;
  keep_loaded(object);
  return object;
}

struct Choice {
  void* addresses[symbol_count];
};

// A program's answers for the driver's functions by dlsym, and, where another interposer stands in for
// cuGetProcAddress, by that: CUDA's runtime asks nothing else.
void choose_driver(const link_map* home, Choice& choice) noexcept {
  void* handle = another_dlsym() ? open_loaded(home->l_name) : nullptr;
  bool complete = true;
  for (std::uint16_t symbol = 0; symbol < symbol_count; ++symbol) {
    if (descriptions[symbol].library != Library::cuda) continue;
    void* found = handle == nullptr ? nullptr : real_dlsym(handle, descriptions[symbol].name);
    if (found == nullptr || is_ours(found)) found = defined_in(home, descriptions[symbol].name);
    choice.addresses[symbol] = found;
    complete = complete && (found != nullptr || !descriptions[symbol].required);
  }
  if (handle != nullptr) dlclose(handle);
  const void* get = choice.addresses[static_cast<std::size_t>(Symbol::cuGetProcAddress_v2)];
  if (get != nullptr && (!complete || object_of(get) != home)) prefer_entry_points(choice.addresses);
}

// The functions that references of the program are bound to; of an NCCL outside the global scope its own, unless dlsym
// is answered by another interposer.
void choose_nccl(const link_map* home, Choice& choice) noexcept {
  void* handle = another_dlsym() ? open_loaded(home->l_name) : nullptr;
  for (std::uint16_t symbol = 0; symbol < symbol_count; ++symbol) {
    if (descriptions[symbol].library != Library::nccl) continue;
    void* found = libc_dlsym(RTLD_NEXT, descriptions[symbol].name);
    if (found == nullptr && handle != nullptr) found = real_dlsym(handle, descriptions[symbol].name);
    if (found == nullptr || is_ours(found)) found = defined_in(home, descriptions[symbol].name);
    choice.addresses[symbol] = found;
  }
  if (handle != nullptr) dlclose(handle);
}

// The first object after ours that defines dlsym: another interposer, or libc.
void find_real_dlsym() noexcept {
  const link_map* own = own_object();
  for (const link_map* object = own == nullptr ? nullptr : own->l_next; object != nullptr; object = object->l_next) {
    if (void* found = defined_in(object, "dlsym")) {
      __atomic_store_n(&weft_real_dlsym, reinterpret_cast<Dlsym>(found), __ATOMIC_RELEASE);
      return;
    }
  }
  __atomic_store_n(&weft_real_dlsym, find_libc_dlsym(), __ATOMIC_RELEASE);
}

CUresult absent_from_cuda() {
  return CUDA_ERROR_NOT_FOUND;
}
ncclResult_t absent_from_nccl() {
  return ncclInvalidUsage;
}

}  // namespace

const link_map* object_of(const void* address) noexcept {
  Dl_info info;
  void* object = nullptr;
  return dladdr1(address, &info, &object, RTLD_DL_LINKMAP) == 0 ? nullptr : static_cast<const link_map*>(object);
}

bool is_ours(const void* address) noexcept {
  const link_map* object = address == nullptr ? nullptr : object_of(address);
  return object != nullptr && object->l_ld == _DYNAMIC;
}

const char* exported_name(const void* address) noexcept {
  Dl_info info;
  return dladdr(address, &info) != 0 && info.dli_saddr == address ? info.dli_sname : nullptr;
}

bool is_whole(const link_map* object, Library library) noexcept {
  for (const Description& description : descriptions) {
    const bool asked_for = description.library == library && description.required;
    if (asked_for && defined_in(object, description.name) == nullptr) return false;
  }
  return true;
}

void know_real_dlsym() noexcept {
  if (__builtin_expect(__atomic_load_n(&weft_real_dlsym, __ATOMIC_ACQUIRE) == nullptr, 0)) find_real_dlsym();
}

void* real_dlsym(void* handle, const char* name) noexcept {
  know_real_dlsym();
  return weft_real_dlsym(handle, name);
}

void* libc_dlsym(void* handle, const char* name) noexcept {
  return find_libc_dlsym()(handle, name);
}

bool another_dlsym() noexcept {
  know_real_dlsym();
  return weft_real_dlsym != find_libc_dlsym();
}

bool is_settling() noexcept {
  return thread_state.settling != 0;
}

void settle(Library library, const void* found) noexcept {
  if (home_of(library) != nullptr || is_settling()) return;
  const link_map* home = find_home(library, found);
  if (home == nullptr) return;
  Depth settling(thread_state.settling);
  start_routing();
  const AddressRange range = range_of(home);
  library_ranges[index_of(library)].end.store(range.end, std::memory_order_relaxed);
  library_ranges[index_of(library)].begin.store(range.begin, std::memory_order_relaxed);
  Choice choice{};
  library == Library::cuda ? choose_driver(home, choice) : choose_nccl(home, choice);
  for (std::uint16_t symbol = 0; symbol < symbol_count; ++symbol) {
    if (descriptions[symbol].library == library) publish(symbol, choice.addresses[symbol]);
  }
  homes[index_of(library)].store(home, std::memory_order_release);
  dlerror();  // what was not found is no error of the program's own lookup
}

const link_map* home_of(Library library) noexcept {
  return homes[index_of(library)].load(std::memory_order_acquire);
}

void* link_target(std::uint16_t symbol, const void* caller) noexcept {
  return linked(descriptions[symbol], caller);
}

void* absent(Library library) noexcept {
  return library == Library::cuda ? reinterpret_cast<void*>(&absent_from_cuda)
                                  : reinterpret_cast<void*>(&absent_from_nccl);
}

void* find_real(Symbol symbol, const void* caller) noexcept {
  const auto number = static_cast<std::uint16_t>(symbol);
  const Library library = descriptions[number].library;
  if (home_of(library) == nullptr) settle(library, linked(descriptions[number], caller));
  if (!is_known(number)) publish(number, linked(descriptions[number], caller));
  void* found = real_addresses[number].load(std::memory_order_acquire);
  return found != nullptr ? found : absent(library);
}

bool has_real(Symbol symbol) noexcept {
  if (!is_known(static_cast<std::uint16_t>(symbol))) find_real(symbol, nullptr);
  return is_known(static_cast<std::uint16_t>(symbol));
}

void* real_driver_symbol(const char* name) noexcept {
  const std::uint16_t symbol = hook_named(name);
  if (symbol != no_symbol) {
    return has_real(static_cast<Symbol>(symbol)) ? real_addresses[symbol].load(std::memory_order_acquire) : nullptr;
  }
  if (!has_real(Symbol::cuCtxGetDevice)) return nullptr;
  const link_map* home = home_of(Library::cuda);
  if (home == nullptr) return nullptr;
  void* found = nullptr;
  if (void* handle = another_dlsym() ? open_loaded(home->l_name) : nullptr) {
    found = real_dlsym(handle, name);
    dlclose(handle);
  }
  return found != nullptr ? found : defined_in(home, name);
}

const char* path_of(Library library) noexcept {
  const link_map* home = home_of(library);
  return home == nullptr || home->l_name == nullptr || home->l_name[0] == '\0' ? so_names[index_of(library)]
                                                                               : home->l_name;
}

void* object_handle(const void* address) noexcept {
  const link_map* object = address == nullptr ? nullptr : object_of(address);
  return object == nullptr ? nullptr : open_loaded(object->l_name);
}

void* route_address(void* address) noexcept {
  const std::uint16_t symbol = hooks_by_address.find(address);
  return symbol == AddressTable::nobody ? address : descriptions[symbol].hook;
}

bool is_routed(Symbol symbol, void* address) noexcept {
  return route_address(address) == descriptions[static_cast<std::size_t>(symbol)].hook;
}

void learn_alias(Symbol symbol, void* address) noexcept {
  if (is_routed(symbol, address) || exported_name(address) != nullptr) return;
  hooks_by_address.enter_alias(address, static_cast<std::uint16_t>(symbol));
}

}  // namespace weft
