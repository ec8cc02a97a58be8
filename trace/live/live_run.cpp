// See live_run.h.
#include "trace/live/live_run.h"

#include <unistd.h>

#include <algorithm>
#include <ctime>
#include <map>
#include <utility>

#include "trace/live/read_live.h"
#include "trace/read/file_totals.h"
#include "trace/read/printable.h"
#include "trace/read/runs.h"
#include "trace/totals.h"
#include "trace/write/clocks.h"
#include "trace/write/own_process.h"

namespace weft {
namespace {

Duration clock_time(clockid_t clock) {
  timespec time{};
  ::clock_gettime(clock, &time);
  return std::chrono::seconds(time.tv_sec) + Duration(time.tv_nsec);
}

TraceHeader header_of(const LiveIdentity& identity) {
  TraceHeader header;
  header.rank = identity.rank;
  header.ranks = identity.ranks;
  header.device = identity.device;
  header.process = identity.process;
  header.start_id = identity.start_id;
  header.host = text_of(identity.host);
  header.boot = text_of(identity.boot);
  header.mode = text_of(identity.mode);
  header.idle_unknown = text_of(identity.idle_unknown);
  return header;
}

// As far as weft summary's rules need it to choose the newest run.
FileTotals totals_of(const LivePageOf& page) {
  const LiveIdentity& identity = page.page.identity;
  FileTotals totals;
  totals.path = page.path;
  totals.has_header = true;
  totals.rank.header = header_of(identity);
  totals.rank.complete = page.page.ended != 0;
  totals.process = process_of(totals.rank.header);
  totals.begin = Duration(identity.wall_clock);
  totals.end = std::max(totals.begin, totals.begin + Duration(page.page.numbers.time - identity.started));
  return totals;
}

PartOfRun recent_of(const LiveNumbers& numbers) {
  PartOfRun recent;
  for (std::size_t place = 0; place < numbers.recent_count; ++place) {
    add_to(recent.window, Duration(numbers.recent[place].length));
    add_to(recent.idle, Duration(numbers.recent[place].idle));
    add_to(recent.uncertain, Duration(numbers.recent[place].uncertain));
    add_to(recent.filled, Duration(numbers.recent[place].filled));
  }
  return recent;
}

// The sums of a summary, so that shares are what weft summary makes of them.
RankSummary summary_of(const LiveNumbers& numbers) {
  RankSummary rank;
  rank.window = Duration(numbers.window_end - numbers.window_begin);
  rank.totals.iterations = numbers.iterations;
  rank.totals.idle = Duration(numbers.idle);
  rank.totals.uncertain = Duration(numbers.uncertain);
  rank.totals.dark = Duration(numbers.dark);
  rank.totals.filled = Duration(numbers.filled);
  rank.totals.idle_left_out = Duration(numbers.idle_left_out);
  if (numbers.startup_known == 0) return rank;
  StartupRecord startup;
  startup.length = Duration(numbers.startup_length);
  startup.idle = Duration(numbers.startup_idle);
  startup.uncertain = Duration(numbers.startup_uncertain);
  startup.filled = Duration(numbers.startup_filled);
  rank.totals.startup = startup;
  return rank;
}

LiveState state_of(const LiveRank& rank) {
  const LiveNumbers& numbers = rank.numbers();
  switch (numbers.filling) {
    case LiveFilling::fills:
      return numbers.fill_share > 0 ? LiveState::filling : LiveState::held;
    case LiveFilling::paused:
      return LiveState::paused;
    case LiveFilling::ended:
      return LiveState::stopped;
    case LiveFilling::observes:
      break;
  }
  if (rank.mode != "fill") return LiveState::observing;
  return rank.why.empty() ? LiveState::waiting : LiveState::stopped;
}

bool is_same_boot(const LiveIdentity& identity, const LiveObserver& observer) {
  return !observer.boot.empty() && text_of(identity.boot) == observer.boot;
}

// On one machine by the clock that nobody sets, else by the wall clocks of the two, as far as they agree.
Duration age_of(const LivePage& page, const LiveObserver& observer) {
  const LiveIdentity& identity = page.identity;
  const bool offsets = identity.clock_offset_known != 0 && observer.clock_offset.has_value();
  const Duration time(page.numbers.time);
  if (is_same_boot(identity, observer) && offsets)
    return std::max(Duration{},
                    (observer.monotonic - *observer.clock_offset) - (time - Duration(identity.clock_offset)));
  return std::max(Duration{},
                  observer.wall_clock - (Duration(identity.wall_clock) + (time - Duration(identity.started))));
}

void find_presence(LiveRank& rank, const LiveObserver& observer) {
  const LiveIdentity& identity = rank.page.identity;
  rank.age = age_of(rank.page, observer);
  rank.presence = rank.age < silent_after ? LivePresence::running : LivePresence::silent;
  if (rank.page.ended != 0) rank.presence = LivePresence::ended;
  rank.process_is_known = is_same_boot(identity, observer) && observer.process_namespace != 0 &&
                          identity.process_namespace == observer.process_namespace && identity.process_started != 0;
  if (!rank.process_is_known || rank.page.ended != 0) return;
  const std::optional<std::uint64_t> start = observer.start_of_process(identity.process);
  if (start != identity.process_started) rank.presence = LivePresence::gone;
}

LiveRank rank_of(const LivePage& page, const std::string& name, const LiveObserver& observer) {
  LiveRank rank;
  rank.page = page;
  rank.name = name;
  rank.host = printable(text_of(page.identity.host));
  rank.mode = printable(text_of(page.identity.mode));
  rank.idle_unknown = printable(text_of(page.identity.idle_unknown));
  rank.fill_jobs = printable(text_of(page.numbers.fill_jobs));
  rank.why = printable(text_of(page.numbers.why));
  rank.anomaly = printable(text_of(page.numbers.anomaly));
  rank.idle_known = rank.idle_unknown.empty();
  const RankSummary summary = summary_of(page.numbers);
  rank.whole = summary.whole();
  rank.steady = summary.steady();
  rank.recent = recent_of(page.numbers);
  for (std::size_t place = 0; place < page.numbers.recent_count; ++place)
    rank.lengths.emplace_back(page.numbers.recent[place].length);
  rank.state = state_of(rank);
  find_presence(rank, observer);
  return rank;
}

// Which rank of the job is which of a communicator, as the pages of the run say.
using RankInCommunicator = std::map<std::pair<std::uint64_t, std::int32_t>, std::int64_t>;

RankInCommunicator ranks_in_communicators(const std::vector<LiveRank>& ranks) {
  RankInCommunicator found;
  for (const LiveRank& rank : ranks)
    for (std::size_t place = 0; place < rank.numbers().communicator_count; ++place) {
      const LiveCommunicator& in = rank.numbers().communicators[place];
      found[{in.id, in.rank}] = rank.rank();
    }
  return found;
}

// A rank may be met in several communicators.
LiveMostWaited most_waited(const LiveRank& rank, const RankInCommunicator& ranks) {
  const LiveNumbers& numbers = rank.numbers();
  std::map<std::pair<std::int64_t, std::string>, Duration> idle;
  for (std::size_t place = 0; place < numbers.wait_count; ++place) {
    const LiveWait& wait = numbers.waits[place];
    const auto known = ranks.find({wait.communicator, wait.peer});
    const bool is_known = wait.communicator != 0 && known != ranks.end();
    const std::int64_t number = is_known ? known->second : -1;
    add_to(idle[{number, (is_known ? "r" : "peer ") + std::to_string(is_known ? number : wait.peer)}],
           Duration(wait.idle));
  }
  for (const auto& [cause, text] : {std::pair{Cause::collective, "collective"}, std::pair{Cause::host, "host"},
                                    std::pair{Cause::schedule, "schedule"}})
    add_to(idle[{-1, text}], Duration(numbers.idle_by_cause[static_cast<std::size_t>(cause)]));
  const auto most = std::ranges::max_element(idle, {}, [](const auto& one) { return one.second; });
  if (most->second <= Duration{} || numbers.idle <= 0) return {};
  const double share = static_cast<double>(most->second.count()) / static_cast<double>(numbers.idle);
  return {most->first.second, std::min(share, 1.0), most->first.first};
}

void add_up(PartOfRun& sum, const PartOfRun& part) {
  add_to(sum.window, part.window);
  add_to(sum.idle, part.idle);
  add_to(sum.uncertain, part.uncertain);
  add_to(sum.filled, part.filled);
  add_to(sum.idle_left_out, part.idle_left_out);
}

}  // namespace

LiveObserver observer_here() {
  return {clock_time(CLOCK_MONOTONIC), clock_time(CLOCK_REALTIME), boot_id(), clock_offset(),
          own_process_namespace(),     &start_of_process};
}

std::optional<Duration> LiveRank::mean_length() const {
  if (lengths.empty()) return std::nullopt;
  return recent.window / static_cast<std::int64_t>(lengths.size());
}

std::optional<Duration> LiveRank::last_length() const {
  return lengths.empty() ? std::nullopt : std::optional(lengths.back());
}

std::size_t LiveRun::count(LivePresence presence) const {
  return static_cast<std::size_t>(std::ranges::count(ranks, presence, &LiveRank::presence));
}

std::int64_t LiveRun::ranks_of_job() const {
  std::int64_t most = 0;
  for (const LiveRank& rank : ranks) most = std::max<std::int64_t>(most, rank.page.identity.ranks);
  return most;
}

LiveRun live_run_of(const std::vector<LivePageOf>& pages, const LiveObserver& observer) {
  LiveRun run;
  if (pages.empty()) return run;
  std::vector<FileTotals> files;
  std::map<std::string, const LivePage*> by_path;
  for (const LivePageOf& page : pages) {
    files.push_back(totals_of(page));
    by_path[page.path] = &page.page;
  }
  for (const FileTotals& file : newest_run_of(std::move(files), run.notes))
    run.ranks.push_back(rank_of(*by_path.at(file.path), file.rank.name, observer));
  const RankInCommunicator known = ranks_in_communicators(run.ranks);
  for (LiveRank& rank : run.ranks) {
    rank.waits_for = most_waited(rank, known);
    if (!rank.idle_known) continue;
    add_up(run.steady, rank.shown());
    add_up(run.recent, rank.recent);
  }
  return run;
}

LiveRun read_live_run(const std::vector<std::string>& directories, const LiveObserver& observer) {
  std::vector<LivePageOf> pages;
  std::vector<std::string> faults;
  for (const std::string& path : live_files_in(directories)) {
    LiveReading reading = read_live_file(path);
    if (reading.page)
      pages.push_back({path, *reading.page});
    else
      faults.push_back(printable(path) + ": " + reading.fault + "; it is left out");
  }
  LiveRun run = live_run_of(pages, observer);
  run.notes.insert(run.notes.begin(), faults.begin(), faults.end());
  return run;
}

}  // namespace weft
