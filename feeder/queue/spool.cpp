// See spool.h.
#include "feeder/queue/spool.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <span>
#include <stdexcept>
#include <system_error>

#include "feeder/files/folder.h"
#include "feeder/files/open_file.h"
#include "feeder/files/written_file.h"
#include "feeder/folder_claims.h"
#include "feeder/owner.h"
#include "feeder/queue/texts.h"

namespace weft {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr std::uint64_t most_text = 1 << 20;
constexpr int most_tries = 100;  // for a number, beside others that submit

// "": it is gone, or is none of ours.
std::string text_of(const std::string& path) {
  try {
    const OpenFile file(path);
    return file.bytes() > most_text ? "" : file.text(0, file.bytes());
  } catch (const FileError&) {
    return "";
  }
}

json object_in(const std::string& path) {
  return object_of(text_of(path));
}

std::string file_name_of(std::string text) {
  for (char& c : text)
    if (std::isalnum(static_cast<unsigned char>(c)) == 0 && c != '-') c = '_';
  return text.substr(0, 200);
}

}  // namespace

Spool::Spool(const std::string& folder, WhereNone where_none)
    : JobQueue(folder), folder_(fs::absolute(folder).lexically_normal().string()), owner_(own_name()) {
  const std::string mark = folder_ + "/queue.json";
  if (!weft::is_there(mark)) {
    if (where_none == WhereNone::fail)
      throw FileError(
          folder_, weft::is_there(folder_) ? "is no queue of Weft's" : "there is no queue: weft jobs submit makes one");
    make();
    is_new_ = true;
  }
  if (value_of(object_in(mark), "format", 0) != 1) throw FileError(mark, "is of another version of Weft, or damaged");
}

// The mark comes last: a folder without it is one that is being made, or somebody else's.
void Spool::make() const {
  make_folder_unless_there(folder_);
  for (const std::string& name : names_in(folder_))
    if (name != "jobs" && !name.starts_with("last") && !name.starts_with("queue.json") &&
        std::ranges::find(job_state_names, name) == job_state_names.end())
      throw FileError(folder_, "is no queue of Weft's, and is not empty: it has " + name);
  for (const std::string& place : {std::string("jobs"), std::string("waiting"), std::string("done"),
                                   std::string("failed"), std::string("cancelled")})
    make_folder_unless_there(folder_ + "/" + place);
  write(folder_ + "/queue.json", dumped({{"format", 1}}));
}

// Whole or not at all, under a name of this process until then.
void Spool::write(const std::string& path, const std::string& text) const {
  const std::string fresh = path + "." + owner_;
  try {
    WrittenFile file(fresh);
    file.write(0, std::as_bytes(std::span(text)));
    file.sync();
  } catch (...) {
    ::unlink(fresh.c_str());
    throw;
  }
  if (::rename(fresh.c_str(), path.c_str()) == 0) return;
  const int error = errno;
  ::unlink(fresh.c_str());
  throw FileError(path, std::strerror(error));
}

std::string Spool::place_of(JobState state, const std::string& id) const {
  return folder_ + "/" + std::string(job_state_names[static_cast<std::size_t>(state)]) + "/" + id;
}

std::string Spool::submit(QueuedJob job) {
  const std::string fresh = folder_ + "/jobs/new." + owner_;
  std::error_code error;
  fs::remove_all(fresh, error);
  std::uint64_t number = number_of(text_of(folder_ + "/last")).value_or(0) + 1;
  for (const std::string& name : names_in(folder_ + "/jobs"))
    if (const auto there = number_of(name)) number = std::max(number, *there + 1);
  make_folder(fresh);
  try {
    for (const char* const inside : {"/at-work", "/refusals", "/lease"}) make_folder(fresh + inside);
    FolderClaims::make(fresh + "/lease", 1);
    const bool has_place = !job.plan.files.results.empty() || job.plan.files.input.empty();
    for (int tries = 0; tries < most_tries; ++tries, ++number) {
      // Beside others that submit a list of the folder may lack some.
      while (weft::is_there(folder_of(std::to_string(number)))) ++number;
      const std::string id = std::to_string(number);
      if (!has_place) job.plan.files.results = folder_of(id) + "/results.safetensors";
      write(fresh + "/job.json", to_text(job));
      if (::rename(fresh.c_str(), folder_of(id).c_str()) != 0) {
        if (errno == ENOTEMPTY || errno == EEXIST) continue;
        throw FileError(folder_of(id), std::strerror(errno));
      }
      sync_folder(folder_ + "/jobs");
      make_empty(place_of(JobState::waiting, id));
      sync_folder(folder_ + "/waiting");
      write(folder_ + "/last", id);  // numbers are not used again, also where a job is removed
      return id;
    }
  } catch (...) {
    fs::remove_all(fresh, error);
    throw;
  }
  fs::remove_all(fresh, error);
  throw FileError(folder_, "too many others submit at this moment; try again");
}

std::vector<std::string> Spool::ids(JobState state) {
  std::vector<std::uint64_t> numbers;
  for (const std::string& name :
       names_in(folder_ + "/" + std::string(job_state_names[static_cast<std::size_t>(state)])))
    if (const auto number = number_of(name)) numbers.push_back(*number);
  std::ranges::sort(numbers);
  std::vector<std::string> ids;
  for (const std::uint64_t number : numbers) ids.push_back(std::to_string(number));
  return ids;
}

std::optional<JobState> Spool::state_of(const std::string& id) const {
  for (std::size_t state = 0; state < job_state_names.size(); ++state)
    if (weft::is_there(place_of(static_cast<JobState>(state), id))) return static_cast<JobState>(state);
  return std::nullopt;
}

std::optional<JobEntry> Spool::find(const std::string& id) {
  if (!is_job_number(id) || !weft::is_there(folder_of(id))) return std::nullopt;
  JobEntry entry;
  entry.id = id;
  const std::string path = folder_of(id) + "/job.json";
  try {
    entry.job = parse_queued_job(text_of(path));
  } catch (const std::invalid_argument& error) {
    throw FileError(path, error.what());
  }
  // One that changes its state just now is in none for a moment, or was when it was submitted.
  const std::optional<JobState> state = state_of(id);
  entry.state = state ? *state : state_of(id).value_or(JobState::failed);
  if (entry.state != JobState::waiting) {
    const json ended = object_in(folder_of(id) + "/ended.json");
    entry.why = value_of<std::string>(ended, "why", state ? "" : "weft jobs submit was ended before the job waited");
    entry.ended = value_of<std::int64_t>(ended, "ended");
  }
  entry.at_work = at_work(id);
  entry.refusals = refusals(id);
  const json need = object_in(folder_of(id) + "/need.json");
  entry.need = {value_of<std::uint64_t>(need, "memory"), Duration{value_of<std::int64_t>(need, "slice_ns")}};
  entry.units = value_of<std::uint64_t>(object_in(folder_of(id) + "/units.json"), "done");
  return entry;
}

// The reason is there before the state is.
bool Spool::move(const std::string& id, JobState from, JobState to, const std::string& why) {
  if (!is_job_number(id) || !weft::is_there(place_of(from, id))) return false;
  const std::string reason = folder_of(id) + "/ended.json";
  if (to == JobState::waiting) {
    std::error_code error;
    const std::string refusals = folder_of(id) + "/refusals";
    fs::remove_all(refusals, error);
    if (error) throw FileError(refusals, error.message());
    make_folder_unless_there(refusals);
    fs::remove(folder_of(id) + "/need.json", error);
  } else {
    write(reason, dumped({{"why", why}, {"ended", static_cast<std::int64_t>(std::time(nullptr))}}));
  }
  if (::rename(place_of(from, id).c_str(), place_of(to, id).c_str()) == 0) return true;
  if (errno != ENOENT) throw FileError(place_of(to, id), std::strerror(errno));
  return false;
}

void Spool::note_work(const std::string& id, const AtWork& work) {
  write(folder_of(id) + "/at-work/" + owner_, to_text(work));
}

void Spool::end_work(const std::string& id) {
  ::unlink((folder_of(id) + "/at-work/" + owner_).c_str());
}

std::vector<AtWork> Spool::at_work(const std::string& id) const {
  const std::string folder = folder_of(id) + "/at-work";
  std::vector<AtWork> all;
  std::optional<std::int64_t> now;
  for (const std::string& name : names_in(folder)) {
    if (name.find('.') != std::string::npos) continue;  // it is being written
    const std::string path = folder + "/" + name;
    if (has_ended(name)) {
      ::unlink(path.c_str());
      continue;
    }
    if (!now) now = time_by(folder + "/clock." + owner_);
    if (now && is_older(time_of(path), *now, lease)) continue;
    if (auto work = parse_work(text_of(path), name)) all.push_back(*std::move(work));
  }
  return all;
}

void Spool::note_refusal(const std::string& id, const Refusal& refusal) {
  std::error_code error;
  fs::create_directory(folder_of(id) + "/refusals", error);  // a retry may have been killed
  write(folder_of(id) + "/refusals/" + file_name_of(refusal.by), to_text(refusal));
}

std::vector<Refusal> Spool::refusals(const std::string& id) const {
  const std::string folder = folder_of(id) + "/refusals";
  std::vector<Refusal> all;
  if (!weft::is_there(folder)) return all;  // just now, or for good where a retry was killed
  for (const std::string& name : names_in(folder)) {
    if (name.find('.') != std::string::npos) continue;
    if (auto refusal = parse_refusal(text_of(folder + "/" + name))) all.push_back(*std::move(refusal));
  }
  return all;
}

void Spool::note_units(const std::string& id, std::uint64_t units) {
  write(folder_of(id) + "/units.json", dumped({{"done", units}}));
}

std::unique_ptr<Claims> Spool::lease_of(const std::string& id) {
  return std::make_unique<FolderClaims>(folder_of(id) + "/lease", 1);
}

void Spool::note_need(const std::string& id, const JobNeed& need) {
  write(folder_of(id) + "/need.json", dumped({{"memory", need.memory}, {"slice_ns", need.slice.count()}}));
}

}  // namespace weft
