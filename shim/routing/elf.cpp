// Reads the symbol tables of loaded objects; see elf.h. Compiled so that the compiler puts no call into it.
#include "shim/routing/elf.h"

#include <elf.h>

namespace weft {
namespace {

struct SymbolTables {
  const ElfW(Sym) * symbols;
  const char* strings;
  const ElfW(Half) * versions;
  const std::uint32_t* gnu_hash;
  const std::uint32_t* hash;
};

// ld.so has relocated these pointers, except in the vdso, whose dynamic section it cannot write to.
template <class Pointer>
Pointer at(const link_map* object, ElfW(Addr) value) noexcept {
  return reinterpret_cast<Pointer>(value < object->l_addr ? value + object->l_addr : value);
}

SymbolTables tables_of(const link_map* object) noexcept {
  SymbolTables found{};
  for (const ElfW(Dyn)* entry = object->l_ld; entry != nullptr && entry->d_tag != DT_NULL; ++entry) {
    const ElfW(Addr) value = entry->d_un.d_ptr;
    if (entry->d_tag == DT_SYMTAB) found.symbols = at<const ElfW(Sym)*>(object, value);
    if (entry->d_tag == DT_STRTAB) found.strings = at<const char*>(object, value);
    if (entry->d_tag == DT_VERSYM) found.versions = at<const ElfW(Half)*>(object, value);
    if (entry->d_tag == DT_GNU_HASH) found.gnu_hash = at<const std::uint32_t*>(object, value);
    if (entry->d_tag == DT_HASH) found.hash = at<const std::uint32_t*>(object, value);
  }
  return found;
}

bool same(const char* left, const char* right) noexcept {
  while (*left != '\0' && *left == *right) ++left, ++right;
  return *left == *right;
}

// 0: not the symbol that was asked for; 1: an old version of it; 2: the default version.
int match(const SymbolTables& tables, std::uint32_t index, const char* name) noexcept {
  const ElfW(Sym)& symbol = tables.symbols[index];
  const unsigned type = ELF64_ST_TYPE(symbol.st_info);
  if (symbol.st_shndx == SHN_UNDEF || symbol.st_value == 0 || (type != STT_FUNC && type != STT_NOTYPE)) return 0;
  if (!same(tables.strings + symbol.st_name, name)) return 0;
  constexpr ElfW(Half) hidden = 0x8000;
  return tables.versions != nullptr && (tables.versions[index] & hidden) != 0 ? 1 : 2;
}

struct Search {
  const SymbolTables& tables;
  const char* name;
  std::uint32_t found = 0;
  int quality = 0;

  void look_at(std::uint32_t index) noexcept {
    const int now = match(tables, index, name);
    if (now > quality) quality = now, found = index;
  }
};

void search_gnu_hash(Search& search) noexcept {
  const std::uint32_t* table = search.tables.gnu_hash;
  const std::uint32_t bucket_count = table[0];
  const std::uint32_t first_symbol = table[1];
  const std::uint32_t bloom_words = table[2];
  const std::uint32_t* buckets = table + 4 + bloom_words * (sizeof(ElfW(Addr)) / sizeof(std::uint32_t));
  const std::uint32_t* chains = buckets + bucket_count;
  std::uint32_t hash = 5381;
  for (const char* letter = search.name; *letter != '\0'; ++letter) {
    hash = hash * 33 + static_cast<unsigned char>(*letter);
  }
  if (bucket_count == 0) return;
  std::uint32_t index = buckets[hash % bucket_count];
  if (index < first_symbol) return;
  for (;; ++index) {
    const std::uint32_t entry = chains[index - first_symbol];
    if ((entry | 1) == (hash | 1)) search.look_at(index);
    if ((entry & 1) != 0) return;
  }
}

}  // namespace

void* defined_in(const link_map* object, const char* name) noexcept {
  const SymbolTables tables = tables_of(object);
  if (tables.symbols == nullptr || tables.strings == nullptr) return nullptr;
  Search search{tables, name};
  if (tables.gnu_hash != nullptr) {
    search_gnu_hash(search);
  } else if (tables.hash != nullptr) {
    for (std::uint32_t index = 0; index < tables.hash[1]; ++index) search.look_at(index);
  }
  if (search.quality == 0) return nullptr;
  return reinterpret_cast<void*>(object->l_addr + tables.symbols[search.found].st_value);
}

bool refers_to(const link_map* object, const char* name) noexcept {
  const SymbolTables tables = tables_of(object);
  if (tables.symbols == nullptr || tables.strings == nullptr) return false;
  // The GNU table holds what is defined, and begins behind what is not.
  std::uint32_t end = tables.hash != nullptr ? tables.hash[1] : 0;
  if (tables.gnu_hash != nullptr) end = tables.gnu_hash[1];
  for (std::uint32_t index = 1; index < end; ++index) {
    const ElfW(Sym)& symbol = tables.symbols[index];
    if (symbol.st_shndx == SHN_UNDEF && same(tables.strings + symbol.st_name, name)) return true;
  }
  return false;
}

AddressRange range_of(const link_map* object) noexcept {
  // The first segment of a shared object holds its ELF header, at the load address.
  const auto* header = reinterpret_cast<const ElfW(Ehdr)*>(object->l_addr);
  if (header == nullptr || header->e_ident[0] != 0x7f || header->e_ident[1] != 'E') return {0, 0};
  const auto* segments = reinterpret_cast<const ElfW(Phdr)*>(object->l_addr + header->e_phoff);
  std::uintptr_t end = object->l_addr;
  for (unsigned i = 0; i < header->e_phnum; ++i) {
    if (segments[i].p_type != PT_LOAD) continue;
    const std::uintptr_t segment_end = object->l_addr + segments[i].p_vaddr + segments[i].p_memsz;
    if (segment_end > end) end = segment_end;
  }
  return {object->l_addr, end};
}

const link_map* own_object() noexcept {
  for (const link_map* object = _r_debug.r_map; object != nullptr; object = object->l_next) {
    if (object->l_ld == _DYNAMIC) return object;
  }
  return nullptr;
}

}  // namespace weft
