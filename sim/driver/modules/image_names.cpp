// See image_names.h. Formats: the wrapper that nvcc embeds (fatbinary_section.h of the toolkit); the container of fat
// binaries, which is not documented, as nvcc of CUDA 12 and 13 writes it; ELF with 64 bits.
#include "modules/image_names.h"

#include <elf.h>

#include <cstdint>
#include <cstring>
#include <string_view>

namespace simgpu {
namespace {

constexpr std::uint32_t wrapper_magic = 0x466243b1, fat_binary_magic = 0xba55ed50;
constexpr std::uint16_t cuda_machine = 190;    // e_machine of a cubin
constexpr unsigned char kernel_symbol = 0x10;  // in st_other: a function that is launched, and not called

struct Wrapper {
  std::uint32_t magic, version;
  const void* data;
};
struct FatBinary {
  std::uint32_t magic;
  std::uint16_t version, header_bytes;
  std::uint64_t bytes;  // behind the header
};
struct Entry {
  std::uint16_t kind, version;
  std::uint32_t header_bytes;
  std::uint64_t bytes;
  std::uint64_t unused[3];
  std::uint64_t flags;
};
constexpr std::uint16_t ptx_kind = 1, cubin_kind = 2;
constexpr std::uint64_t compressed = 0xa000;  // flags, of either way

template <class Header>
Header read(const char* from) {
  Header header;
  std::memcpy(&header, from, sizeof header);
  return header;
}

void add_names_of_cubin(const char* image, KernelNames& names) {
  const auto file = read<Elf64_Ehdr>(image);
  const auto section = [&](std::uint32_t number) {
    return read<Elf64_Shdr>(image + file.e_shoff + std::uint64_t{number} * file.e_shentsize);
  };
  for (std::uint32_t number = 0; number < file.e_shnum; ++number) {
    const Elf64_Shdr symbols = section(number);
    if (symbols.sh_type != SHT_SYMTAB || symbols.sh_link >= file.e_shnum) continue;
    const char* const texts = image + section(symbols.sh_link).sh_offset;
    for (std::uint64_t at = 0; at + sizeof(Elf64_Sym) <= symbols.sh_size; at += sizeof(Elf64_Sym)) {
      const auto symbol = read<Elf64_Sym>(image + symbols.sh_offset + at);
      if (ELF64_ST_TYPE(symbol.st_info) == STT_FUNC && (symbol.st_other & kernel_symbol) != 0)
        names.insert(texts + symbol.st_name);
    }
  }
}

void add_names_of_ptx(std::string_view text, KernelNames& names) {
  constexpr std::string_view entry = ".entry";
  for (std::size_t at = text.find(entry); at != std::string_view::npos; at = text.find(entry, at)) {
    at = text.find_first_not_of(" \t\r\n", at + entry.size());
    if (at == std::string_view::npos) return;
    const std::size_t end = std::min(text.find_first_of(" \t\r\n(;{", at), text.size());
    names.insert(std::string(text.substr(at, end - at)));
  }
}

// False: some of its code cannot be read.
bool add_names_of_fat_binary(const char* image, KernelNames& names) {
  const auto container = read<FatBinary>(image);
  if (container.header_bytes < sizeof container) return false;
  const char* const end = image + container.header_bytes + container.bytes;
  for (const char* at = image + container.header_bytes; at + sizeof(Entry) <= end;) {
    const auto entry = read<Entry>(at);
    if (entry.header_bytes < sizeof entry) return false;
    const char* const code = at + entry.header_bytes;
    const bool is_compressed = (entry.flags & compressed) != 0;
    if (entry.kind == cubin_kind && is_compressed) return false;
    if (entry.kind == cubin_kind) add_names_of_cubin(code, names);
    if (entry.kind == ptx_kind && !is_compressed) add_names_of_ptx({code, entry.bytes}, names);
    at = code + entry.bytes;
  }
  return true;
}

bool is_cubin(const char* image) {
  return std::memcmp(image, ELFMAG, SELFMAG) == 0 && image[EI_CLASS] == ELFCLASS64 &&
         read<Elf64_Ehdr>(image).e_machine == cuda_machine;
}

}  // namespace

std::optional<KernelNames> kernel_names_in(const void* image) {
  const char* begin = static_cast<const char*>(image);
  KernelNames names;
  bool all = true;
  if (read<std::uint32_t>(begin) == wrapper_magic) {
    const auto wrapper = read<Wrapper>(begin);
    if (wrapper.version != 1) return std::nullopt;
    begin = static_cast<const char*>(wrapper.data);
  }
  if (read<std::uint32_t>(begin) == fat_binary_magic)
    all = add_names_of_fat_binary(begin, names);
  else if (std::memcmp(begin, ELFMAG, SELFMAG) != 0)
    add_names_of_ptx(begin, names);
  else if (is_cubin(begin))
    add_names_of_cubin(begin, names);
  return all && !names.empty() ? std::optional(std::move(names)) : std::nullopt;
}

}  // namespace simgpu
