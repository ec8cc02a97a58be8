// See export_metrics.h.
#include "cli/export_metrics.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <stdexcept>
#include <system_error>
#include <utility>

#include "cli/quantities.h"
#include "cli/verb.h"
#include "trace/formatted.h"
#include "trace/metrics/followed_run.h"
#include "trace/metrics/metrics_folder.h"
#include "trace/read/printable.h"
#include "trace/read/runs.h"
#include "trace/write/clocks.h"

namespace weft::cli {
namespace {

constexpr Duration default_interval = std::chrono::seconds(15), shortest_interval = std::chrono::seconds(1);

// The signals that end it, from here on only when they are asked for: a file is never left half removed. Those that
// are ignored stay so, as with nohup, or SIGINT of a shell's background jobs.
class EndSignals {
 public:
  EndSignals() {
    ::sigemptyset(&set_);
    for (const int signal : {SIGTERM, SIGINT, SIGHUP}) {
      struct sigaction action {};
      if (::sigaction(signal, nullptr, &action) == 0 && action.sa_handler != SIG_IGN) ::sigaddset(&set_, signal);
    }
    ::sigprocmask(SIG_BLOCK, &set_, nullptr);
  }

  // Whether one came.
  bool came() { return came_within({}); }
  bool came_within(Duration time) {
    constexpr std::int64_t per_second = 1'000'000'000;
    time = std::max(time, Duration{});
    const timespec wait{time.count() / per_second, time.count() % per_second};
    has_come_ = has_come_ || ::sigtimedwait(&set_, nullptr, &wait) > 0;
    return has_come_;
  }

 private:
  sigset_t set_{};
  bool has_come_ = false;
};

HostIdentity this_host() {
  std::array<char, 256> name{};
  const bool is_known = ::gethostname(name.data(), name.size() - 1) == 0;
  return {is_known ? name.data() : "", boot_id()};
}

std::string name_of(const std::string& directory) {
  std::error_code error;
  std::filesystem::path path = std::filesystem::weakly_canonical(std::filesystem::absolute(directory, error), error);
  if (error) path = directory;
  if (!path.has_filename()) path = path.parent_path();  // "folder/" is the folder
  const std::string name = path.filename().string();
  return name.empty() ? "weft" : name;
}

std::map<std::string, std::string> texts_of(const std::vector<FollowedRun::Rank>& ranks) {
  const Duration now = std::chrono::system_clock::now().time_since_epoch();
  std::map<std::string, std::string> texts;
  for (const FollowedRun::Rank& rank : ranks)
    texts[rank.labels.rank] = metrics_text(*rank.metrics, rank.skipped, rank.labels, now);
  return texts;
}

class Exporter {
 public:
  Exporter(const MetricsWanted& wanted, FollowedRun run, MetricsFolder& folder)
      : wanted_(wanted), interval_(wanted.interval.value_or(default_interval)), run_(std::move(run)), folder_(folder) {}

  int write_once(EndSignals& signals) {
    run_.look([&] { return signals.came(); });
    const std::vector<FollowedRun::Rank> ranks = run_.ranks();
    say(run_.take_notes());
    if (signals.came()) return failed;
    if (ranks.empty()) {
      complain(no_ranks());
      return failed;
    }
    folder_.write(texts_of(ranks));
    folder_.keep();
    inform(printable(wanted_.folder) + ": " + std::to_string(ranks.size()) + " files");
    return 0;
  }

  void write_on(EndSignals& signals) {
    inform("writes metrics into " + printable(wanted_.folder) + " every " +
           formatted("%.3g s", std::chrono::duration<double>(interval_).count()) + "; SIGTERM ends it");
    auto next = std::chrono::steady_clock::now();
    while (true) {
      run_.look([&] { return signals.came(); });
      if (signals.came()) return;
      const std::vector<FollowedRun::Rank> ranks = run_.ranks();
      say(run_.take_notes());
      if (ranks.empty()) say({run_.elsewhere() > 0 ? no_ranks() : "there are no traces of these ranks yet; waiting"});
      try {
        folder_.write(texts_of(ranks));
      } catch (const std::runtime_error& error) {  // a full disk may have room again
        say({error.what()});
      }
      // A look that took longer does not make the next ones come at once.
      next = std::max(next + interval_, std::chrono::steady_clock::now());
      if (signals.came_within(next - std::chrono::steady_clock::now())) return;
    }
  }

 private:
  std::string no_ranks() const {
    if (run_.elsewhere() == 0) return "there are no traces of these ranks";
    return "none of the traces is of this host, " + std::to_string(run_.elsewhere()) +
           " are of others; --all-hosts takes those too";
  }
  void say(const std::vector<std::string>& notes) {
    for (const std::string& text : notes)
      if (said_.insert(text).second) inform("note: " + text);
  }

  const MetricsWanted& wanted_;
  Duration interval_;
  FollowedRun run_;
  MetricsFolder& folder_;
  std::set<std::string> said_;
};

}  // namespace

void add_metrics_options(CLI::App& app, MetricsWanted& wanted) {
  app.add_option("--prometheus", wanted.folder, "Metrics beside a running job, for node exporter (docs/metrics.md).")
      ->type_name("FOLDER");
  app.add_option_function<std::string>(
         "--interval",
         [&](const std::string& text) {
           wanted.interval = parse_duration(text);
           if (!wanted.interval || *wanted.interval < shortest_interval)
             throw CLI::ValidationError("'" + text + "' is no time of 1 s or more; 15s is");
         },
         "Between two writings of metrics [15s].")
      ->type_name("TIME");
  app.add_flag("--once", wanted.once, "Write metrics once, and leave them there.");
  app.add_flag("--all-hosts", wanted.all_hosts, "Metrics of all ranks, not of this host's only.");
  app.add_option("--run", wanted.run, "Label `run` of metrics [the name of DIR].")->type_name("NAME");
}

std::optional<std::string> mistake_in(const MetricsWanted& wanted, bool others) {
  if (wanted.folder.empty()) {
    if (!wanted.interval && !wanted.once && !wanted.all_hosts && wanted.run.empty()) return std::nullopt;
    return "--interval, --once, --all-hosts and --run are for --prometheus, which is missing";
  }
  if (others) return "--prometheus goes with no other format, and has all iterations";
  if (wanted.once && wanted.interval) return "--once and --interval cannot go together";
  return std::nullopt;
}

int export_metrics(const MetricsWanted& wanted, const ExportWanted& traces) {
  EndSignals signals;
  if (wanted.once && traces_in(traces.directories).empty()) {
    complain("there are no traces (rank*.jsonl) in " + printable(traces.directories.front()));
    return failed;
  }
  const std::string run = wanted.run.empty() ? name_of(traces.directories.front()) : wanted.run;
  const auto host = wanted.all_hosts ? std::nullopt : std::optional(this_host());
  MetricsFolder folder(wanted.folder, run);
  Exporter exporter(wanted,
                    FollowedRun(traces.directories, run, host, [&](std::int64_t rank) { return traces.selects(rank); }),
                    folder);
  if (wanted.once) return exporter.write_once(signals);
  exporter.write_on(signals);
  return 0;
}

}  // namespace weft::cli
