// The dynamic symbol table of an ELF file, with every offset checked: the file may be anything.
#include "cli/elf_symbols.h"

#include <elf.h>

#include <cerrno>
#include <cstddef>
#include <cstring>
#include <fstream>
#include <iterator>
#include <optional>
#include <string_view>
#include <vector>

namespace weft::cli {
namespace {

// Copies a T out of the file's bytes; nothing when it is not wholly inside.
template <class T>
std::optional<T> at(std::string_view bytes, std::uint64_t offset) {
  if (offset > bytes.size() || bytes.size() - offset < sizeof(T)) return std::nullopt;
  T value;
  std::memcpy(&value, bytes.data() + offset, sizeof value);
  return value;
}

std::string_view section(std::string_view bytes, const Elf64_Shdr& header) {
  if (header.sh_offset > bytes.size() || bytes.size() - header.sh_offset < header.sh_size) return {};
  return bytes.substr(header.sh_offset, header.sh_size);
}

std::string_view name_at(std::string_view names, std::uint64_t offset) {
  if (offset >= names.size()) return {};
  return names.substr(offset, names.find('\0', offset) - offset);
}

bool defines(std::string_view symbols, std::string_view names, std::string_view wanted) {
  for (std::uint64_t offset = 0;; offset += sizeof(Elf64_Sym)) {
    const auto symbol = at<Elf64_Sym>(symbols, offset);
    if (!symbol) return false;
    if (symbol->st_shndx != SHN_UNDEF && name_at(names, symbol->st_name) == wanted) return true;
  }
}

// The section headers come last in the file: one that was cut off lacks some of them.
bool is_shared_object(std::string_view bytes, const std::optional<Elf64_Ehdr>& header) {
  return header && std::memcmp(header->e_ident, ELFMAG, SELFMAG) == 0 && header->e_ident[EI_CLASS] == ELFCLASS64 &&
         header->e_ident[EI_DATA] == ELFDATA2LSB && header->e_type == ET_DYN && header->e_machine == EM_X86_64 &&
         header->e_shoff <= bytes.size() && bytes.size() - header->e_shoff >= header->e_shnum * sizeof(Elf64_Shdr);
}

bool exports(std::string_view bytes, const Elf64_Ehdr& header, std::string_view wanted) {
  if (header.e_shnum == 0) return true;  // stripped of its section headers: only the loader can tell
  for (std::uint64_t i = 0; i < header.e_shnum; ++i) {
    const auto symbols = at<Elf64_Shdr>(bytes, header.e_shoff + i * sizeof(Elf64_Shdr));
    if (!symbols || symbols->sh_type != SHT_DYNSYM) continue;
    const auto names = at<Elf64_Shdr>(bytes, header.e_shoff + symbols->sh_link * sizeof(Elf64_Shdr));
    if (names && defines(section(bytes, *symbols), section(bytes, *names), wanted)) return true;
  }
  return false;
}

}  // namespace

std::string why_not_exported(const std::filesystem::path& file, const std::string& symbol) {
  std::ifstream in(file, std::ios::binary);
  if (!in) return std::string("cannot be read: ") + std::strerror(errno);
  const std::string bytes{std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
  const auto header = at<Elf64_Ehdr>(bytes, 0);
  if (!is_shared_object(bytes, header)) return "is not a shared object for this machine";
  if (!exports(bytes, *header, symbol)) return "does not export " + symbol;
  return "";
}

}  // namespace weft::cli
