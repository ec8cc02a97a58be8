// The list of hooks.def as a table; see symbols.h. Compiled so that the compiler puts no call into it.
#include "shim/routing/symbols.h"

namespace weft {

// In the read-only image, although a cast keeps `constinit` from saying so; tests/artefact sees that nothing runs at
// load.
const Description descriptions[symbol_count] = {
#define HOOK(library, name, presence, ...) \
  {#name, reinterpret_cast<void*>(&::name), Library::library, Presence::presence == Presence::required},
#define CALL(library, name, presence) {#name, nullptr, Library::library, Presence::presence == Presence::required},
#include "shim/hooks.def"
#undef HOOK
#undef CALL
};

namespace {

constexpr std::uint32_t hash_of(const char* name) noexcept {
  std::uint32_t hash = 2166136261u;
  for (; *name != '\0'; ++name) hash = (hash ^ static_cast<unsigned char>(*name)) * 16777619u;
  return hash;
}

// Open addressing, made by the compiler. 0 is empty, else the symbol's number plus one.
struct NameTable {
  static constexpr std::uint32_t slot_count = 512;
  std::uint16_t slots[slot_count]{};

  constexpr NameTable() {
    constexpr const char* names[] = {
#define HOOK(library, name, presence, ...) #name,
#define CALL(library, name, presence) "",
#include "shim/hooks.def"
#undef HOOK
#undef CALL
    };
    for (std::uint16_t number = 0; number < symbol_count; ++number) {
      if (names[number][0] == '\0') continue;
      std::uint32_t slot = hash_of(names[number]) % slot_count;
      while (slots[slot] != 0) slot = (slot + 1) % slot_count;
      slots[slot] = static_cast<std::uint16_t>(number + 1);
    }
  }
};
constexpr NameTable name_table;

}  // namespace

std::uint16_t hook_named(const char* name) noexcept {
  for (std::uint32_t slot = hash_of(name) % NameTable::slot_count;; slot = (slot + 1) % NameTable::slot_count) {
    const std::uint16_t entry = name_table.slots[slot];
    if (entry == 0) return no_symbol;
    if (same_name(descriptions[entry - 1].name, name)) return static_cast<std::uint16_t>(entry - 1);
  }
}

}  // namespace weft
