// The ground-truth log and the names of threads; see truth_log.h.
#include "engine/truth_log.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <vector>

#include "simgpu/constants.h"

namespace simgpu {
namespace {

constexpr std::size_t thread_name_size = 16;

struct ThreadNames {
  std::mutex mutex;
  std::vector<std::string> names{""};
};

ThreadNames& thread_names() {
  static auto* const names = new ThreadNames;
  return *names;
}

struct CachedName {
  char name[thread_name_size] = {};
  uint32_t number = 0;
  Time read_at{};
};
thread_local CachedName cached_name;

uint32_t number_of(std::string_view name) {
  ThreadNames& all = thread_names();
  const std::scoped_lock guard(all.mutex);
  for (std::size_t index = 1; index < all.names.size(); ++index) {
    if (all.names[index] == name) return static_cast<uint32_t>(index);
  }
  all.names.emplace_back(name);
  return static_cast<uint32_t>(all.names.size() - 1);
}

void append_number(std::string& text, int64_t value) {
  char digits[24];
  const auto end = std::to_chars(digits, digits + sizeof(digits), value).ptr;
  text.append(digits, end);
}

}  // namespace

void TruthLog::open(const std::string& directory, int device, unsigned multiprocessors) {
  if (directory.empty() || file_ >= 0) return;
  const std::string path = directory + "/gpu" + std::to_string(device) + "." + std::to_string(getpid()) + ".jsonl";
  file_ = ::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  if (file_ < 0) {
    std::fprintf(stderr, "simgpu: the log %s cannot be written: %s\n", path.c_str(), std::strerror(errno));
    return;
  }
  Record header("header");
  header.add("format", "simgpu-log").add("version", 1).add("pid", static_cast<int64_t>(getpid()));
  header.add("device", device).add("sms", multiprocessors).add("time", now()).add("constants", constants::origin);
  add(header.text());
}

void TruthLog::add(std::string_view json_object) {
  if (file_ < 0) return;
  pending_ += json_object;
  pending_ += '\n';
}

std::string TruthLog::take() {
  std::string lines;
  lines.swap(pending_);
  return lines;
}

void TruthLog::write(const std::string& lines) {
  const std::scoped_lock guard(writing_);
  std::size_t written = 0;
  while (written < lines.size()) {
    const ssize_t count = ::write(file_, lines.data() + written, lines.size() - written);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return;
    written += static_cast<std::size_t>(count);
  }
}

Record::Record(std::string_view type) {
  add("type", type);
}

void Record::key(std::string_view name) {
  if (text_.size() > 1) text_ += ',';
  text_ += '"';
  text_ += name;
  text_ += "\":";
}

Record& Record::add(std::string_view name, std::string_view value) {
  key(name);
  text_ += '"';
  for (const char character : value) {
    if (static_cast<unsigned char>(character) < 0x20) {
      text_ += ' ';
      continue;
    }
    if (character == '"' || character == '\\') text_ += '\\';
    text_ += character;
  }
  text_ += '"';
  return *this;
}

Record& Record::add(std::string_view name, int64_t value) {
  key(name);
  append_number(text_, value);
  return *this;
}

Record& Record::add(std::string_view name, bool value) {
  key(name);
  text_ += value ? "true" : "false";
  return *this;
}

uint32_t current_thread(Time now) {
  CachedName& cached = cached_name;
  if (cached.number != 0 && now - cached.read_at < std::chrono::milliseconds(1)) return cached.number;
  char name[thread_name_size] = {};
  prctl(PR_GET_NAME, name);
  if (cached.number == 0 || std::memcmp(name, cached.name, sizeof(name)) != 0) {
    std::memcpy(cached.name, name, sizeof(name));
    cached.number = number_of(std::string_view(name, strnlen(name, sizeof(name))));
  }
  cached.read_at = now;
  return cached.number;
}

std::string thread_name(uint32_t number) {
  const std::scoped_lock guard(thread_names().mutex);
  return thread_names().names[number];
}

}  // namespace simgpu
