// Finding libweft.so and a harmless path to it; see the header.
#include "cli/locate.h"

#include <unistd.h>

#include <array>
#include <cstdint>
#include <cstdio>
#include <stdexcept>
#include <system_error>

#include "runner/options/private_folder.h"

namespace weft::cli {
namespace {

namespace fs = std::filesystem;

constexpr const char* library_name = "libweft.so";

bool fits_into_preload(const std::string& path) {
  return path.find_first_of(" :$\t\n") == std::string::npos;
}

// FNV-1a: the same path gets the same link in every launch.
std::string hash_of(const std::string& text) {
  std::uint64_t hash = 14695981039346656037u;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211u;
  std::array<char, 17> digits{};
  std::snprintf(digits.data(), digits.size(), "%016llx", static_cast<unsigned long long>(hash));
  return digits.data();
}

bool is_private(const fs::path& folder) {
  const int descriptor = open_private_folder(folder.string());
  if (descriptor >= 0) ::close(descriptor);
  return descriptor >= 0;
}

// Several launches may do this at the same time: they make the same link.
bool make_link(const fs::path& link, const fs::path& target) {
  std::error_code error;
  fs::create_directory_symlink(target, link, error);
  return fs::read_symlink(link, error) == target && !error;
}

}  // namespace

fs::path library_directory() {
  const fs::path binary_directory = fs::read_symlink("/proc/self/exe").parent_path();
  for (const char* relative : {WEFT_LIBRARY_FROM_COMMAND, "../lib/weft"}) {
    const fs::path directory = (binary_directory / relative).lexically_normal();
    if (fs::exists(directory / library_name)) return directory;
  }
  throw std::runtime_error(std::string(library_name) + " is not where it belongs, in " +
                           (binary_directory / WEFT_LIBRARY_FROM_COMMAND).lexically_normal().string());
}

std::string preloadable_library() {
  const fs::path directory = library_directory();
  const std::string plain = (directory / library_name).string();
  if (fits_into_preload(plain)) return plain;
  for (const std::string& place : private_places(environment_variables())) {
    if (!fits_into_preload(place)) continue;
    const fs::path folder =
        fs::path(place) / ("weft-" + std::to_string(::geteuid()) + "-" + hash_of(directory.string()));
    if (is_private(folder) && make_link(folder / "lib", directory)) return (folder / "lib" / library_name).string();
  }
  throw std::runtime_error("LD_PRELOAD cannot hold the path " + plain +
                           " (a blank, colon or dollar sign), and no link to it can be made in /tmp");
}

std::string prepended(const std::string& library, const char* before) {
  const std::string list = before == nullptr ? "" : before;
  if (list.empty() || list == library || list.starts_with(library + ":")) return list.empty() ? library : list;
  return library + ":" + list;
}

}  // namespace weft::cli
