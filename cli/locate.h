// Where the libraries of Weft are: next to the running command, in the build tree as in the installed one.
#pragma once

#include <filesystem>
#include <string>

namespace weft::cli {

// The folder of libweft.so. Throws std::runtime_error when it is not there.
std::filesystem::path library_directory();

// A path of libweft.so that LD_PRELOAD can hold. LD_PRELOAD is split at blanks and colons and '$' is expanded in it, so
// for a library in a folder with such a name this is a path through a link in a private folder of the user, which is
// made when it is not there yet (and then stays, as started processes need it). Throws std::runtime_error.
std::string preloadable_library();

// The value of LD_PRELOAD with `library` first; `before` is what it holds now.
std::string prepended(const std::string& library, const char* before);

}  // namespace weft::cli
