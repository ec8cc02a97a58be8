// Files for the tests of the feeder: a folder of one test, and files in it.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <span>
#include <string>
#include <vector>

#include "feeder/files/array_file.h"

namespace weft::testing {

struct Files : ::testing::Test {
  static std::string folder_name() {
    std::string name = ::testing::UnitTest::GetInstance()->current_test_info()->name();
    std::replace(name.begin(), name.end(), '/', '_');  // of a test with a parameter
    return "feeder_" + std::to_string(::getpid()) + "_" + name;
  }
  const std::filesystem::path folder = std::filesystem::path("/dev/shm") / folder_name();
  Files() {
    std::filesystem::remove_all(folder);
    std::filesystem::create_directories(folder);
  }
  ~Files() override { std::filesystem::remove_all(folder); }

  std::string path(const std::string& name) const { return (folder / name).string(); }
  std::string write(const std::string& name, const std::string& content) const {
    std::ofstream(path(name), std::ios::binary) << content;
    return path(name);
  }
  static std::string read(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
};

template <class Number>
std::string bytes_of(const std::vector<Number>& numbers) {
  std::string bytes(numbers.size() * sizeof(Number), '\0');
  std::memcpy(bytes.data(), numbers.data(), bytes.size());
  return bytes;
}

inline Tensor tensor(std::string_view name, std::uint32_t type, std::vector<std::uint64_t> shape,
                     bool is_variable = false) {
  Tensor made = make_tensor(name, type, shape.data(), static_cast<std::uint32_t>(shape.size()));
  made.variable = is_variable ? 1 : 0;
  return made;
}

// Of 32-bit numbers.
inline std::string npy(const std::vector<std::uint64_t>& shape, const std::vector<std::int32_t>& numbers) {
  return npy_begin(tensor("array", WEFT_INT32, shape)) + bytes_of(numbers);
}

// The message of what is thrown; "": nothing is.
template <class Call>
std::string fault_of(Call call) {
  try {
    call();
    return "";
  } catch (const std::exception& error) {
    return error.what();
  }
}

}  // namespace weft::testing
