// See folder_claims.h.
#include "feeder/folder_claims.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <functional>
#include <random>
#include <string_view>

#include "feeder/files/folder.h"
#include "feeder/files/open_file.h"
#include "feeder/owner.h"
#include "feeder/shard_file.h"

namespace weft {
namespace {

[[noreturn]] void fail(const std::string& path, int error) {
  throw FileError(path, std::strerror(error));
}

std::mt19937& dice() {
  thread_local std::mt19937 made{std::random_device{}()};
  return made;
}

}  // namespace

void FolderClaims::make(const std::string& folder, std::uint64_t count) {
  for (const char* const place : {"/todo", "/running", "/done"}) make_folder(folder + place);
  for (std::uint64_t shard = 0; shard <= count; ++shard) make_empty(folder + "/todo/" + std::to_string(shard));
}

FolderClaims::FolderClaims(std::string folder, std::uint64_t count)
    : folder_(std::move(folder)), owner_(own_name()), count_(count) {}

FolderClaims::~FolderClaims() {
  while (!held_.empty()) give_back(*held_.begin());
}

std::string FolderClaims::running(std::uint64_t shard) const {
  return folder_ + "/running/" + std::to_string(shard) + "." + owner_;
}

std::string FolderClaims::done(std::uint64_t shard) {
  return folder_ + "/done/" + std::to_string(shard);
}

// Its time is set before: where it was old, nobody may think that the new owner does not renew it.
bool FolderClaims::take(const std::string& from, std::uint64_t shard) {
  touch(from);
  if (::rename(from.c_str(), running(shard).c_str()) != 0) {
    if (errno != ENOENT) fail(from, errno);
    return false;
  }
  held_.insert(shard);
  try {
    if (shard == count_ || ShardFile::renew_content(running(shard))) return true;
  } catch (...) {
    give_back(shard);
    throw;
  }
  held_.erase(shard);  // lost again meanwhile
  return false;
}

bool FolderClaims::all_are_done() const {
  std::set<std::uint64_t> all;
  for (const std::string& name : names_in(folder_ + "/done"))
    if (const auto number = number_of(name); number && *number < count_) all.insert(*number);
  return all.size() == count_;
}

bool FolderClaims::claim_last() {
  if (!all_are_done()) return false;
  return take(folder_ + "/todo/" + std::to_string(count_), count_) ||
         claim_stale(From::anywhere, count_, count_).has_value();
}

std::optional<std::uint64_t> FolderClaims::claim_free() {
  if (free_.empty()) {
    for (const std::string& name : names_in(folder_ + "/todo"))
      if (const auto shard = number_of(name); shard && *shard < count_) free_.push_back(*shard);
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
std::optional<std::uint64_t> FolderClaims::claim_stale(From from, std::uint64_t first, std::uint64_t last) {
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

std::optional<std::uint64_t> FolderClaims::claim(From from) {
  if (from == From::anywhere)
    if (const auto shard = claim_free()) return shard;
  return claim_stale(from, 0, count_ - 1);
}

void FolderClaims::undo(std::uint64_t shard) {
  const std::string free = folder_ + "/todo/" + std::to_string(shard);
  if (::rename(done(shard).c_str(), free.c_str()) != 0) make_empty(free);
}

bool FolderClaims::renew(std::uint64_t shard) {
  if (::utimensat(AT_FDCWD, running(shard).c_str(), nullptr, 0) == 0) return true;
  if (errno == ENOENT) held_.erase(shard);
  return errno != ENOENT;
}

void FolderClaims::give_back(std::uint64_t shard) {
  held_.erase(shard);
  ::rename(running(shard).c_str(), (folder_ + "/todo/" + std::to_string(shard)).c_str());
}

bool FolderClaims::finish(std::uint64_t shard) {
  held_.erase(shard);
  if (::rename(running(shard).c_str(), done(shard).c_str()) == 0) return true;
  if (errno != ENOENT) fail(running(shard), errno);
  return false;
}

}  // namespace weft
