// See followed_run.h.
#include "trace/metrics/followed_run.h"

#include <cstring>
#include <list>
#include <stdexcept>
#include <utility>

#include "trace/names/names.h"
#include "trace/read/printable.h"
#include "trace/read/runs.h"

namespace weft {
namespace {

constexpr std::size_t piece_bytes = std::size_t{1} << 20;

}  // namespace

bool is_of_host(const TraceHeader& header, const HostIdentity& host) {
  if (!header.boot.empty() && !host.boot.empty()) return header.boot == std::string_view(host.boot);
  return header.host.empty() || host.name.empty() || header.host == std::string_view(host.name);
}

FollowedRun::FollowedRun(std::vector<std::string> directories, std::string run, std::optional<HostIdentity> host,
                         std::function<bool(std::int64_t)> is_wanted)
    : directories_(std::move(directories)),
      run_(std::move(run)),
      host_(std::move(host)),
      is_wanted_(std::move(is_wanted)),
      buffer_(piece_bytes) {}

void FollowedRun::note(const std::string& text) {
  if (said_.insert(text).second) notes_.push_back(text);
}

std::vector<std::string> FollowedRun::take_notes() {
  return std::exchange(notes_, {});
}

void FollowedRun::leave_out(const std::string& path, const std::string& why) {
  note(why + "; it is left out");
  left_out_.insert(path);
  traces_.erase(path);
}

void FollowedRun::look_for_files() {
  for (const std::string& directory : directories_) {
    try {
      for (std::string& path : traces_in({directory}))
        if (!traces_.contains(path) && !elsewhere_.contains(path) && !left_out_.contains(path))
          traces_.emplace(path, std::make_unique<FollowedTrace>(path));
    } catch (const std::runtime_error& error) {
      note(std::string(error.what()) + "; waiting for it");
    }
  }
}

void FollowedRun::look(const std::function<bool()>& stop) {
  look_for_files();
  std::list<std::string> growing;
  for (const auto& [path, trace] : traces_) growing.push_back(path);
  // Piece by piece, so that one long file does not hold up the others.
  while (!growing.empty())
    for (auto path = growing.begin(); path != growing.end();) {
      if (stop()) return;
      path = look_at(*path) ? std::next(path) : growing.erase(path);
    }
}

bool FollowedRun::look_at(const std::string& path) {
  FollowedTrace& trace = *traces_.at(path);
  FollowedTrace::Look found{};
  try {
    found = trace.look(buffer_);
  } catch (const std::runtime_error& error) {
    leave_out(path, error.what());
    return false;
  }
  if (found == FollowedTrace::Look::replaced) {
    note(printable(path) + " was replaced or has become shorter: it is followed from its begin");
    traces_[path] = std::make_unique<FollowedTrace>(path);
    return true;
  }
  if (found == FollowedTrace::Look::failed)
    note(printable(path) + " cannot be read now: " + std::strerror(trace.error()));
  if (found == FollowedTrace::Look::gone) {
    note(printable(path) + " is gone");
    traces_.erase(path);
    return false;
  }
  if (trace.has_header() && host_ && !is_of_host(trace.metrics().header(), *host_)) {
    elsewhere_.insert(path);
    traces_.erase(path);
    return false;
  }
  return found == FollowedTrace::Look::more;
}

// Again only where there are more traces to find them from, or others.
void FollowedRun::find_stages(const std::vector<FileTotals>& run) {
  std::vector<names::NamedRank> named;
  std::vector<std::pair<std::string, TraceProcess>> from;
  for (const FileTotals& file : run) {
    const names::RankIterations* const iterations = traces_.at(file.path)->learned();
    if (iterations == nullptr) continue;
    named.push_back({file.rank.header.rank, file.rank.header.ranks, iterations});
    from.emplace_back(file.path, file.process);
  }
  if (from == stages_from_) return;
  stages_from_ = std::move(from);
  stages_.clear();
  const RunNames names(std::move(named));
  for (std::size_t trace = 0; trace < stages_from_.size(); ++trace)
    if (const std::optional<StageOfRank> stage = names.stage(trace)) stages_[stages_from_[trace].first] = stage->stage;
}

std::vector<FollowedRun::Rank> FollowedRun::ranks() {
  std::vector<FileTotals> files;
  for (const auto& [path, trace] : traces_)
    if (trace->has_header()) files.push_back(trace->totals());
  if (files.empty()) return {};
  std::vector<std::string> notes;
  const std::vector<FileTotals> run = newest_run_of(std::move(files), notes);
  for (const std::string& text : notes) note(text);
  find_stages(run);
  std::vector<Rank> ranks;
  std::set<std::string> names;
  for (const FileTotals& file : run) {
    const TraceHeader& header = file.rank.header;
    if (!is_wanted_(header.rank)) continue;
    if (!names.insert(file.rank.name).second) {
      note(printable(file.path) + " is a second trace of rank " + file.rank.name + "; it is left out");
      continue;
    }
    const FollowedTrace& trace = *traces_.at(file.path);
    std::optional<std::int32_t> stage = trace.metrics().said_stage();
    if (const auto found = stages_.find(file.path); !stage && found != stages_.end()) stage = found->second;
    ranks.push_back({{run_, file.rank.name, header.device, stage}, &trace.metrics(), trace.skipped()});
  }
  return ranks;
}

}  // namespace weft
