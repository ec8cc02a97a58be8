// The export list of the simulated libcuda against that of the toolkit's stub library: the same names, no versions,
// each with an address of its own; what is not implemented says so.
#include <cuda.h>
#include <dlfcn.h>
#include <elf.h>
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <set>
#include <string>
#include <vector>

namespace {

struct Dynamic {
  std::set<std::string> names;
  std::string soname;
  bool versioned = false;
  bool symbolic = false;
};

template <class Section>
const Section* at(const std::vector<char>& file, std::size_t offset) {
  return reinterpret_cast<const Section*>(file.data() + offset);
}

Dynamic read_dynamic(const char* path) {
  std::ifstream stream(path, std::ios::binary);
  const std::vector<char> file((std::istreambuf_iterator<char>(stream)), std::istreambuf_iterator<char>());
  Dynamic result;
  if (file.size() < sizeof(Elf64_Ehdr)) return result;
  const auto* header = at<Elf64_Ehdr>(file, 0);
  const auto* sections = at<Elf64_Shdr>(file, header->e_shoff);
  for (unsigned index = 0; index < header->e_shnum; ++index) {
    const Elf64_Shdr& section = sections[index];
    if (section.sh_type == SHT_GNU_verdef) result.versioned = true;
    if (section.sh_type != SHT_DYNSYM && section.sh_type != SHT_DYNAMIC) continue;
    const char* strings = file.data() + sections[section.sh_link].sh_offset;
    if (section.sh_type == SHT_DYNSYM) {
      const auto* symbols = at<Elf64_Sym>(file, section.sh_offset);
      for (std::size_t i = 1; i < section.sh_size / sizeof(Elf64_Sym); ++i)
        if (symbols[i].st_shndx != SHN_UNDEF) result.names.insert(strings + symbols[i].st_name);
    } else {
      for (const auto* entry = at<Elf64_Dyn>(file, section.sh_offset); entry->d_tag != DT_NULL; ++entry) {
        if (entry->d_tag == DT_SONAME) result.soname = strings + entry->d_un.d_val;
        if (entry->d_tag == DT_SYMBOLIC) result.symbolic = true;
        if (entry->d_tag == DT_FLAGS && (entry->d_un.d_val & DF_SYMBOLIC) != 0) result.symbolic = true;
      }
    }
  }
  return result;
}

std::set<std::string> cuda_names(const Dynamic& dynamic) {
  std::set<std::string> names;
  for (const std::string& name : dynamic.names)
    if (name.starts_with("cu")) names.insert(name);
  return names;
}

TEST(Exports, SameNamesAsTheStubAndNothingElse) {
  const Dynamic simulated = read_dynamic(SIMULATED_CUDA);
  const Dynamic stub = read_dynamic(STUB_CUDA);
  EXPECT_GE(cuda_names(stub).size(), 637U);
  EXPECT_EQ(simulated.names, cuda_names(stub));
}

TEST(Exports, SonameIsTheRealOneAndNothingIsVersioned) {
  const Dynamic simulated = read_dynamic(SIMULATED_CUDA);
  EXPECT_EQ(simulated.soname, "libcuda.so.1");
  EXPECT_FALSE(simulated.versioned);
  EXPECT_TRUE(simulated.symbolic);
}

TEST(Exports, EveryNameHasItsOwnAddress) {
  void* library = dlopen(SIMULATED_CUDA, RTLD_NOW | RTLD_LOCAL);
  ASSERT_NE(library, nullptr) << dlerror();
  std::set<void*> addresses;
  const std::set<std::string> names = cuda_names(read_dynamic(STUB_CUDA));
  for (const std::string& name : names) addresses.insert(dlsym(library, name.c_str()));
  EXPECT_EQ(addresses.size(), names.size());
  EXPECT_FALSE(addresses.contains(nullptr));
}

TEST(Exports, WhatIsNotImplementedSaysNotSupported) {
  void* library = dlopen(SIMULATED_CUDA, RTLD_NOW | RTLD_LOCAL);
  ASSERT_NE(library, nullptr) << dlerror();
  const auto create = reinterpret_cast<CUresult (*)(CUtexref*)>(dlsym(library, "cuTexRefCreate"));
  ASSERT_NE(create, nullptr);
  CUtexref reference = nullptr;
  EXPECT_EQ(create(&reference), CUDA_ERROR_NOT_SUPPORTED);
}

}  // namespace
