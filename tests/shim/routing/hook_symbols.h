// Where the hooks of libweft.so are, read from the full symbol table of its file: it does not export them.
#pragma once

#include <elf.h>
#include <link.h>

#include <cstring>
#include <fstream>
#include <iterator>
#include <map>
#include <string>

// Name to address, of all functions of the loaded object, also those that it does not export.
inline std::map<std::string, void*> functions_of(const link_map* object) {
  std::ifstream file(object->l_name, std::ios::binary);
  const std::string image{std::istreambuf_iterator<char>(file), {}};
  const auto* header = reinterpret_cast<const ElfW(Ehdr)*>(image.data());
  const auto* sections = reinterpret_cast<const ElfW(Shdr)*>(image.data() + header->e_shoff);
  std::map<std::string, void*> found;
  for (int i = 0; i < header->e_shnum; ++i) {
    if (sections[i].sh_type != SHT_SYMTAB) continue;
    const char* names = image.data() + sections[sections[i].sh_link].sh_offset;
    const auto* symbols = reinterpret_cast<const ElfW(Sym)*>(image.data() + sections[i].sh_offset);
    for (std::size_t at = 0; at < sections[i].sh_size / sizeof(ElfW(Sym)); ++at) {
      if (ELF64_ST_TYPE(symbols[at].st_info) != STT_FUNC || symbols[at].st_shndx == SHN_UNDEF) continue;
      found[names + symbols[at].st_name] = reinterpret_cast<void*>(object->l_addr + symbols[at].st_value);
    }
  }
  return found;
}
