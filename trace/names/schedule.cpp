// A schedule is a list of tasks; the calls of a rank have to be in the order that these give. See the header.
#include "trace/names/schedule.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <utility>

namespace weft::names {
namespace {

// A forward or backward pass of one chunk, with the messages that it needs and makes.
struct Task {
  bool forward = true;
  Label label;
  bool receives = false, sends = false;
};
using Tasks = std::vector<Task>;

constexpr std::size_t most_ahead_in_ring = 3;
constexpr std::array<std::pair<Lane, Lane>, 4> in_and_out{{{Lane::activation_in, Lane::activation_out},
                                                           {Lane::activation_in, Lane::gradient_out},
                                                           {Lane::gradient_in, Lane::activation_out},
                                                           {Lane::gradient_in, Lane::gradient_out}}};

Lane lane_of(bool forward, bool received) {
  if (forward) return received ? Lane::activation_in : Lane::activation_out;
  return received ? Lane::gradient_in : Lane::gradient_out;
}

bool uses(const Task& task, Lane lane) {
  return task.forward == is_forward(lane) && (is_received(lane) ? task.receives : task.sends);
}

std::size_t count(const Tasks& tasks, Lane lane) {
  return static_cast<std::size_t>(std::ranges::count_if(tasks, [&](const Task& task) { return uses(task, lane); }));
}

// Whether as many messages of `lane` come before each of `reference` as the tasks want. Two in one group are at the
// same time. Receives may be posted so many tasks ahead. The lanes have as many messages as the tasks.
bool is_in_order(const Lanes& lanes, Lane lane, Lane reference, const Tasks& tasks, std::size_t ahead) {
  const std::vector<std::uint32_t>& others = lanes[lane];
  std::size_t next = 0, counted = 0;
  std::ptrdiff_t wanted = 0;
  for (std::size_t task = 0; task < tasks.size(); ++task) {
    for (; counted < std::min(task + 1 + ahead, tasks.size()); ++counted) wanted += uses(tasks[counted], lane);
    if (!uses(tasks[task], reference)) continue;
    const std::uint32_t group = lanes[reference][next++];
    const auto before = std::ranges::lower_bound(others, group) - others.begin();
    const auto with = std::ranges::upper_bound(others, group) - others.begin();
    if (wanted < before || wanted > with) return false;
  }
  return true;
}

bool has_counts(const Lanes& lanes, const Tasks& tasks) {
  for (const Lane lane : {Lane::activation_in, Lane::activation_out, Lane::gradient_in, Lane::gradient_out})
    if (lanes[lane].size() != count(tasks, lane)) return false;
  return true;
}

// The distance is the same in the whole iteration: a schedule that takes two and then gives two is another one.
bool is_received_in_order(const Lanes& lanes, Lane in, Lane out, const Tasks& tasks, std::size_t most_ahead) {
  for (std::size_t ahead = 0; ahead <= most_ahead; ++ahead)
    if (is_in_order(lanes, in, out, tasks, ahead)) return true;
  return false;
}

Labels labels_of(const Tasks& tasks, int microbatches) {
  Labels labels{microbatches, {}};
  for (const Task& task : tasks)
    for (const bool received : {true, false}) {
      const Lane lane = lane_of(task.forward, received);
      if (uses(task, lane)) labels.of_lane[static_cast<std::size_t>(lane)].push_back(task.label);
    }
  return labels;
}

// `ahead` forward passes, then one forward and one backward pass in turn, then the rest of these.
Tasks alternating(const Tasks& forward, const Tasks& backward, int ahead) {
  const std::size_t first = std::min(forward.size(), static_cast<std::size_t>(ahead));
  Tasks tasks(forward.begin(), forward.begin() + static_cast<std::ptrdiff_t>(first));
  for (std::size_t i = 0; i < backward.size() || first + i < forward.size(); ++i) {
    if (first + i < forward.size()) tasks.push_back(forward[first + i]);
    if (i < backward.size()) tasks.push_back(backward[i]);
  }
  return tasks;
}

// The passes of one direction.
Tasks chain_tasks(const Position& at, int microbatches, bool forward) {
  Tasks tasks;
  const bool from_previous = !at.is_first(), from_next = !at.is_last();
  for (int i = 0; i < microbatches; ++i)
    tasks.push_back({forward, {i, 0}, forward ? from_previous : from_next, forward ? from_next : from_previous});
  return tasks;
}

// Receives that are posted ahead of passes of both directions come by fewer passes of their own direction earlier where
// the two alternate. A rank posts all of them by as many passes ahead.
bool fits_both_ways(const Lanes& lanes, const Tasks& tasks, std::size_t most_ahead) {
  for (std::size_t ahead = 0; ahead <= most_ahead; ++ahead)
    if (std::ranges::all_of(
            in_and_out, [&](const auto& pair) { return is_in_order(lanes, pair.first, pair.second, tasks, ahead); }))
      return true;
  return false;
}

bool fits_chain(const Lanes& lanes, const Position& at, const Tasks& tasks) {
  if (!has_counts(lanes, tasks)) return false;
  if (!is_in_order(lanes, Lane::activation_out, Lane::gradient_out, tasks, 0)) return false;
  // Of two ranks that take two microbatches one after the other through a V of four stages the first one sends and
  // receives in turn, as that of two stages does which posts its receives ahead.
  return fits_both_ways(lanes, tasks, at.ranks == 2 ? 0 : 1);
}

// Between two ranks two microbatches of a V of four stages, or through two chunks and more of an interleaved pipeline,
// make the same calls as so many of 1F1B: 4, or 6, 10, 14 ...
bool is_like_two_chunks(const Position& at, int microbatches) {
  return at.ranks == 2 && (microbatches == 4 || (microbatches >= 6 && microbatches % 4 == 2));
}

// An iteration begins with a forward pass, so the first message is an activation. That tells the two ways around a ring
// apart.
bool begins_forward(const Lanes& lanes) {
  const auto first = [&](bool forward) {
    std::uint32_t group = static_cast<std::uint32_t>(-1);
    for (const bool received : {true, false})
      if (const auto& groups = lanes[lane_of(forward, received)]; !groups.empty()) group = std::min(group, groups[0]);
    return group;
  };
  return first(true) < first(false);
}

// The passes of one direction.
Tasks ring_tasks(const Position& at, const Looping& looping, bool forward) {
  Tasks tasks;
  for (int begin = 0; begin < looping.microbatches; begin += looping.round)
    for (int step = 0; step < looping.chunks; ++step) {
      const int chunk = forward ? step : looping.chunks - 1 - step;
      const bool is_begin = at.is_first() && chunk == 0, is_end = at.is_last() && chunk == looping.chunks - 1;
      const bool receives = forward ? !is_begin : !is_end, sends = forward ? !is_end : !is_begin;
      for (int i = begin; i < std::min(begin + looping.round, looping.microbatches); ++i)
        tasks.push_back({forward, {i, chunk}, receives, sends});
    }
  return tasks;
}

// That of Megatron's interleaved schedule.
int ring_warm_up(int rank, int ranks, const Looping& looping) {
  return looping.ahead_per_rank * (ranks - rank - 1) + (looping.chunks - 1) * looping.round;
}

// The order within each direction tells which chunk a message is for, whatever the order between the two is. It tells
// little where receives are posted ahead by half of the passes.
bool fits_one_way(const Lanes& lanes, const Tasks& passes, bool forward) {
  if (passes.empty()) return true;
  const std::size_t most_ahead = std::min(most_ahead_in_ring, (passes.size() - 1) / 2);
  return is_received_in_order(lanes, lane_of(forward, true), lane_of(forward, false), passes, most_ahead);
}

// Whether each pass of `tasks` has its messages of lane `in`, and the passes before it have theirs, before it sends.
bool is_received_in_time(const Lanes& lanes, Lane in, Lane out, const Tasks& tasks) {
  const std::vector<std::uint32_t>& received = lanes[in];
  std::size_t next = 0;
  std::ptrdiff_t needed = 0;
  for (const Task& task : tasks) {
    needed += uses(task, in);
    if (!uses(task, out)) continue;
    if (std::ranges::lower_bound(received, lanes[out][next++]) - received.begin() < needed) return false;
  }
  return true;
}

// The backward passes of the first rank's first chunk send nothing, which tells the rounds of the backward passes, if
// one of them comes between forward passes. Then all ranks take turns.
bool shows_turns(int ranks, const Looping& looping) {
  const int in_turns = looping.chunks * looping.microbatches - ring_warm_up(0, ranks, looping);
  return in_turns > (looping.chunks - 1) * looping.round;
}

// PyTorch posts a receive when the sender's pass comes in its plan of all ranks, so now earlier, now later. The order
// of the sends is that of the passes all the same.
bool fits_sends(const Lanes& lanes, const Tasks& tasks) {
  return is_in_order(lanes, Lane::activation_out, Lane::gradient_out, tasks, 0) &&
         std::ranges::all_of(
             in_and_out, [&](const auto& pair) { return is_received_in_time(lanes, pair.first, pair.second, tasks); });
}

}  // namespace

bool trains(const Lanes& lanes) {
  return !lanes[Lane::gradient_in].empty() || !lanes[Lane::gradient_out].empty();
}

Turns turns_of(const Lanes& lanes) {
  Turns turns;
  for (const Lane lane : {Lane::activation_in, Lane::activation_out, Lane::gradient_in, Lane::gradient_out}) {
    const std::vector<std::uint32_t>& groups = lanes[lane];
    if (groups.empty()) continue;
    turns.last_message = std::max(turns.last_message, groups.back());
    if (is_forward(lane))
      turns.last_activation = std::max(turns.last_activation, groups.back());
    else
      turns.first_gradient = std::min(turns.first_gradient, groups.front());
  }
  return turns;
}

bool is_forward_first(const Lanes& lanes) {
  const Turns turns = turns_of(lanes);
  return turns.last_activation <= turns.first_gradient;
}

std::optional<Labels> label_chain(const Lanes& lanes, const Position& position, ChainOrder order) {
  const Lane counted = position.is_last() ? Lane::activation_in : Lane::activation_out;
  const int microbatches = static_cast<int>(lanes[counted].size());
  if (microbatches == 0 || trains(lanes) != (order != ChainOrder::forward)) return std::nullopt;
  if (order == ChainOrder::one_f_one_b && is_like_two_chunks(position, microbatches)) return std::nullopt;
  const Tasks forward = chain_tasks(position, microbatches, true);
  const Tasks backward = order != ChainOrder::forward ? chain_tasks(position, microbatches, false) : Tasks{};
  const int ahead = order == ChainOrder::one_f_one_b ? position.ranks - 1 - position.rank : microbatches;
  const Tasks tasks = alternating(forward, backward, ahead);
  return fits_chain(lanes, position, tasks) ? std::optional(labels_of(tasks, microbatches)) : std::nullopt;
}

std::optional<Labels> label_ring(const Lanes& lanes, const Position& position, const Looping& looping) {
  if (looping.chunks <= 1 || looping.round <= 0) return std::nullopt;
  if (looping.microbatches < position.ranks) return std::nullopt;  // too few calls to tell two orders apart
  const Tasks forward = ring_tasks(position, looping, true);
  const Tasks backward = trains(lanes) ? ring_tasks(position, looping, false) : Tasks{};
  const Tasks tasks = alternating(forward, backward, ring_warm_up(position.rank, position.ranks, looping));
  if (!has_counts(lanes, tasks) || !begins_forward(lanes)) return std::nullopt;
  const bool fits = looping.by_sends ? trains(lanes) && shows_turns(position.ranks, looping) && fits_sends(lanes, tasks)
                                     : (fits_one_way(lanes, forward, true) && fits_one_way(lanes, backward, false)) ||
                                           fits_both_ways(lanes, tasks, most_ahead_in_ring);
  return fits ? std::optional(labels_of(tasks, looping.microbatches)) : std::nullopt;
}

}  // namespace weft::names
