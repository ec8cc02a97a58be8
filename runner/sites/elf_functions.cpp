// See elf_functions.h.
#include "runner/sites/elf_functions.h"

#include <elf.h>
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>

namespace weft {
namespace {

class File {
 public:
  explicit File(const std::string& path)
      : descriptor_(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK)) {}
  ~File() {
    if (descriptor_ >= 0) ::close(descriptor_);
  }
  File(const File&) = delete;
  File& operator=(const File&) = delete;

  // How much of it was there.
  std::size_t read(std::uint64_t offset, void* bytes, std::size_t count) const {
    if (offset > INT64_MAX) return 0;
    const ssize_t got = ::pread(descriptor_, bytes, count, static_cast<off_t>(offset));
    return got > 0 ? static_cast<std::size_t>(got) : 0;
  }
  template <class T>
  std::optional<T> at(std::uint64_t offset) const {
    T value;
    return read(offset, &value, sizeof value) == sizeof value ? std::optional(value) : std::nullopt;
  }

 private:
  const int descriptor_;
};

bool is_of_this_machine(const Elf64_Ehdr& header) {
  return std::memcmp(header.e_ident, ELFMAG, SELFMAG) == 0 && header.e_ident[EI_CLASS] == ELFCLASS64 &&
         header.e_ident[EI_DATA] == ELFDATA2LSB && header.e_machine == EM_X86_64;
}

using Functions = std::map<std::uint64_t, ElfFunction>;

void add_addresses(const File& file, const Elf64_Ehdr& header, const std::vector<std::uint64_t>& places,
                   Functions& found) {
  for (std::uint64_t i = 0; i < header.e_phnum; ++i) {
    const auto part = file.at<Elf64_Phdr>(header.e_phoff + i * sizeof(Elf64_Phdr));
    if (!part || part->p_type != PT_LOAD) continue;
    for (const std::uint64_t place : places)
      if (place - part->p_offset < part->p_filesz) found[place].address = place - part->p_offset + part->p_vaddr;
  }
}

bool covers(const Elf64_Sym& symbol, std::uint64_t address) {
  return address - symbol.st_value < symbol.st_size;
}

bool is_function(const Elf64_Sym& symbol) {
  const unsigned type = ELF64_ST_TYPE(symbol.st_info);
  return symbol.st_shndx != SHN_UNDEF && (type == STT_FUNC || type == STT_GNU_IFUNC);
}

// The innermost function that covers each place; of several names of one the first that others may use.
class Search {
 public:
  explicit Search(Functions& functions) {
    for (auto& [place, function] : functions) wanted_.push_back({function.address, &function, std::nullopt});
    std::ranges::sort(wanted_, {}, &Wanted::address);
  }
  void look_at(const Elf64_Sym& symbol) {
    if (!is_function(symbol)) return;
    auto next = std::ranges::lower_bound(wanted_, symbol.st_value, {}, &Wanted::address);
    for (; next != wanted_.end() && covers(symbol, next->address); ++next)
      if (!next->best || is_better(symbol, *next->best)) next->best = symbol;
  }
  void take_names(const File& file, const Elf64_Shdr& names) {
    for (Wanted& wanted : wanted_) {
      if (!wanted.best || wanted.best->st_name >= names.sh_size) continue;
      std::array<char, 1024> text;
      const std::size_t most = std::min<std::uint64_t>(text.size(), names.sh_size - wanted.best->st_name);
      const std::size_t got = file.read(names.sh_offset + wanted.best->st_name, text.data(), most);
      wanted.function->symbol.assign(text.data(), ::strnlen(text.data(), got));
    }
  }

 private:
  struct Wanted {
    std::uint64_t address;
    ElfFunction* function;
    std::optional<Elf64_Sym> best;
  };
  static bool is_better(const Elf64_Sym& symbol, const Elf64_Sym& than) {
    if (symbol.st_value != than.st_value) return symbol.st_value > than.st_value;
    return ELF64_ST_BIND(than.st_info) == STB_LOCAL && ELF64_ST_BIND(symbol.st_info) != STB_LOCAL;
  }

  std::vector<Wanted> wanted_;
};

void search(const File& file, const Elf64_Shdr& symbols, const Elf64_Shdr& names, Functions& functions) {
  constexpr std::uint64_t at_once = 2048;
  Search search(functions);
  std::vector<Elf64_Sym> piece(at_once);
  for (std::uint64_t done = 0; done < symbols.sh_size; done += at_once * sizeof(Elf64_Sym)) {
    const std::uint64_t bytes = std::min(at_once * sizeof(Elf64_Sym), symbols.sh_size - done);
    const std::size_t count = file.read(symbols.sh_offset + done, piece.data(), bytes) / sizeof(Elf64_Sym);
    for (std::size_t i = 0; i < count; ++i) search.look_at(piece[i]);
    if (count < at_once) break;
  }
  search.take_names(file, names);
}

// Where the file has them all, also the functions that are its own alone.
std::optional<Elf64_Shdr> symbol_table(const File& file, const Elf64_Ehdr& header) {
  std::optional<Elf64_Shdr> found;
  for (std::uint64_t i = 0; i < header.e_shnum; ++i) {
    const auto section = file.at<Elf64_Shdr>(header.e_shoff + i * sizeof(Elf64_Shdr));
    if (!section || section->sh_entsize != sizeof(Elf64_Sym)) continue;
    if (section->sh_type == SHT_SYMTAB || (section->sh_type == SHT_DYNSYM && !found)) found = section;
  }
  return found;
}

}  // namespace

Functions elf_functions(const std::string& path, const std::vector<std::uint64_t>& places) {
  const File file(path);
  const auto header = file.at<Elf64_Ehdr>(0);
  if (!header || !is_of_this_machine(*header)) return {};
  Functions found;
  add_addresses(file, *header, places, found);
  const auto symbols = symbol_table(file, *header);
  if (!symbols) return found;
  const auto names = file.at<Elf64_Shdr>(header->e_shoff + symbols->sh_link * sizeof(Elf64_Shdr));
  if (names) search(file, *symbols, *names, found);
  return found;
}

}  // namespace weft
