// See the header.
#include "trace/report/waits.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "trace/names/slot_places.h"
#include "trace/report/reported_run.h"
#include "trace/totals.h"

namespace weft::report {
namespace {

using Pairs = std::map<std::pair<std::size_t, std::size_t>, Waited>;

void add(Pairs& pairs, std::size_t waiting, std::size_t awaited, const Waited& waited) {
  Waited& sum = pairs[{waiting, awaited}];
  sum.bubbles += waited.bubbles;
  add_to(sum.time, waited.time);
}

std::vector<WaitingPair> sorted(const Pairs& pairs) {
  std::vector<WaitingPair> list;
  for (const auto& [pair, waited] : pairs) list.push_back({pair.first, pair.second, waited.bubbles, waited.time});
  std::ranges::stable_sort(list, std::ranges::greater{}, &WaitingPair::time);
  return list;
}

std::optional<std::size_t> peer_of(const ReportedRun& run, std::size_t trace, const WaitFor& wait) {
  const CommunicatorRecord* const communicator = run.named.places[trace]->iterations().communicator(wait.communicator);
  return communicator == nullptr ? std::nullopt : run.members.member(*communicator, wait.peer);
}

}  // namespace

Waits find_waits(const ReportedRun& run) {
  Waits waits;
  Pairs ranks, stages;
  bool has_stages = true;
  for (std::size_t trace = 0; trace < run.traces.size(); ++trace) {
    if (!run.counts(trace)) continue;
    for (const auto& [wait, waited] : run.traces[trace].series.waits()) {
      const bool by_peer = wait.cause == Cause::receive || wait.cause == Cause::send;
      add_to(by_peer ? waits.peers : wait.cause == Cause::collective ? waits.collectives : waits.others, waited.time);
      if (!by_peer) continue;
      const std::optional<std::size_t> peer = peer_of(run, trace, wait);
      if (!peer) {
        add_to(waits.unknown, waited.time);
        continue;
      }
      add(ranks, trace, *peer, waited);
      const std::optional<StageOfRank>& from = run.rank(trace).stage;
      const std::optional<StageOfRank>& to = run.rank(*peer).stage;
      has_stages = has_stages && from && to;
      if (!has_stages) continue;
      waits.stages = std::max<std::size_t>(waits.stages, static_cast<std::size_t>(from->stages));
      add(stages, static_cast<std::size_t>(from->stage), static_cast<std::size_t>(to->stage), waited);
    }
  }
  waits.of_ranks = sorted(ranks);
  if (has_stages) waits.of_stages = sorted(stages);
  return waits;
}

}  // namespace weft::report
