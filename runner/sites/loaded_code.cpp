// See loaded_code.h.
#include "runner/sites/loaded_code.h"

#include <elf.h>
#include <link.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <string_view>

namespace weft {
namespace {

struct Search {
  std::uintptr_t address;
  std::uintptr_t base = 0;
  std::array<char, 256> file{};  // the end of its path
  std::array<char, 1024> symbol{};
};

bool holds(const dl_phdr_info& object, std::uintptr_t address) {
  return std::any_of(object.dlpi_phdr, object.dlpi_phdr + object.dlpi_phnum, [&](const ElfW(Phdr) & part) {
    return part.p_type == PT_LOAD && address - (object.dlpi_addr + part.p_vaddr) < part.p_memsz;
  });
}

struct Symbols {
  const ElfW(Sym) * table = nullptr;
  const char* names = nullptr;
  const std::uint32_t* hash = nullptr;
  const std::uint32_t* gnu_hash = nullptr;

  std::uint32_t count() const;
};

// ld.so has relocated these pointers, except in the vdso, whose dynamic section it cannot write to.
template <class Pointer>
void take(Pointer& pointer, const dl_phdr_info& object, ElfW(Addr) value) {
  pointer = reinterpret_cast<Pointer>(value < object.dlpi_addr ? value + object.dlpi_addr : value);
}

Symbols symbols_of(const dl_phdr_info& object) {
  Symbols found;
  for (const auto* part = object.dlpi_phdr; part != object.dlpi_phdr + object.dlpi_phnum; ++part) {
    if (part->p_type != PT_DYNAMIC) continue;
    const auto* entry = reinterpret_cast<const ElfW(Dyn)*>(object.dlpi_addr + part->p_vaddr);
    for (; entry->d_tag != DT_NULL; ++entry) {
      if (entry->d_tag == DT_SYMTAB) take(found.table, object, entry->d_un.d_ptr);
      if (entry->d_tag == DT_STRTAB) take(found.names, object, entry->d_un.d_ptr);
      if (entry->d_tag == DT_HASH) take(found.hash, object, entry->d_un.d_ptr);
      if (entry->d_tag == DT_GNU_HASH) take(found.gnu_hash, object, entry->d_un.d_ptr);
    }
  }
  return found;
}

// The table does not say how long it is; the last chain of the hash table ends with it.
std::uint32_t Symbols::count() const {
  if (hash != nullptr) return hash[1];
  if (gnu_hash == nullptr) return 0;
  const std::uint32_t buckets = gnu_hash[0], first = gnu_hash[1], bloom_words = gnu_hash[2];
  const std::uint32_t* const bucket = gnu_hash + 4 + bloom_words * (sizeof(ElfW(Addr)) / sizeof(std::uint32_t));
  const std::uint32_t* const chains = bucket + buckets;
  std::uint32_t last = buckets == 0 ? 0 : *std::max_element(bucket, bucket + buckets);
  if (last < first) return first;
  while ((chains[last - first] & 1) == 0) ++last;
  return last + 1;
}

bool covers(const ElfW(Sym) & symbol, ElfW(Addr) offset) {
  const unsigned type = ELF64_ST_TYPE(symbol.st_info);
  return symbol.st_shndx != SHN_UNDEF && (type == STT_FUNC || type == STT_GNU_IFUNC) &&
         offset - symbol.st_value < symbol.st_size;
}

void copy_symbol(Search& search, const dl_phdr_info& object) {
  const Symbols symbols = symbols_of(object);
  if (symbols.table == nullptr || symbols.names == nullptr) return;
  const ElfW(Addr) offset = search.address - object.dlpi_addr;
  const ElfW(Sym)* const end = symbols.table + symbols.count();
  const auto* const found =
      std::find_if(symbols.table, end, [&](const ElfW(Sym) & symbol) { return covers(symbol, offset); });
  if (found == end) return;
  std::strncpy(search.symbol.data(), symbols.names + found->st_name, search.symbol.size() - 1);
}

int look(dl_phdr_info* object, std::size_t, void* data) {
  auto& search = *static_cast<Search*>(data);
  if (!holds(*object, search.address)) return 0;
  search.base = object->dlpi_addr;
  const std::string_view path = object->dlpi_name == nullptr ? "" : object->dlpi_name;
  const std::string_view name = path.substr(path.rfind('/') + 1);  // npos + 1 is 0
  name.copy(search.file.data(), search.file.size() - 1);
  copy_symbol(search, *object);
  return 1;
}

// The loader has no name for it.
std::string name_of_program() {
  std::array<char, 4096> path;
  const ssize_t length = ::readlink("/proc/self/exe", path.data(), path.size());
  if (length <= 0) return "";
  const std::string_view text(path.data(), static_cast<std::size_t>(length));
  return std::string(text.substr(text.rfind('/') + 1));
}

}  // namespace

std::optional<LoadedCode> find_loaded_code(const void* address) {
  Search search{reinterpret_cast<std::uintptr_t>(address)};
  if (::dl_iterate_phdr(&look, &search) == 0) return std::nullopt;
  LoadedCode found{search.file.data(), search.symbol.data(), search.address - search.base};
  if (found.file.empty()) found.file = name_of_program();
  return found;
}

}  // namespace weft
