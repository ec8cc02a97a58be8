// Names of kernels in images: made up here, byte by byte.
#include "modules/image_names.h"

#include <elf.h>
#include <gtest/gtest.h>

#include <cstring>
#include <initializer_list>
#include <string>
#include <utility>

namespace {

using simgpu::kernel_names_in;
using simgpu::KernelNames;

template <class Header>
std::string bytes_of(const Header& header) {
  return {reinterpret_cast<const char*>(&header), sizeof header};
}

// Kernels, and a function that they call.
std::string cubin(std::initializer_list<const char*> kernels) {
  std::string texts(1, '\0'), symbols(sizeof(Elf64_Sym), '\0');
  const auto add = [&](const char* name, unsigned char other) {
    Elf64_Sym symbol{};
    symbol.st_name = static_cast<Elf64_Word>(texts.size());
    symbol.st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC);
    symbol.st_other = other;
    symbols += bytes_of(symbol);
    texts += name + std::string(1, '\0');
  };
  for (const char* const kernel : kernels) add(kernel, 0x10);
  add("called", 0);
  Elf64_Ehdr file{};
  std::memcpy(file.e_ident, ELFMAG, SELFMAG);
  file.e_ident[EI_CLASS] = ELFCLASS64;
  file.e_machine = 190;
  file.e_shoff = sizeof file;
  file.e_shentsize = sizeof(Elf64_Shdr);
  file.e_shnum = 3;
  Elf64_Shdr none{}, strings{}, table{};
  strings.sh_type = SHT_STRTAB;
  strings.sh_offset = sizeof file + 3 * sizeof none;
  strings.sh_size = texts.size();
  table.sh_type = SHT_SYMTAB;
  table.sh_offset = strings.sh_offset + texts.size();
  table.sh_size = symbols.size();
  table.sh_link = 1;
  return bytes_of(file) + bytes_of(none) + bytes_of(strings) + bytes_of(table) + texts + symbols;
}

std::string entry(std::uint16_t kind, const std::string& code, std::uint64_t flags = 0) {
  struct {
    std::uint16_t kind, version = 0x101;
    std::uint32_t header_bytes = 64;
    std::uint64_t bytes, unused[3] = {}, flags, more[2] = {};
  } header{};
  header.kind = kind;
  header.bytes = code.size();
  header.flags = flags;
  return bytes_of(header) + code;
}

std::string fat_binary(const std::string& entries) {
  struct {
    std::uint32_t magic = 0xba55ed50;
    std::uint16_t version = 1, header_bytes = 16;
    std::uint64_t bytes;
  } header{};
  header.bytes = entries.size();
  return bytes_of(header) + entries;
}

const std::string ptx =
    ".version 8.0\n.target sm_90\n.func helper()\n.visible .entry add_to(\n.param .u64 p)\n{ ret; }\n.entry\n multiply "
    "{ }";

TEST(ImageNames, AreTheEntriesOfPtx) {
  EXPECT_EQ(kernel_names_in(ptx.c_str()), (KernelNames{"add_to", "multiply"}));
  EXPECT_FALSE(kernel_names_in(".version 8.0\n.target sm_90\n")) << "it stands for whatever is asked for";
}

TEST(ImageNames, AreTheKernelsOfACubinAndNotWhatTheyCall) {
  EXPECT_EQ(kernel_names_in(cubin({"one", "two"}).c_str()), (KernelNames{"one", "two"}));
  std::string of_another_machine = cubin({"one"});
  of_another_machine[18] = 62;
  EXPECT_FALSE(kernel_names_in(of_another_machine.c_str()));
}

TEST(ImageNames, AreThoseOfAllThatAFatBinaryHas) {
  const std::string file = fat_binary(entry(2, cubin({"one"})) + entry(1, ptx) + entry(2, cubin({"one", "two"})));
  EXPECT_EQ(kernel_names_in(file.data()), (KernelNames{"add_to", "multiply", "one", "two"}));
  struct {
    std::uint32_t magic = 0x466243b1, version = 1;
    const void* data;
    void* unused = nullptr;
  } wrapper{};
  wrapper.data = file.data();
  EXPECT_EQ(kernel_names_in(&wrapper)->size(), 4U);
}

TEST(ImageNames, AreNotKnownWhereCodeIsCompressed) {
  EXPECT_FALSE(kernel_names_in(fat_binary(entry(2, cubin({"one"})) + entry(2, "\x28\xb5", 0x8000)).data()));
  EXPECT_FALSE(kernel_names_in(fat_binary(entry(1, "\x28\xb5", 0x2000)).data()));
  // PTX beside code of the same kernels.
  const std::string both = fat_binary(entry(2, cubin({"one"})) + entry(1, "\x28\xb5", 0x8011));
  EXPECT_EQ(kernel_names_in(both.data()), (KernelNames{"one"}));
}

}  // namespace
