// Routing: see resolve.h.
//
// The entry (dlsym_entry.S) comes here for every dlsym of the process, also before main and inside the start of a
// sanitizer. Until a hooked name is asked for, nothing here may call into libc.
#include "shim/routing/resolve.h"

#include <dlfcn.h>
#include <unistd.h>

#include "shim/process.h"
#include "shim/routing/elf.h"
#include "shim/routing/interposers.h"
#include "shim/routing/libraries.h"
#include "shim/routing/next_dlsym.h"
#include "shim/routing/objects.h"
#include "shim/routing/real.h"
#include "shim/tables/address_table.h"

// Named here and in the assembly only.
extern "C" {
struct WeftPick {
  void* answer;
  std::uintptr_t decided;  // 0: go on to the real dlsym with the caller's own return address
};
__attribute__((visibility("hidden"))) WeftPick weft_pick(void* handle, const char* name, const void* caller) noexcept;
__attribute__((visibility("default"))) void* dlsym(void* handle, const char* name) noexcept;

__attribute__((visibility("hidden"))) std::atomic<void*> weft_link_targets[weft::symbol_count]{};
__attribute__((visibility("hidden"))) void* weft_link_target(std::uint32_t symbol, const void* caller) noexcept;
}

namespace weft {
namespace {

constexpr WeftPick pass{nullptr, 0};

constinit AddressTable hooks_by_address{};

// The finding of dlsym(RTLD_DEFAULT) for this caller: the global scope is ours as well, the rest is its own. Where
// nothing is found the real one is to say so itself, for dlerror().
void* find_default(const char* name, const void* caller) noexcept {
  if (void* found = real_dlsym(RTLD_DEFAULT, name)) return found;
  void* handle = object_handle(caller);
  if (handle == nullptr) return nullptr;
  void* found = real_dlsym(handle, name);
  dlclose(handle);
  return found;
}

// The driver is in the global scope, so that RTLD_NEXT leads to it.
bool is_global(const link_map* home) noexcept {
  for (const Description& description : descriptions) {
    if (description.library != Library::cuda) continue;
    void* found = libc_dlsym(RTLD_DEFAULT, description.name);
    if (found != nullptr && object_of(found) == home) return true;
  }
  return false;
}

// The finding of dlsym(RTLD_NEXT) for this caller, where that is known: from an object in front of us the next one
// behind us, from one behind us the driver itself. Another interposer is on its own.
void* find_next(std::uint16_t symbol, const char* name, const void* caller) noexcept {
  const link_map* own = own_object();
  const link_map* home = home_of(descriptions[symbol].library);
  const link_map* object = object_of(caller);
  if (own == nullptr || object == nullptr) return nullptr;
  const bool in_front = comes_before(object, own);
  if (!in_front && (home == nullptr || descriptions[symbol].library != Library::cuda || !is_global(home)))
    return nullptr;
  const link_map* last = in_front ? own : home;
  for (object = object->l_next; object != nullptr && object != last; object = object->l_next) {
    if (defined_in(object, name) != nullptr) return nullptr;
  }
  if (object == nullptr) return nullptr;
  return in_front ? real_dlsym(RTLD_NEXT, name) : defined_in(home, name);
}

// A library in front of us that stands in for ncclX may ask for pncclX, NCCL's own second name for it.
WeftPick pick_hooked(void* handle, const char* name, const void* caller) noexcept {
  const bool second_name = name[0] == 'p';
  const std::uint16_t symbol = hook_named(second_name ? name + 1 : name);
  if (second_name && (symbol == no_symbol || switched_off() || !stands_in_front(caller, name + 1))) return pass;
  if (symbol == no_symbol || switched_off() || is_settling_library()) return pass;
  const Description& description = descriptions[symbol];
  if (in_driver(caller)) return pass;
  if (handle == RTLD_NEXT || handle == RTLD_DEFAULT) {
    void* found = handle == RTLD_NEXT ? find_next(symbol, name, caller) : find_default(name, caller);
    return found == nullptr ? pass : WeftPick{answer_for(symbol, found, caller), 1};
  }
  void* found = real_dlsym(handle, name);
  if (found == nullptr || found == description.hook) return {found, 1};
  return {answer_for(symbol, found, caller), 1};
}

}  // namespace

void* routed(std::uint16_t symbol, void* found) noexcept {
  settle_library(descriptions[symbol].library, found);
  return real_addresses[symbol].load(std::memory_order_acquire) == found ? descriptions[symbol].hook : found;
}

void* route_address(void* address) noexcept {
  const std::uint16_t symbol = hooks_by_address.find(address);
  return symbol == AddressTable::nobody ? address : descriptions[symbol].hook;
}

void learn_export(Symbol symbol, void* address) noexcept {
  hooks_by_address.enter_export(address, static_cast<std::uint16_t>(symbol));
}

void learn_alias(Symbol symbol, void* address) noexcept {
  const bool is_routed = route_address(address) == descriptions[static_cast<std::size_t>(symbol)].hook;
  if (is_routed || exported_name(address) != nullptr) return;
  hooks_by_address.enter_alias(address, static_cast<std::uint16_t>(symbol));
}

}  // namespace weft

WeftPick weft_pick(void* handle, const char* name, const void* caller) noexcept {
  weft::know_real_dlsym();
  const auto upper = [](char letter) { return letter >= 'A' && letter <= 'Z'; };
  const auto of_nccl = [&](const char* text) {
    return text[0] == 'n' && text[1] == 'c' && text[2] == 'c' && text[3] == 'l' && upper(text[4]);
  };
  if (name != nullptr && ((name[0] == 'c' && name[1] == 'u' && upper(name[2])) || of_nccl(name) ||
                          (name[0] == 'p' && of_nccl(name + 1)))) {
    return weft::pick_hooked(handle, name, caller);
  }
  return {nullptr, 0};
}

// Where a linked reference goes that is bound to our entry: to the hook, where what comes behind us is the function
// that the hook calls; else, and with WEFT=off, there itself.
void* weft_link_target(std::uint32_t number, const void* caller) noexcept {
  const auto symbol = static_cast<std::uint16_t>(number);
  void* found = weft::link_target(symbol, caller);
  if (found == nullptr) return weft::absent(weft::descriptions[symbol].library);
  const bool off = weft::switched_off();
  void* target = off ? found : weft::answer_for(symbol, found, caller);
  const bool certain = off ? environ != nullptr : weft::home_of(weft::descriptions[symbol].library) != nullptr;
  if (!certain) return target;
  // From here on every linked call goes there without asking: also when the program has closed that library.
  weft::keep_loaded(weft::object_of(found));
  weft_link_targets[symbol].store(target, std::memory_order_release);
  return target;
}
