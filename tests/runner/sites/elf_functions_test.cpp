// Functions in ELF files: of this program, and of files that are cut off, changed, or none.
#include "runner/sites/elf_functions.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>

#include "runner/sites/mapped_files.h"

namespace weft {

[[gnu::noinline]] int a_function_of_this_program() {
  return 1;
}

namespace {

constexpr const char* own_file = "/proc/self/exe";

std::string bytes_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

class ElfFunctions : public ::testing::Test {
 protected:
  ElfFunctions() : path_(std::filesystem::temp_directory_path() / ("weft-elf-" + std::to_string(::getpid()))) {}
  ~ElfFunctions() override { std::filesystem::remove(path_); }
  std::string write(std::string_view bytes) {
    std::ofstream(path_, std::ios::binary).write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
    return path_.string();
  }

 private:
  std::filesystem::path path_;
};

// Where it lies in the file.
std::uint64_t place_of_own_function() {
  const auto function = reinterpret_cast<std::uintptr_t>(&a_function_of_this_program);
  const std::vector<MappedFile> files = mapped_code(bytes_of("/proc/self/maps"));
  const MappedFile* const file = find_mapped(files, function);
  return file == nullptr ? 0 : function - file->begin + file->offset;
}

TEST_F(ElfFunctions, AreFoundByTheirPlaces) {
  const std::uint64_t place = place_of_own_function();
  const auto found = elf_functions(own_file, {place + 1, place, 0});
  ASSERT_EQ(found.size(), 3U);
  EXPECT_EQ(found.at(place).symbol, "_ZN4weft26a_function_of_this_programEv");
  EXPECT_EQ(found.at(place + 1).symbol, "_ZN4weft26a_function_of_this_programEv");
  EXPECT_EQ(found.at(place + 1).address, found.at(place).address + 1);
  EXPECT_EQ(found.at(0).symbol, "") << "that is the header";
}

TEST_F(ElfFunctions, AreNoneInOtherFiles) {
  EXPECT_TRUE(elf_functions("/absent", {1}).empty());
  EXPECT_TRUE(elf_functions("/", {1}).empty());
  EXPECT_TRUE(elf_functions(write(""), {1}).empty());
  EXPECT_TRUE(elf_functions(write("#!/bin/sh\n"), {1}).empty());
  EXPECT_TRUE(elf_functions(own_file, {~std::uint64_t{0}}).empty());
}

TEST_F(ElfFunctions, OfADamagedFileAreFewerOrOthers) {
  const std::string whole = bytes_of("/lib64/ld-linux-x86-64.so.2");
  ASSERT_GT(whole.size(), 1000U);
  std::mt19937_64 random(1);
  const auto below = [&](std::uint64_t most) { return random() % most; };
  for (int round = 0; round < 500; ++round) {
    std::string bytes = whole;
    // In the header, the program headers, and at the end, where those of the sections are.
    for (int i = 0; i < 20; ++i)
      bytes[i % 2 == 0 ? below(1000) : bytes.size() - 1 - below(2000)] = static_cast<char>(random());
    std::memcpy(bytes.data(), whole.data(), 20);
    if (round % 3 == 0) bytes.resize(below(bytes.size()));
    elf_functions(write(bytes), {below(whole.size()), below(whole.size()), random()});
  }
}

}  // namespace
}  // namespace weft
