// See ledger.h.
#include "feeder/ledger.h"

#include <fcntl.h>
#include <signal.h>
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
#include <span>
#include <string_view>
#include <system_error>

#include "feeder/files/open_file.h"
#include "feeder/files/written_file.h"
#include "feeder/shard_file.h"

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

bool is_there(const std::string& path) {
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

void make_folder(const std::string& path) {
  if (::mkdir(path.c_str(), 0777) != 0) fail(path, errno);
}

std::mt19937& dice() {
  thread_local std::mt19937 made{std::random_device{}()};
  return made;
}

// By the clock of the file system, whatever those of the hosts say: that of a new file. Nothing: it cannot be told.
std::optional<std::int64_t> time_by(const std::string& clock) {
  const int file = ::open(clock.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
  if (file < 0) return std::nullopt;
  ::close(file);
  touch(clock);
  const auto now = time_of(clock);
  ::unlink(clock.c_str());
  return now;
}

bool have_one_content(const std::string& one, const std::string& other) {
  try {
    const OpenFile a(one), b(other);
    if (a.bytes() != b.bytes()) return false;
    constexpr std::uint64_t at_once = 1 << 20;
    for (std::uint64_t offset = 0; offset < a.bytes(); offset += at_once) {
      const std::uint64_t bytes = std::min(at_once, a.bytes() - offset);
      if (a.text(offset, bytes) != b.text(offset, bytes)) return false;
    }
    return true;
  } catch (const FileError&) {
    return false;
  }
}

bool is_older(std::optional<std::int64_t> time, std::int64_t now, Duration limit) {
  return time && now - *time > std::chrono::floor<std::chrono::seconds>(limit).count();
}

}  // namespace

std::string Ledger::own_name() {
  const auto pid = static_cast<std::uint64_t>(::getpid());  // asked each time: a child has another one
  return own_place() + "-" + std::to_string(pid) + "-" + std::to_string(start_of(pid));
}

// Nobody knows of processes of another machine, or of one where processes do not see each other.
bool Ledger::has_ended(const std::string& owner) {
  const std::string place = own_place() + "-";
  if (!owner.starts_with(place)) return false;
  const std::string_view rest = std::string_view(owner).substr(place.size());
  const std::size_t dash = rest.find('-');
  if (dash == std::string_view::npos) return false;
  const auto pid = number_of(rest.substr(0, dash)), start = number_of(rest.substr(dash + 1));
  if (!pid || !start || *start == 0) return false;
  const std::uint64_t there = start_of(*pid);
  // Without a look at it (hidepid) it may live all the same.
  return there == 0 ? ::kill(static_cast<pid_t>(*pid), 0) != 0 && errno == ESRCH : there != *start;
}

bool Ledger::exists(const std::string& results) {
  return is_there(results + ".weft/plan.json");
}

Ledger::Ledger(std::string results, const LedgerPlan& plan)
    : results_(std::move(results)), folder_(results_ + ".weft"), owner_(own_name()), plan_(plan) {
  if (!exists(results_)) make_unless_there();
  compare_plan();
  const std::string folder = folder_.substr(0, folder_.rfind('/'));
  remove_left(folder.empty() ? "/" : folder, folder_.substr(folder_.rfind('/') + 1) + ".new.");
  remove_left(folder_, "all.");
}

Ledger::~Ledger() {
  while (!held_.empty()) give_back(*held_.begin());
}

std::uint64_t Ledger::records_of(std::uint64_t shard) const {
  return std::min(plan_.shard, plan_.records - first_of(shard));
}

// Under a name of its own, so that the folder is either not there or whole: of several that make one, one wins.
void Ledger::make_unless_there() const {
  struct stat status {};
  if (::lstat(results_.c_str(), &status) == 0)
    throw FileError(results_,
                    "is there already, and nothing says of which job and records it is; give the results "
                    "another name, or take it away");
  const std::string fresh = folder_ + ".new." + owner_;
  std::error_code error;
  fs::remove_all(fresh, error);
  make_folder(fresh);
  try {
    make(fresh);
    if (::rename(fresh.c_str(), folder_.c_str()) != 0 && errno != ENOTEMPTY && errno != EEXIST) fail(folder_, errno);
  } catch (...) {
    fs::remove_all(fresh, error);
    throw;
  }
  fs::remove_all(fresh, error);
  sync_folder(folder_.substr(0, folder_.rfind('/')));
}

// Names of owners that have ended, in a folder of names BEGIN + owner.
void Ledger::remove_left(const std::string& folder, const std::string& begin) const {
  for (const std::string& name : names_in(folder)) {
    std::error_code error;
    if (name.starts_with(begin) && has_ended(name.substr(begin.size()))) fs::remove_all(folder + "/" + name, error);
  }
}

void Ledger::make(const std::string& folder) const {
  for (const char* const place : {"/todo", "/running", "/done"}) make_folder(folder + place);
  for (std::uint64_t shard = 0; shard <= shards(); ++shard) {
    const std::string name = folder + "/todo/" + std::to_string(shard);
    const int file = ::open(name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (file < 0) fail(name, errno);
    ::close(file);
  }
  json plan = json::parse(plan_.identity);
  plan["format"] = 1;
  plan["records"] = plan_.records;
  plan["shard"] = plan_.shard;
  const std::string text = plan.dump(2) + "\n";
  WrittenFile file(folder + "/plan.json");
  file.write(0, std::as_bytes(std::span(text)));
  file.sync();
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

std::string Ledger::running(std::uint64_t shard) const {
  return folder_ + "/running/" + std::to_string(shard) + "." + owner_;
}

std::string Ledger::done(std::uint64_t shard) const {
  return folder_ + "/done/" + std::to_string(shard);
}

std::string Ledger::fresh() const {
  return folder_ + "/all." + owner_;
}

// Its time is set before: where it was old, nobody may think that the new owner does not renew it.
bool Ledger::take(const std::string& from, std::uint64_t shard) {
  touch(from);
  if (::rename(from.c_str(), running(shard).c_str()) != 0) {
    if (errno != ENOENT) fail(from, errno);
    return false;
  }
  held_.insert(shard);
  try {
    if (shard == shards() || ShardFile::renew_content(running(shard))) return true;
  } catch (...) {
    give_back(shard);
    throw;
  }
  held_.erase(shard);  // lost again meanwhile
  return false;
}

bool Ledger::all_are_done() const {
  std::set<std::uint64_t> all;
  for (const std::string& name : names_in(folder_ + "/done"))
    if (const auto number = number_of(name); number && *number < shards()) all.insert(*number);
  return all.size() == shards();
}

bool Ledger::claim_last() {
  if (!all_are_done()) return false;
  return take(folder_ + "/todo/" + std::to_string(shards()), shards()) ||
         claim_stale(From::anywhere, shards(), shards()).has_value();
}

std::optional<std::uint64_t> Ledger::claim_free() {
  if (free_.empty()) {
    for (const std::string& name : names_in(folder_ + "/todo"))
      if (const auto shard = number_of(name); shard && *shard < shards()) free_.push_back(*shard);
    // In the order of the file where this is the only one, each from somewhere else where there are many.
    std::ranges::sort(free_, std::greater<>());
    if (!free_.empty() && names_in(folder_ + "/running").size() > held_.size())
      std::ranges::rotate(free_, free_.begin() + static_cast<std::ptrdiff_t>(dice()() % free_.size()));
  }
  while (!free_.empty()) {
    const std::uint64_t shard = free_.back();
    free_.pop_back();
    if (take(folder_ + "/todo/" + std::to_string(shard), shard)) return shard;
  }
  return std::nullopt;
}

// Of an owner that has died, or has not renewed it for a lease.
std::optional<std::uint64_t> Ledger::claim_stale(From from, std::uint64_t first, std::uint64_t last) {
  std::optional<std::int64_t> now;
  for (const std::string& name : names_in(folder_ + "/running")) {
    const std::size_t dot = name.find('.');
    const auto shard = number_of(std::string_view(name).substr(0, dot));
    const std::string owner = dot == std::string::npos ? "" : name.substr(dot + 1);
    if (!shard || *shard < first || *shard > last || owner.empty() || owner.ends_with(".new") || owner == owner_)
      continue;
    const bool is_dead = has_ended(owner);
    if (from == From::dead && !is_dead) continue;
    const std::string file = folder_ + "/running/" + name;
    if (!is_dead && !now) now = time_by(folder_ + "/running/clock." + owner_);
    if ((is_dead || (now && is_older(time_of(file), *now, lease))) && take(file, *shard)) return shard;
  }
  return std::nullopt;
}

std::optional<std::uint64_t> Ledger::claim(From from) {
  if (from == From::anywhere)
    if (const auto shard = claim_free()) return shard;
  return claim_stale(from, 0, shards() - 1);
}

bool Ledger::renew(std::uint64_t shard) {
  if (::utimensat(AT_FDCWD, running(shard).c_str(), nullptr, 0) == 0) return true;
  if (errno == ENOENT) held_.erase(shard);
  return errno != ENOENT;
}

void Ledger::give_back(std::uint64_t shard) {
  held_.erase(shard);
  ::rename(running(shard).c_str(), (folder_ + "/todo/" + std::to_string(shard)).c_str());
}

bool Ledger::finish(std::uint64_t shard) {
  held_.erase(shard);
  if (::rename(running(shard).c_str(), done(shard).c_str()) == 0) return true;
  if (errno != ENOENT) fail(running(shard), errno);
  return false;
}

// The name appears when all is on the disk. Links are not known to every file system. A file that is there already may
// be of another process that has put the same together; any other one is the user's.
void Ledger::publish() {
  const std::string all = fresh();
  const bool is_linked = ::link(all.c_str(), results_.c_str()) == 0;
  const bool is_there = !is_linked && errno == EEXIST;
  if (is_there && !have_one_content(all, results_))
    throw FileError(results_,
                    "is there already, and is not of these records; take it away, and the results, which are "
                    "complete, are written there the next time");
  if (!is_linked && !is_there && ::rename(all.c_str(), results_.c_str()) != 0) fail(results_, errno);
  sync_folder(results_.substr(0, results_.rfind('/')));
  ::unlink(all.c_str());
  const int file = ::open((folder_ + "/published").c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
  if (file < 0) fail(folder_ + "/published", errno);
  ::close(file);
  for (std::uint64_t shard = 0; shard < shards(); ++shard) ::unlink(done(shard).c_str());
}

bool Ledger::is_published() const {
  if (!is_there(folder_ + "/published")) return false;
  if (is_there(results_)) return true;
  throw FileError(results_, "was complete and has been taken away; remove " + folder_ + ", too, to compute it again");
}

}  // namespace weft
