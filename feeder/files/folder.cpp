// See folder.h.
#include "feeder/files/folder.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstring>
#include <filesystem>
#include <system_error>

#include "feeder/files/open_file.h"

namespace weft {

namespace fs = std::filesystem;

bool is_there(const std::string& path) {
  struct stat status {};
  return ::stat(path.c_str(), &status) == 0;
}

void make_folder(const std::string& path) {
  if (::mkdir(path.c_str(), 0777) != 0) throw FileError(path, std::strerror(errno));
}

bool make_folder_unless_there(const std::string& path) {
  fs::path folder = fs::absolute(path).lexically_normal();
  if (!folder.has_filename()) folder = folder.parent_path();  // of a path with '/' at its end
  std::error_code error;
  if (fs::is_directory(folder, error)) return false;
  if (const fs::path parent = folder.parent_path(); !fs::is_directory(parent, error))
    throw FileError(folder.string(),
                    "cannot be made: there is no folder " + parent.string() + "; make it, or mount its file system");
  const bool is_made = fs::create_directory(folder, error);
  if (error) throw FileError(folder.string(), "cannot be made: " + error.message());
  return is_made;
}

std::vector<std::string> names_in(const std::string& folder) {
  std::vector<std::string> names;
  std::error_code error;
  fs::directory_iterator entries(folder, error);
  for (; !error && entries != fs::directory_iterator(); entries.increment(error))
    names.push_back(entries->path().filename());
  if (error) throw FileError(folder, error.message());
  return names;
}

std::optional<std::uint64_t> number_of(std::string_view name) {
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), number);
  return error == std::errc{} && end == name.data() + name.size() ? std::optional(number) : std::nullopt;
}

bool make_empty(const std::string& path) {
  const int file = ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  if (file < 0 && errno != EEXIST) throw FileError(path, std::strerror(errno));
  if (file < 0) return false;
  ::close(file);
  return true;
}

void touch(const std::string& path) {
  ::utimensat(AT_FDCWD, path.c_str(), nullptr, 0);
}

std::optional<std::int64_t> time_of(const std::string& path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0) return std::nullopt;
  return static_cast<std::int64_t>(status.st_mtim.tv_sec);
}

std::optional<std::int64_t> time_by(const std::string& clock) {
  const int file = ::open(clock.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
  if (file < 0) return std::nullopt;
  ::close(file);
  touch(clock);
  const auto now = time_of(clock);
  ::unlink(clock.c_str());
  return now;
}

bool is_older(std::optional<std::int64_t> time, std::int64_t now, Duration limit) {
  return time && now - *time > std::chrono::floor<std::chrono::seconds>(limit).count();
}

}  // namespace weft
