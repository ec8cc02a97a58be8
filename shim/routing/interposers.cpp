// Other interposers in this process; see interposers.h. Compiled so that the compiler puts no call into it.
#include "shim/routing/interposers.h"

#include <dlfcn.h>

#include "shim/process.h"
#include "shim/routing/elf.h"
#include "shim/routing/libraries.h"
#include "shim/routing/objects.h"
#include "shim/routing/proc_address.h"
#include "shim/routing/real.h"
#include "shim/routing/resolve.h"

namespace weft {
namespace {

// By symbol: an object in front of us was given the hook.
constinit std::atomic<bool> asked_from_front[symbol_count]{};
// The first function that is reached both through an interposer, as the hook does, and past it; no_symbol: none.
constinit std::atomic<std::uint16_t> two_ways{no_symbol};
constinit std::atomic<const char*> two_ways_through{nullptr};

// The first object of the list is the main program.
const link_map* first_preloaded() noexcept {
  return _r_debug.r_map == nullptr ? nullptr : _r_debug.r_map->l_next;
}

bool is_first() noexcept {
  const link_map* first = first_preloaded();
  return first == nullptr || first->l_ld == _DYNAMIC;
}

bool is_in_front(const void* address) noexcept {
  const link_map* object = is_first() ? nullptr : object_of(address);
  return object != nullptr && object != _r_debug.r_map && comes_before(object, own_object());
}

const char* name_of(const link_map* object) noexcept {
  return object == nullptr || object->l_name[0] == '\0' ? "the program" : object->l_name;
}

// Between the main program and us, the first that defines the name.
const link_map* definer_in_front(const char* name) noexcept {
  for (const link_map* object = first_preloaded(); object != nullptr && object->l_ld != _DYNAMIC;
       object = object->l_next) {
    if (defined_in(object, name) != nullptr) return object;
  }
  return nullptr;
}

// Of the function that the hook calls and the one that was found now, one is the driver's own and the other one an
// interposer's. A second copy of the library is another matter: all of it is untouched.
void note_two_ways(std::uint16_t symbol, const void* found, const void* caller) noexcept {
  const Library library = descriptions[symbol].library;
  const link_map* home = home_of(library);
  void* real = real_addresses[symbol].load(std::memory_order_acquire);
  if (home == nullptr || real == nullptr || !descriptions[symbol].required || is_ours(found)) return;
  const link_map* now = object_of(found);
  const link_map* before = object_of(real);
  if ((now == home) == (before == home) || (now != home && is_whole(now, library))) return;
  const link_map* interposer = now == home ? before : now;
  if (object_of(caller) == interposer) return;
  two_ways_through.store(name_of(interposer));
  std::uint16_t none = no_symbol;
  if (!two_ways.compare_exchange_strong(none, symbol) || level() != Level::observe) return;
  say({"numbers are uncertain from here on: ", descriptions[symbol].name, " is called both through ",
       name_of(interposer), " and past it"});
}

bool reaches_us(std::uint16_t symbol, const void* answer) noexcept {
  return answer == nullptr || is_ours(answer) || asked_from_front[symbol].load(std::memory_order_relaxed);
}

// The answers of dlsym and cuGetProcAddress to a program when another library's dlsym is asked before ours.
Unseen unseen_by_lookup(const link_map* interposer) noexcept {
  const auto ask = reinterpret_cast<void* (*)(void*, const char*)>(defined_in(interposer, "dlsym"));
  const link_map* home = home_of(Library::cuda);
  void* handle = ask == nullptr || home == nullptr ? nullptr : dlopen(home->l_name, RTLD_LAZY | RTLD_NOLOAD);
  if (handle == nullptr) return {};
  Unseen result{};
  for (std::uint16_t symbol = 0; symbol < symbol_count && result.function == nullptr; ++symbol) {
    const Description& description = descriptions[symbol];
    if (description.library != Library::cuda || description.hook == nullptr || !description.required) continue;
    if (!reaches_us(symbol, ask(handle, description.name))) result = {description.name, name_of(interposer)};
  }
  void* get = ask(handle, "cuGetProcAddress_v2");
  dlclose(handle);
  if (result.function != nullptr || get == nullptr) return result;
  result.function =
      answered_otherwise(get, [](std::uint16_t symbol, void* answer) { return reaches_us(symbol, answer); });
  if (result.function != nullptr) result.library = name_of(interposer);
  return result;
}

// It has asked us for the function, or will ask by our dlsym when its own is first called.
bool comes_to_us(std::uint16_t symbol, const link_map* definer) noexcept {
  if (asked_from_front[symbol].load(std::memory_order_relaxed)) return true;
  const char* name = descriptions[symbol].name;
  char second_name[48] = {'p'};
  for (std::size_t i = 0; name[i] != '\0' && i + 2 < sizeof(second_name); ++i) second_name[i + 1] = name[i];
  return definer_in_front("dlsym") == nullptr && refers_to(definer, "dlsym") && !refers_to(definer, second_name);
}

}  // namespace

const char* library_name(const void* address) noexcept {
  return name_of(object_of(address));
}

bool stands_in_front(const void* address, const char* name) noexcept {
  return is_in_front(address) && defined_in(object_of(address), name) != nullptr;
}

void* answer_for(std::uint16_t symbol, void* found, const void* caller) noexcept {
  void* answer = routed(symbol, found);
  if (answer == found) {
    note_two_ways(symbol, found, caller);
  } else if (is_in_front(caller)) {
    asked_from_front[symbol].store(true, std::memory_order_relaxed);
  }
  return answer;
}

void note_given(const void* hook, const void* caller) noexcept {
  if (!is_in_front(caller)) return;
  for (std::uint16_t symbol = 0; symbol < symbol_count; ++symbol) {
    if (descriptions[symbol].hook == hook) asked_from_front[symbol].store(true, std::memory_order_relaxed);
  }
}

Unseen find_unseen() noexcept {
  if (const std::uint16_t symbol = two_ways.load(); symbol != no_symbol) {
    return {descriptions[symbol].name, two_ways_through.load()};
  }
  const link_map* asked_first = definer_in_front("dlsym");
  if (asked_first != nullptr) {
    const Unseen unseen = unseen_by_lookup(asked_first);
    if (unseen.function != nullptr) return unseen;
  }
  for (std::uint16_t symbol = 0; symbol < symbol_count && !is_first(); ++symbol) {
    const Description& description = descriptions[symbol];
    if (description.hook == nullptr || !description.required) continue;
    const link_map* definer = definer_in_front(description.name);
    if (definer != nullptr && !comes_to_us(symbol, definer)) return {description.name, name_of(definer)};
  }
  return {};
}

}  // namespace weft
