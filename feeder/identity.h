// A name for the content of a file, or of a folder of images, for results that must not be mixed with others.
//
// Used by the feeder when work begins. Throws FileError.
#pragma once

#include <string>

#include "feeder/files/input_file.h"

namespace weft {

// 32 hexadecimal digits. Of a file of more than 256 MiB: its size, its begin and its end, and pieces in between; else
// all of it.
std::string identity_of_file(const std::string& path);
// Likewise of what was opened there; of a folder: the names and sizes of its images as they were seen then, and their
// contents as if they were one file.
std::string identity_of_input(const std::string& path, const InputFile& input);

}  // namespace weft
