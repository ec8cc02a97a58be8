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
#include <map>
#include <nlohmann/json.hpp>
#include <random>
#include <span>
#include <string_view>
#include <system_error>
#include <vector>

#include "feeder/files/folder.h"
#include "feeder/files/open_file.h"
#include "feeder/files/results_folder.h"
#include "feeder/files/written_file.h"
#include "feeder/folder_claims.h"
#include "feeder/owner.h"
#include "feeder/redis/claims.h"

namespace weft {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

[[noreturn]] void fail(const std::string& path, int error) {
  throw FileError(path, std::strerror(error));
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

bool have_one_content_each(const std::string& one, const std::string& other) {
  try {
    std::vector<std::string> names = names_in(one), others = names_in(other);
    std::ranges::sort(names);
    std::ranges::sort(others);
    return names == others && std::ranges::all_of(names, [&](const std::string& name) {
             return have_one_content(one + "/" + name, other + "/" + name);
           });
  } catch (const FileError&) {
    return false;
  }
}

// How results of one plan differ from those of another one, in words: contents of files have only hashes there.
std::string difference(const std::string& key, const json& was, const json& is) {
  static const std::map<std::string, std::string> contents{
      {"job", "the file of the job was another one, or has changed"},
      {"input", "the input had other records"},
      {"weights", "the weights were others"}};
  static const std::map<std::string, std::string> values{{"arguments", "the arguments of the job were"},
                                                         {"inputs", "the tensors that the job reads were"},
                                                         {"outputs", "the tensors of its results were"},
                                                         {"records", "the number of records was"},
                                                         {"claims", "claims were kept in"}};
  if (const auto content = contents.find(key); content != contents.end()) return content->second;
  const auto value = values.find(key);
  return (value == values.end() ? key + " was" : value->second) + " " + was.dump() + ", now " + is.dump();
}

bool is_empty_folder(const std::string& path) {
  std::error_code error;
  return fs::is_directory(path, error) && fs::is_empty(path, error);
}

}  // namespace

bool Ledger::exists(const std::string& results) {
  return is_there(path_of_results(results) + ".weft/plan.json");
}

std::string Ledger::all_of(const std::string& results) {
  const std::string path = path_of_results(results);
  return (is_there(path) ? path + " and " : "") + path + ".weft";
}

bool Ledger::has_all(const std::string& results) {
  return is_there(path_of_results(results) + ".weft/published");
}

Ledger::Ledger(const std::string& results, const LedgerPlan& plan)
    : results_(path_of_results(results)),
      is_folder_(is_results_folder(results)),
      folder_(results_ + ".weft"),
      owner_(own_name()),
      plan_(plan) {
  if (!exists(results_)) make_unless_there();
  const std::string made = compare_plan();
  if (plan_.claims.empty())
    claims_ = std::make_unique<FolderClaims>(folder_, shards());
  else
    claims_ = std::make_unique<RedisClaims>(plan_.claims.substr(0, plan_.claims.rfind('#')) + "#" + made,
                                            folder_ + "/shards", shards());
  const std::string folder = folder_.substr(0, folder_.rfind('/'));
  remove_left(folder.empty() ? "/" : folder, folder_.substr(folder_.rfind('/') + 1) + ".new.");
  remove_left(folder_, "all.");
}

Ledger::~Ledger() = default;

std::uint64_t Ledger::records_of(std::uint64_t shard) const {
  return std::min(plan_.shard, plan_.records - first_of(shard));
}

// An empty folder gives way to that with the pictures, which is not possible everywhere: better known before work
// begins.
void Ledger::check_replaceable() const {
  struct stat folder {
  }, parent{};
  const std::string above = results_.substr(0, results_.rfind('/') + 1);
  if (::lstat(results_.c_str(), &folder) != 0 || ::stat(above.empty() ? "." : above.c_str(), &parent) != 0) return;
  const char* const kind = S_ISLNK(folder.st_mode)          ? "is a link"
                           : folder.st_dev != parent.st_dev ? "is where a file system is mounted"
                                                            : nullptr;
  if (kind != nullptr)
    throw FileError(results_, std::string(kind) +
                                  ", which the folder of all pictures cannot take the place of; name a "
                                  "folder in it");
}

// Under a name of its own, so that the folder is either not there or whole: of several that make one, one wins.
void Ledger::make_unless_there() const {
  struct stat status {};
  if (::lstat(results_.c_str(), &status) == 0 && !(is_folder_ && is_empty_folder(results_)))
    throw FileError(results_,
                    "is there already, and nothing says of which job and records it is; give the results "
                    "another name, or take it away");
  if (is_folder_) check_replaceable();
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
  if (plan_.claims.empty())
    FolderClaims::make(folder, shards());
  else
    make_folder(folder + "/shards");
  json plan = json::parse(plan_.identity);
  plan["format"] = 1;
  plan["claims"] = plan_.claims.empty() ? "folder" : "redis";
  // So that what Redis has is of this folder, and not of one of this name that was taken away.
  plan["made"] = std::to_string(std::random_device{}()) + std::to_string(std::random_device{}());
  plan["records"] = plan_.records;
  plan["shard"] = plan_.shard;
  const std::string text = plan.dump(2) + "\n";
  WrittenFile file(folder + "/plan.json");
  file.write(0, std::as_bytes(std::span(text)));
  file.sync();
}

std::string Ledger::compare_plan() const {
  const std::string name = folder_ + "/plan.json";
  std::ifstream file(name);
  const json there = json::parse(file, nullptr, false);
  if (!there.is_object() || there.value("format", 0) != 1) throw FileError(name, "cannot be read");
  json wanted = json::parse(plan_.identity);
  wanted["claims"] = plan_.claims.empty() ? "folder" : "redis";
  wanted["records"] = plan_.records;
  std::string differences;
  for (const auto& [key, value] : wanted.items())
    if (const json was = there.value(key, json()); was != value)
      differences += (differences.empty() ? "" : "; ") + difference(key, was, value);
  if (!differences.empty())
    throw FileError(results_, "has results of another kind: " + differences +
                                  "; give the results another name, or take away " + all_of(results_));
  if (there.value("shard", std::uint64_t{0}) != plan_.shard) throw FileError(name, "is damaged");
  return there.value("made", std::string());
}

std::string Ledger::fresh() const {
  return folder_ + "/all." + owner_;
}

// Links are not known to every file system. A folder takes the place of an empty one, and of no other.
bool Ledger::put(const std::string& all) const {
  if (is_folder_) return ::rename(all.c_str(), results_.c_str()) == 0;
  if (::link(all.c_str(), results_.c_str()) == 0) return true;
  return errno != EEXIST && ::rename(all.c_str(), results_.c_str()) == 0;
}

// The name appears when all is on the disk. A file that is there already may be of another process that has put the
// same together; any other one is the user's.
void Ledger::publish() {
  const std::string all = fresh();
  if (!put(all)) {
    if (errno != EEXIST && !(is_folder_ && (errno == ENOTEMPTY || errno == ENOTDIR))) fail(results_, errno);
    if (!(is_folder_ ? have_one_content_each(all, results_) : have_one_content(all, results_)))
      throw FileError(results_,
                      "is there already, and is not of these records; take it away, and the results, which are "
                      "complete, are written there the next time");
  }
  sync_folder(results_.substr(0, results_.rfind('/')));
  std::error_code error;
  fs::remove_all(all, error);
  make_empty(folder_ + "/published");
  for (std::uint64_t shard = 0; shard < shards(); ++shard) ::unlink(claims_->done(shard).c_str());
}

bool Ledger::is_published() const {
  if (!is_there(folder_ + "/published")) return false;
  if (is_there(results_)) return true;
  throw FileError(results_, "was complete and has been taken away; remove " + folder_ + ", too, to compute it again");
}

}  // namespace weft
