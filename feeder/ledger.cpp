// See ledger.h.
#include "feeder/ledger.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <random>
#include <string_view>
#include <system_error>

#include "feeder/files/open_file.h"

namespace weft {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

[[noreturn]] void fail(const std::string& path, int error) {
  throw FileError(path, std::strerror(error));
}

std::string word_in(const std::string& path) {
  std::ifstream file(path);
  std::string word;
  file >> word;
  return word;
}

std::string letters_of(std::string text, std::size_t most) {
  std::erase_if(text, [](unsigned char c) { return std::isalnum(c) == 0; });
  return text.substr(0, most);
}

// When the process started, in ticks since boot; 0: there is none.
std::uint64_t start_of(std::uint64_t pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  const std::size_t end = text.rfind(')');  // of its name, which may have anything in it
  if (end == std::string::npos) return 0;
  std::string_view rest(text);
  rest.remove_prefix(end + 1);
  for (int field = 3; field < 22; ++field) {
    const std::size_t space = rest.find(' ', 1);
    if (space == std::string_view::npos) return 0;
    rest.remove_prefix(space);
  }
  return std::strtoull(rest.data(), nullptr, 10);
}

// Of the machine since its start, and of the processes that see each other.
const std::string& own_place() {
  static const std::string place = [] {
    std::array<char, 256> host{};
    ::gethostname(host.data(), host.size() - 1);
    struct stat names {};
    ::stat("/proc/self/ns/pid", &names);
    return letters_of(host.data(), 32) + "-" + letters_of(word_in("/proc/sys/kernel/random/boot_id"), 12) + "-" +
           std::to_string(names.st_ino);
  }();
  return place;
}

bool exists(const std::string& path) {
  struct stat status {};
  return ::stat(path.c_str(), &status) == 0;
}

void touch(const std::string& path) {
  ::utimensat(AT_FDCWD, path.c_str(), nullptr, 0);
}

std::optional<std::int64_t> time_of(const std::string& path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0) return std::nullopt;
  return static_cast<std::int64_t>(status.st_mtim.tv_sec);
}

std::optional<std::uint64_t> number_of(std::string_view name) {
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), number);
  return error == std::errc{} && end == name.data() + name.size() ? std::optional(number) : std::nullopt;
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

void write_text(const std::string& path, const std::string& text) {
  const int file = ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  if (file < 0) fail(path, errno);
  const ssize_t written = ::write(file, text.data(), text.size());
  const int error = written == static_cast<ssize_t>(text.size()) && ::fsync(file) == 0 ? 0
                    : errno == 0                                                       ? ENOSPC
                                                                                       : errno;
  ::close(file);
  if (error != 0) fail(path, error);
}

void make_folder(const std::string& path) {
  if (::mkdir(path.c_str(), 0777) != 0) fail(path, errno);
}

std::mt19937& dice() {
  static std::mt19937 made{std::random_device{}()};
  return made;
}

std::uint64_t count_of(std::uint64_t records, std::uint64_t shard) {
  return (records + shard - 1) / shard;
}

}  // namespace

std::string Ledger::own_name() {
  static const std::string name = own_place() + "-" + std::to_string(::getpid()) + "-" +
                                  std::to_string(start_of(static_cast<std::uint64_t>(::getpid())));
  return name;
}

// Nobody knows of processes of another machine, or of one where processes do not see each other.
bool Ledger::has_ended(const std::string& owner) {
  const std::string place = own_place() + "-";
  if (!owner.starts_with(place)) return false;
  const std::string_view rest = std::string_view(owner).substr(place.size());
  const std::size_t dash = rest.find('-');
  if (dash == std::string_view::npos) return false;
  const auto pid = number_of(rest.substr(0, dash)), start = number_of(rest.substr(dash + 1));
  return pid && start && *start != 0 && start_of(*pid) != *start;
}

Ledger::Ledger(std::string results, const LedgerPlan& plan, MakeValues make_values, void* context)
    : results_(std::move(results)),
      folder_(results_ + ".weft"),
      values_(folder_ + "/values"),
      owner_(own_name()),
      plan_(plan) {
  if (!exists(folder_ + "/plan.json")) {
    if (exists(results_))
      throw FileError(results_,
                      "is there already, and nothing says of which job and records it is; give the results "
                      "another name, or take it away");
    make(make_values, context);
  }
  compare_plan();
  open_marks();
}

Ledger::~Ledger() {
  while (!held_.empty()) give_back(held_.begin()->first);
  if (marks_ >= 0) ::close(marks_);
}

// Under a name of its own, so that the folder is either not there or whole. Another process may be quicker.
void Ledger::make(MakeValues make_values, void* context) {
  const std::string fresh = folder_ + ".new-" + owner_;
  std::error_code error;
  fs::remove_all(fresh, error);
  make_folder(fresh);
  try {
    for (const char* const place : {"/todo", "/running", "/done"}) make_folder(fresh + place);
    for (std::uint64_t shard = 0; shard < count_of(plan_.records, plan_.shard); ++shard)
      write_text(fresh + "/todo/" + std::to_string(shard), "");
    write_text(fresh + "/marks", std::string(plan_.records, '\0'));
    make_values(fresh + "/values", context);
    json plan = json::parse(plan_.identity);
    plan["format"] = 1;
    plan["records"] = plan_.records;
    plan["shard"] = plan_.shard;
    write_text(fresh + "/plan.json", plan.dump(2) + "\n");
    if (::rename(fresh.c_str(), folder_.c_str()) != 0 && errno != ENOTEMPTY && errno != EEXIST) fail(folder_, errno);
  } catch (...) {
    fs::remove_all(fresh, error);
    throw;
  }
  fs::remove_all(fresh, error);
}

void Ledger::compare_plan() const {
  const std::string name = folder_ + "/plan.json";
  std::ifstream file(name);
  const json there = json::parse(file, nullptr, false);
  if (!there.is_object() || there.value("format", 0) != 1) throw FileError(name, "cannot be read");
  json wanted = json::parse(plan_.identity);
  wanted["records"] = plan_.records;
  for (const auto& [key, value] : wanted.items())
    if (there.value(key, json()) != value)
      throw FileError(results_, "has results of another kind: their " + key + " was " +
                                    there.value(key, json()).dump() + " and is now " + value.dump() +
                                    "; give the results another name, or take away " + folder_);
  if (there.value("shard", std::uint64_t{0}) != plan_.shard) throw FileError(name, "is damaged");
}

void Ledger::open_marks() {
  const std::string name = folder_ + "/marks";
  marks_ = ::open(name.c_str(), O_RDWR | O_CLOEXEC);
  struct stat status {};
  if (marks_ < 0 || ::fstat(marks_, &status) != 0) fail(name, errno);
  if (static_cast<std::uint64_t>(status.st_size) != plan_.records) throw FileError(name, "is damaged");
}

std::string Ledger::path(const char* place, std::uint64_t shard) const {
  return folder_ + "/" + place + "/" + std::to_string(shard);
}

std::string Ledger::running(std::uint64_t shard, const std::string& owner) const {
  return path("running", shard) + "." + owner;
}

// Its time is set before: where it was old, nobody may think that the new owner does not renew it.
bool Ledger::take(const std::string& from, std::uint64_t shard) {
  touch(from);
  if (::rename(from.c_str(), running(shard, owner_).c_str()) == 0) return true;
  if (errno != ENOENT) fail(from, errno);
  return false;
}

std::optional<std::uint64_t> Ledger::claim_free() {
  if (free_.empty()) {
    for (const std::string& name : names_in(folder_ + "/todo"))
      if (const auto shard = number_of(name)) free_.push_back(*shard);
    // In the order of the file where this is the only one, each from somewhere else where there are many.
    std::ranges::sort(free_, std::greater<>());
    if (!free_.empty() && names_in(folder_ + "/running").size() > held_.size())
      std::ranges::rotate(free_, free_.begin() + static_cast<std::ptrdiff_t>(dice()() % free_.size()));
  }
  while (!free_.empty()) {
    const std::uint64_t shard = free_.back();
    free_.pop_back();
    if (take(path("todo", shard), shard)) return shard;
  }
  return std::nullopt;
}

// Of an owner that has died, or has not renewed it for a lease. The time is that of the file system, whatever the
// clocks of the hosts say.
std::optional<std::uint64_t> Ledger::claim_stale(From from) {
  const std::string clock = folder_ + "/running/clock." + owner_;
  std::optional<std::int64_t> now;
  for (const std::string& name : names_in(folder_ + "/running")) {
    const std::size_t dot = name.find('.');
    const auto shard = number_of(std::string_view(name).substr(0, dot));
    if (dot == std::string::npos || !shard || held_.contains(*shard)) continue;
    const std::string owner = name.substr(dot + 1), file = folder_ + "/running/" + name;
    const bool is_dead = has_ended(owner);
    if (from == From::dead && !is_dead) continue;
    if (!now) {
      ::close(::open(clock.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0666));
      touch(clock);
      now = time_of(clock);
      ::unlink(clock.c_str());
      if (!now) return std::nullopt;
    }
    const auto renewed = time_of(file);
    const bool is_old = renewed && *now - *renewed > std::chrono::floor<std::chrono::seconds>(lease).count();
    if ((is_old || is_dead) && take(file, *shard)) return shard;
  }
  return std::nullopt;
}

std::vector<std::uint64_t> Ledger::unmarked(std::uint64_t shard) const {
  const std::uint64_t first = shard * plan_.shard, count = std::min(plan_.shard, plan_.records - first);
  std::vector<char> marks(count);
  if (::pread(marks_, marks.data(), count, static_cast<off_t>(first)) != static_cast<ssize_t>(count))
    fail(folder_ + "/marks", errno);
  std::vector<std::uint64_t> records;
  for (std::uint64_t i = 0; i < count; ++i)
    if (marks[i] == 0) records.push_back(first + i);
  return records;
}

std::optional<std::uint64_t> Ledger::claim(From from, std::vector<std::uint64_t>& records) {
  for (;;) {
    std::optional<std::uint64_t> shard = from == From::dead ? std::nullopt : claim_free();
    if (!shard) shard = claim_stale(from);
    if (!shard) return std::nullopt;
    records = unmarked(*shard);
    held_[*shard] = records.size();
    if (!records.empty()) return shard;
    finish(*shard);
  }
}

void Ledger::mark(const std::vector<std::uint64_t>& records) {
  for (const std::uint64_t record : records) {
    const auto held = held_.find(record / plan_.shard);
    if (held == held_.end()) continue;
    constexpr char done = 1;
    if (::pwrite(marks_, &done, 1, static_cast<off_t>(record)) != 1) fail(folder_ + "/marks", errno);
    if (--held->second == 0) finish(held->first);
  }
}

void Ledger::finish(std::uint64_t shard) {
  const std::string from = running(shard, owner_), to = path("done", shard);
  held_.erase(shard);
  if (::rename(from.c_str(), to.c_str()) != 0 && errno != ENOENT) fail(from, errno);
}

void Ledger::give_back(std::uint64_t shard) {
  held_.erase(shard);
  ::rename(running(shard, owner_).c_str(), path("todo", shard).c_str());
}

bool Ledger::renew(std::uint64_t shard) {
  if (::utimensat(AT_FDCWD, running(shard, owner_).c_str(), nullptr, 0) == 0) return true;
  if (errno == ENOENT) held_.erase(shard);
  return errno != ENOENT;
}

bool Ledger::is_complete() const {
  return names_in(folder_ + "/done").size() == count_of(plan_.records, plan_.shard);
}

std::uint64_t Ledger::count_marked() const {
  std::uint64_t marked = 0;
  for (std::uint64_t shard = 0; shard < count_of(plan_.records, plan_.shard); ++shard)
    marked += std::min(plan_.shard, plan_.records - shard * plan_.shard) - unmarked(shard).size();
  return marked;
}

void Ledger::publish(const std::string& values) {
  if (exists(results_)) return;
  if (::link(values.c_str(), results_.c_str()) == 0 || errno == EEXIST) return;
  // A file system without links.
  if (::rename(values.c_str(), results_.c_str()) != 0 && errno != ENOENT) fail(results_, errno);
}

}  // namespace weft
