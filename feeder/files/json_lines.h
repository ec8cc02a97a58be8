// Records of JSON Lines: each line is a list of numbers, or an object with lists of numbers by name.
//
// Read by the feeder. All lines are looked at when the file is opened, so that one that is no record is found before
// any work is done. parse_line() is pure and throws std::invalid_argument.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "feeder/files/input_file.h"

namespace weft {

std::unique_ptr<InputFile> open_json_lines(const std::string& path);

// The numbers that a line has for a tensor of one dimension, as the tensor's type has them; how many they are. Throws
// where they are no such, or more than there is room for.
std::uint32_t parse_line(std::string_view line, const Tensor& wanted, std::span<std::byte> to);

}  // namespace weft
