// The newest run of some folders while it is being written: which ranks it has on this host, and their numbers.
//
// Used by `weft export --prometheus` and tests, in the weft command only, on one thread. Every file of this host is
// read once, from its begin to its end and on; of those of other hosts only the first piece. Which run is the newest is
// decided anew at each look, by the rules of `weft summary`: a job that is started again in the same folder takes the
// place of the one before.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "trace/metrics/followed_trace.h"
#include "trace/metrics/metrics_text.h"

namespace weft {

// A machine, by what a header tells: the name differs between containers of one machine, the boot does not.
struct HostIdentity {
  std::string name, boot;  // "": not known
};
bool is_of_host(const TraceHeader& header, const HostIdentity& host);

class FollowedRun {
 public:
  // `run`: the label of that name. `host`: only its ranks; nothing: all. `is_wanted`: by the rank in the header.
  FollowedRun(std::vector<std::string> directories, std::string run, std::optional<HostIdentity> host,
              std::function<bool(std::int64_t)> is_wanted);

  // Reads what has been written since the last look; ends early when `stop` says so, which it is asked between pieces.
  void look(const std::function<bool()>& stop);

  struct Rank {
    RankLabels labels;
    const RankMetrics* metrics = nullptr;  // until the next look
    SkippedLines skipped;
  };
  std::vector<Rank> ranks();

  // Traces of other hosts, which are not looked at.
  std::size_t elsewhere() const { return elsewhere_.size(); }
  // One line each, printable; each once: what waits, is left out, or was replaced.
  std::vector<std::string> take_notes();

 private:
  void look_for_files();
  // Whether there may be more to read of it.
  bool look_at(const std::string& path);
  void find_stages(const std::vector<FileTotals>& run);
  void leave_out(const std::string& path, const std::string& why);
  void note(const std::string& text);

  std::vector<std::string> directories_;
  std::string run_;
  std::optional<HostIdentity> host_;
  std::function<bool(std::int64_t)> is_wanted_;
  std::map<std::string, std::unique_ptr<FollowedTrace>> traces_;  // by path
  std::set<std::string> elsewhere_, left_out_;                    // paths
  // Stages by path, as found from the iterations of these traces.
  std::map<std::string, std::int32_t> stages_;
  std::vector<std::pair<std::string, TraceProcess>> stages_from_;
  std::vector<char> buffer_;
  std::vector<std::string> notes_;
  std::set<std::string> said_;
};

}  // namespace weft
