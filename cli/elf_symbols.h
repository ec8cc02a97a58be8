// Does a shared object export a function? Read from the file; nothing is loaded or run.
#pragma once

#include <filesystem>
#include <string>

namespace weft::cli {

// "": yes. Else why not, to be put behind the file's name: "is not a shared object", ...
std::string why_not_exported(const std::filesystem::path& file, const std::string& symbol);

}  // namespace weft::cli
