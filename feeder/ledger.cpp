// See ledger.h.
#include "feeder/ledger.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <random>
#include <span>
#include <string_view>
#include <system_error>

#include "feeder/files/folder.h"
#include "feeder/files/open_file.h"
#include "feeder/files/written_file.h"
#include "feeder/owner.h"
#include "feeder/shard_file.h"

namespace weft {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

[[noreturn]] void fail(const std::string& path, int error) {
  throw FileError(path, std::strerror(error));
}

std::mt19937& dice() {
  thread_local std::mt19937 made{std::random_device{}()};
  return made;
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

}  // namespace

bool Ledger::exists(const std::string& results) {
  return is_there(results + ".weft/plan.json");
}

bool Ledger::has_all(const std::string& results) {
  return is_there(results + ".weft/published");
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
  for (std::uint64_t shard = 0; shard <= shards(); ++shard) make_empty(folder + "/todo/" + std::to_string(shard));
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
  make_empty(folder_ + "/published");
  for (std::uint64_t shard = 0; shard < shards(); ++shard) ::unlink(done(shard).c_str());
}

bool Ledger::is_published() const {
  if (!is_there(folder_ + "/published")) return false;
  if (is_there(results_)) return true;
  throw FileError(results_, "was complete and has been taken away; remove " + folder_ + ", too, to compute it again");
}

}  // namespace weft
