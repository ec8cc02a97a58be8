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
#include "shim/routing/libraries.h"
#include "shim/routing/next_dlsym.h"
#include "shim/routing/objects.h"
#include "shim/routing/proc_address.h"
#include "shim/routing/resolve.h"

namespace weft {

constinit std::atomic<void*> real_addresses[symbol_count]{};

namespace {

bool is_known(std::uint16_t symbol) noexcept {
  return real_addresses[symbol].load(std::memory_order_acquire) != nullptr;
}

void publish(std::uint16_t symbol, void* address) noexcept {
  void* expected = nullptr;
  if (address == nullptr || is_ours(address)) return;
  real_addresses[symbol].compare_exchange_strong(expected, address, std::memory_order_acq_rel);
  if (descriptions[symbol].hook == nullptr || (expected != nullptr && expected != address)) return;
  learn_export(static_cast<Symbol>(symbol), address);
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

CUresult absent_from_cuda() {
  return CUDA_ERROR_NOT_FOUND;
}
ncclResult_t absent_from_nccl() {
  return ncclInvalidUsage;
}

}  // namespace

bool is_settling_library() noexcept {
  return thread_state.settling != 0;
}

void settle_library(Library library, const void* found) noexcept {
  if (home_of(library) != nullptr || is_settling_library()) return;
  const link_map* home = find_home(library, found);
  if (home == nullptr) return;
  Depth settling(thread_state.settling);
  start_routing();
  set_range(library, home);
  Choice choice{};
  library == Library::cuda ? choose_driver(home, choice) : choose_nccl(home, choice);
  for (std::uint16_t symbol = 0; symbol < symbol_count; ++symbol) {
    if (descriptions[symbol].library == library) publish(symbol, choice.addresses[symbol]);
  }
  set_home(library, home);
  dlerror();  // what was not found is no error of the program's own lookup
}

// An object that is not in the global scope is found by the library's name, or in the scope of the object that calls.
void* link_target(std::uint16_t symbol, const void* caller) noexcept {
  const Description& description = descriptions[symbol];
  if (void* found = libc_dlsym(RTLD_NEXT, description.name)) return found;
  for (void* handle : {open_loaded(so_name_of(description.library)), object_handle(caller)}) {
    if (handle == nullptr) continue;
    void* found = libc_dlsym(handle, description.name);
    dlclose(handle);
    if (found != nullptr && !is_ours(found)) return found;
  }
  return nullptr;
}

void* absent(Library library) noexcept {
  return library == Library::cuda ? reinterpret_cast<void*>(&absent_from_cuda)
                                  : reinterpret_cast<void*>(&absent_from_nccl);
}

void* find_real(Symbol symbol, const void* caller) noexcept {
  const auto number = static_cast<std::uint16_t>(symbol);
  const Library library = descriptions[number].library;
  if (home_of(library) == nullptr) settle_library(library, link_target(number, caller));
  if (!is_known(number)) publish(number, link_target(number, caller));
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

}  // namespace weft
