// Written beside the place, then renamed; see the header.
#include "trace/export/output.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <system_error>
#include <utility>
#include <vector>

#include "trace/read/below.h"
#include "trace/read/printable.h"

namespace weft {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t most_buffered = std::size_t{1} << 20;

std::string temporary_name(const std::string& path) {
  return path + ".tmp" + std::to_string(::getpid());
}

[[noreturn]] void cannot_be_written(const std::string& path, const std::string& why) {
  throw std::runtime_error(printable(path) + " cannot be written: " + why);
}

// A trace that is exported must not be lost for that, nor may `weft summary` take the file for one.
void refuse_name_of_trace(const std::string& path) {
  if (is_trace_name(fs::path(path).filename().string())) cannot_be_written(path, "it has the name of a trace");
}

}  // namespace

std::string resolved_output(const std::string& path) {
  std::error_code error;
  fs::path resolved = fs::weakly_canonical(fs::absolute(path, error), error);
  if (error) return path;
  if (!resolved.has_filename()) resolved = resolved.parent_path();  // "folder/" is the folder
  return resolved.string();
}

void refuse_other_file(const std::string& path, bool (*is_of_kind)(std::string_view begin), const std::string& kind) {
  constexpr std::size_t most_begin = 16;
  std::error_code error;
  if (!fs::is_regular_file(path, error) || fs::file_size(path, error) == 0) return;
  std::string begin(most_begin, '\0');
  std::ifstream file(path, std::ios::binary);
  file.read(begin.data(), static_cast<std::streamsize>(begin.size()));
  begin.resize(static_cast<std::size_t>(file.gcount()));
  if (!is_of_kind(begin)) cannot_be_written(path, "it is there, and is no " + kind);
}

OutputFile::OutputFile(std::string path)
    : path_(std::move(path)), target_(resolved_output(path_)), temporary_(temporary_name(target_)) {
  refuse_name_of_trace(path_);
  refuse_name_of_trace(target_);
  std::error_code ignored;
  const fs::file_status status = fs::status(target_, ignored);
  if (fs::exists(status) && !fs::is_regular_file(status)) cannot_be_written(path_, "it is no regular file");
  file_ = ::open(temporary_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0666);
  if (file_ < 0) fail(errno);
}

OutputFile::~OutputFile() {
  if (file_ < 0) return;
  ::close(file_);
  ::unlink(temporary_.c_str());
}

void OutputFile::fail(int error) const {
  cannot_be_written(path_, std::strerror(error));
}

void OutputFile::write(std::string_view bytes) {
  buffer_ += bytes;
  bytes_ += bytes.size();
  if (buffer_.size() >= most_buffered) flush();
}

void OutputFile::flush() {
  for (std::string_view left = buffer_; !left.empty();) {
    const ssize_t written = ::write(file_, left.data(), left.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) fail(written < 0 ? errno : ENOSPC);
    left.remove_prefix(static_cast<std::size_t>(written));
  }
  buffer_.clear();
}

void OutputFile::finish() {
  flush();
  const int closed = ::close(std::exchange(file_, -1));
  const int error = closed == 0 && ::rename(temporary_.c_str(), target_.c_str()) == 0 ? 0 : errno;
  if (error == 0) return;
  ::unlink(temporary_.c_str());
  fail(error);
}

OutputFolder::OutputFolder(std::string path)
    : path_(std::move(path)), target_(resolved_output(path_)), temporary_(temporary_name(target_)) {
  std::error_code error;
  if (fs::exists(target_, error)) {
    if (!fs::is_directory(target_, error)) cannot_be_written(path_, "it is no folder");
    if (!fs::is_empty(target_, error)) cannot_be_written(path_, error ? error.message() : "the folder is not empty");
    is_there_ = true;
    temporary_ = target_ + "/" + temporary_name("");
  }
  if (!fs::create_directory(temporary_, error))
    cannot_be_written(path_, error ? error.message() : printable(temporary_) + " is there already");
}

OutputFolder::~OutputFolder() {
  std::error_code ignored;
  if (!finished_) fs::remove_all(temporary_, ignored);
}

void OutputFolder::finish() {
  std::error_code error;
  if (is_there_)
    move_files(error);
  else
    fs::rename(temporary_, target_, error);
  if (error) cannot_be_written(path_, error.message());
  finished_ = true;
}

// The folder may be a place that cannot be replaced: a mount, or where the shell is.
void OutputFolder::move_files(std::error_code& error) const {
  std::vector<fs::path> files;
  for (fs::directory_iterator entry(temporary_, error); !error && entry != fs::directory_iterator();
       entry.increment(error))
    files.push_back(entry->path());
  for (const fs::path& file : files)
    if (!error) fs::rename(file, fs::path(target_) / file.filename(), error);
  if (!error) fs::remove(temporary_, error);
}

}  // namespace weft
