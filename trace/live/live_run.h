// The newest run of some folders as its pages show it: every rank with its numbers, whether it is there, and which rank
// it waits for.
//
// Used by `weft top` and tests, in the weft command only. Where a process is decides how much can be told of it: of one
// that this machine knows by the same number it is known whether it runs; of another one only how old its last word is.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "trace/live/live_page.h"
#include "trace/read/summary.h"

namespace weft {

// Where and when the pages are looked at.
struct LiveObserver {
  Duration monotonic{}, wall_clock{};
  std::string boot;                      // "": not known
  std::optional<Duration> clock_offset;  // of this process, as in a trace's header
  std::uint64_t process_namespace = 0;
  // When the process of that number was started; nothing: there is none.
  std::function<std::optional<std::uint64_t>(std::int64_t process)> start_of_process;
};
LiveObserver observer_here();

// `running`: its word is fresh. `silent`: it is old; whether the process is there is not known, or it is and does not
// write. `gone`: the process is not there, and has not said that it ends. `ended`: it has.
enum class LivePresence : std::uint8_t { running, silent, gone, ended };
inline constexpr std::array live_presence_names{"running", "silent", "gone", "ended"};
inline constexpr Duration silent_after = std::chrono::seconds(5);

// `waiting`: for a fill job. `held`: the slowdown budget lets nothing be filled. `stopped`: filling is over.
enum class LiveState : std::uint8_t { observing, waiting, filling, held, paused, stopped };
inline constexpr std::array live_state_names{"observing", "waiting", "filling", "held", "paused", "stopped"};

// For which rank of the job a rank waits most, or for what.
struct LiveMostWaited {
  std::string name;  // "r3": that rank; "peer 1": a rank of some communicator; "collective", "host" ...; "": nothing
  double share = 0;  // of the idle time
  std::int64_t rank = -1;  // -1: it is none, or not known
};

struct LiveRank {
  LivePage page;
  std::string name;                                               // printable, as in weft summary
  std::string host, mode, fill_jobs, why, anomaly, idle_unknown;  // printable
  LivePresence presence = LivePresence::running;
  Duration age{};                 // of the last word
  bool process_is_known = false;  // it was looked for
  LiveState state = LiveState::observing;
  bool idle_known = true;
  PartOfRun whole;                  // of the run so far
  std::optional<PartOfRun> steady;  // without start-up, as weft summary shows shares; nothing: not known
  PartOfRun recent;                 // of the iterations that the page has
  std::vector<Duration> lengths;    // of these, the oldest first
  LiveMostWaited waits_for;

  const LiveNumbers& numbers() const { return page.numbers; }
  std::int64_t rank() const { return page.identity.rank; }
  PartOfRun shown() const { return steady.value_or(whole); }
  std::optional<Duration> mean_length() const;  // of the latest iterations
  std::optional<Duration> last_length() const;
};

struct LiveRun {
  std::vector<LiveRank> ranks;     // by rank, process and device
  std::vector<std::string> notes;  // printable: what is left out, and why
  // Sums over the ranks whose bubbles are measured.
  PartOfRun steady, recent;

  std::size_t count(LivePresence presence) const;
  std::int64_t ranks_of_job() const;
};

// Throws std::runtime_error where a directory cannot be read. Without a page `ranks` is empty.
LiveRun read_live_run(const std::vector<std::string>& directories, const LiveObserver& observer);
// Of pages that have been read, with their paths. Pure but for the observer's question.
struct LivePageOf {
  std::string path;
  LivePage page;
};
LiveRun live_run_of(const std::vector<LivePageOf>& pages, const LiveObserver& observer);

}  // namespace weft
