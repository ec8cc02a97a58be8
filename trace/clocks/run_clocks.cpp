// A tree from the first clock over the pairs that met, the narrowest interval first; see the header.
#include "trace/clocks/run_clocks.h"

#include <algorithm>
#include <functional>
#include <queue>
#include <set>
#include <tuple>
#include <utility>

namespace weft {

// From one clock to another, with the fit of their bounds, in which `to` may be the base.
struct RunClocks::Edge {
  std::uint32_t from = 0, to = 0;
  bool is_reversed = false;
  Duration width{};  // over the run
  std::shared_ptr<const PairFit> fit;
};

RunClocks::RunClocks(HostClocks hosts, ClockBounds bounds, std::uint32_t first)
    : hosts_(std::move(hosts)), first_(first), clocks_(hosts_.clocks.size()), is_placed_(clocks_.size()) {
  left_out_ = bounds.left_out();
  too_early_ = bounds.too_early();
  std::vector<std::vector<Edge>> edges(clocks_.size());
  std::set<std::uint32_t> one_way;
  for (auto& [pair, of_pair] : bounds.pairs()) {
    const auto [base, other] = pair;
    of_pair.finish();
    if (auto fit = fit_pair(of_pair)) {
      const auto shared = std::make_shared<const PairFit>(std::move(*fit));
      const Duration width = shared->offset.median_within(hosts_.clocks[base].first, hosts_.clocks[base].last);
      edges[base].push_back({base, other, false, width, shared});
      edges[other].push_back({other, base, true, width, shared});
    } else {
      one_way.insert({base, other});
    }
    of_pair = PairBounds();
  }
  if (clocks_.empty()) return;
  spread(first_, edges);
  for (std::uint32_t clock = 0; clock < clocks_.size(); ++clock) {
    if (is_placed_[clock]) continue;
    PlacedClock& placed = clocks_[clock];
    placed.by = PlacedBy::wall_clock;
    placed.why = !bounds.has_groups(clock) ? WithoutMessages::no_groups
                 : !edges[clock].empty()   ? WithoutMessages::apart
                 : one_way.contains(clock) ? WithoutMessages::one_way
                                           : WithoutMessages::none_joined;
    spread(clock, edges);
  }
}

// All clocks that can be reached from `root`.
void RunClocks::spread(std::uint32_t root, const std::vector<std::vector<Edge>>& edges) {
  PlacedClock& start = clocks_[root];
  start.beside = start.by_way_of = root;
  start.to_first = std::make_shared<const ClockOffset>(
      ClockOffset(root == first_ ? Duration{} : -hosts_.ahead_by_wall_clock(root, first_)));
  is_placed_[root] = true;
  using Way = std::tuple<Duration, std::uint32_t, std::uint32_t, const Edge*>;  // how wide it is, from, to
  std::priority_queue<Way, std::vector<Way>, std::greater<>> ways;
  const auto add = [&](std::uint32_t from, Duration width) {
    for (const Edge& edge : edges[from])
      if (!is_placed_[edge.to]) ways.emplace(width + edge.width, from, edge.to, &edge);
  };
  add(root, Duration{});
  while (!ways.empty()) {
    const auto [width, from, to, edge] = ways.top();
    ways.pop();
    if (is_placed_[to]) continue;
    place(*edge, root);
    add(to, width);
  }
}

void RunClocks::place(const Edge& edge, std::uint32_t root) {
  PlacedClock& placed = clocks_[edge.to];
  const PlacedClock& before = clocks_[edge.from];
  const PairFit& fit = *edge.fit;
  is_placed_[edge.to] = true;
  placed.by = PlacedBy::messages;
  placed.beside = root;
  placed.by_way_of = edge.from;
  placed.ahead = before.ahead.then(edge.is_reversed ? fit.offset.inverse() : fit.offset);
  const HostClock& host = hosts_.clocks[edge.to];
  const ClockOffset back = placed.ahead.inverse();
  placed.within = back.median_within(host.first, host.last);
  placed.most_within = back.most_within(host.first, host.last);
  placed.to_first =
      std::make_shared<const ClockOffset>(back.then(*clocks_[root].to_first).reaching(host.first, host.last));
  if (hosts_.has_wall_clock(edge.to, root))
    placed.wall_ahead = placed.ahead.knots().front().ahead - hosts_.ahead_by_wall_clock(edge.to, root);
  placed.least_rate = before.least_rate + (edge.is_reversed ? -fit.most_rate : fit.least_rate);
  placed.most_rate = before.most_rate + (edge.is_reversed ? -fit.least_rate : fit.most_rate);
  placed.contradictions = fit.contradictions;
  placed.messages = fit.messages;
  placed.collectives = fit.collectives;
  if (fit.breaks.empty()) return;
  placed.largest_break =
      std::ranges::max(fit.breaks, {}, [](const RateBreak& one) { return std::chrono::abs(one.moved); });
  placed.break_after = placed.largest_break->time - fit.first;
  if (edge.is_reversed) placed.largest_break->moved = -placed.largest_break->moved;
}

std::optional<Duration> RunClocks::within(std::uint32_t one, TimePoint on_one, std::uint32_t other,
                                          TimePoint on_other) const {
  if (one == other) return Duration{};
  if (clocks_[one].beside != clocks_[other].beside) return std::nullopt;
  return clocks_[one].to_first->at(on_one).within + clocks_[other].to_first->at(on_other).within;
}

}  // namespace weft
