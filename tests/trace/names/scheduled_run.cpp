// See scheduled_run.h.
#include "tests/trace/names/scheduled_run.h"

#include <algorithm>
#include <set>
#include <tuple>

namespace weft::testing {
namespace {

using pipeline::Orders;
using pipeline::Piece;
using pipeline::Work;

struct Part {
  bool send = false;
  int peer = 0;  // place in the pipeline
  TrueMessage truth;
};
struct Call {
  std::vector<Part> parts;
  bool whole_sum = false, stage_sum = false, tensor_sum = false;
};

int place_of(const Orders& orders, int stage) {
  return orders.rank_of_stage[static_cast<std::size_t>(stage)];
}

// Those of a piece that the place computes, with other places.
std::vector<Part> messages(const Orders& orders, int place, const Piece& piece, bool sends) {
  std::vector<Part> parts;
  if (piece.work == Work::weight_gradient) return parts;
  const bool forward = piece.work == Work::forward;
  const auto stage = static_cast<std::size_t>(piece.stage);
  for (const int other : forward == sends ? orders.followers[stage] : orders.sources[stage]) {
    if (place_of(orders, other) == place) continue;
    const TrueMessage truth{!forward, piece.microbatch, sends ? piece.stage : other, sends ? other : piece.stage};
    parts.push_back({sends, place_of(orders, other), truth});
  }
  return parts;
}

void add_messages(std::vector<Call>& calls, const std::vector<Part>& messages, const RunStyle& style) {
  std::vector<Part> parts;
  for (const Part& part : messages) parts.insert(parts.end(), static_cast<std::size_t>(style.parts), part);
  if (!style.apart)
    calls.push_back({parts});
  else
    for (const Part& part : parts) calls.push_back({{part}});
}

// A step ends with a sum over all ranks, and one over those of its stage.
void add_sums(std::vector<Call>& calls, const RunStyle& style) {
  if (style.replicas > 1) calls.push_back({{}, false, true, false});
  calls.push_back({{}, true, false, false});
}

// The calls of one place in an iteration.
class Caller {
 public:
  Caller(const Orders& orders, const RunStyle& style, int place) : orders_(orders), style_(style), place_(place) {}

  std::vector<Call> calls() {
    const std::vector<Piece>& pieces = orders_.of_rank[static_cast<std::size_t>(place_)];
    std::size_t posted = 0;
    for (std::size_t i = 0; i < pieces.size(); ++i) {
      for (; posted < std::min(i + 1 + static_cast<std::size_t>(style_.ahead), pieces.size()); ++posted)
        post(received_by(pieces[posted]));
      flush();
      if (style_.splits_tensors) calls_.push_back({{}, false, false, true});
      held_ = sent_by(pieces[i]);
      if (!style_.paired) flush();
    }
    flush();
    add_sums(calls_, style_);
    return std::move(calls_);
  }

 private:
  std::vector<Part> received_by(const Piece& piece) const { return messages(orders_, place_, piece, false); }
  std::vector<Part> sent_by(const Piece& piece) const { return messages(orders_, place_, piece, true); }

  void add(const std::vector<Part>& parts) { add_messages(calls_, parts, style_); }
  void post(const std::vector<Part>& received) {
    for (const Part& part : received) {
      const bool fits =
          held_.size() == 1 && held_[0].peer == part.peer && held_[0].truth.is_gradient != part.truth.is_gradient;
      if (fits) add({held_[0], part});
      if (fits) held_.clear();
      flush();
      if (!fits) add({part});
    }
  }
  void flush() {
    for (const Part& part : held_) add({part});
    held_.clear();
  }

  const Orders& orders_;
  const RunStyle& style_;
  const int place_;
  std::vector<Call> calls_;
  std::vector<Part> held_;  // sends that wait for a receive
};

// The calls of all places in an iteration whose plan has them take turns, as torch.distributed.pipelining makes it: a
// piece comes when what it needs has been asked for, and with it the receives of what it sends.
class Planner {
 public:
  Planner(const Orders& orders, const RunStyle& style)
      : orders_(orders), style_(style), calls_(orders.of_rank.size()), next_(calls_.size()), has_(calls_.size()) {}

  // Nothing: the places wait for each other.
  std::optional<std::vector<std::vector<Call>>> calls() {
    while (!is_over()) {
      if (style_.uneven != 0 && take_turns(true)) continue;
      if (!take_turns(false)) return std::nullopt;
    }
    for (std::vector<Call>& calls : calls_) add_sums(calls, style_);
    return std::move(calls_);
  }

 private:
  // For a place to go on: messages to its stages, and the forward passes that these have made.
  using Needed = std::tuple<bool, int, int>;
  static Needed message(const TrueMessage& truth) { return {truth.is_gradient, truth.microbatch, truth.to}; }
  static Needed forward_pass(const Piece& piece) { return {false, piece.microbatch, -1 - piece.stage}; }

  bool is_over() const {
    for (std::size_t place = 0; place < calls_.size(); ++place)
      if (next_[place] < orders_.of_rank[place].size()) return false;
    return true;
  }

  // Each place misses turns of its own.
  bool misses(std::size_t place) {
    state_ = state_ * 1'103'515'245 + 12'345;
    return (state_ >> 16) % 8 < (style_.uneven >> 3 * (place % 8)) % 8;
  }

  bool take_turns(bool uneven) {
    bool goes_on = false;
    std::vector<std::vector<Part>> turn(calls_.size());
    for (std::size_t place = 0; place < calls_.size(); ++place)
      if (!uneven || !misses(place)) goes_on = compute(static_cast<int>(place), turn) || goes_on;
    for (std::size_t place = 0; place < calls_.size(); ++place) end_turn(place, turn[place]);
    return goes_on;
  }

  bool compute(int place, std::vector<std::vector<Part>>& turn) {
    const auto own = static_cast<std::size_t>(place);
    if (next_[own] == orders_.of_rank[own].size()) return false;
    const Piece& piece = orders_.of_rank[own][next_[own]];
    for (const Part& part : messages(orders_, place, piece, false))
      if (!has_[own].contains(message(part.truth))) return false;
    if (piece.work != Work::forward && !has_[own].contains(forward_pass(piece))) return false;
    has_[own].insert(forward_pass(piece));
    ++next_[own];
    for (const Part& part : messages(orders_, place, piece, true)) {
      const auto peer = static_cast<std::size_t>(part.peer);
      turn[own].push_back(part);
      turn[peer].push_back({false, place, part.truth});
      if (!style_.paired) has_[peer].insert(message(part.truth));
    }
    return true;
  }

  void end_turn(std::size_t place, const std::vector<Part>& parts) {
    for (const Part& part : parts)
      if (!part.send) has_[place].insert(message(part.truth));
    if (style_.paired && !parts.empty()) add_messages(calls_[place], parts, style_);
    if (style_.paired) return;
    for (const Part& part : parts) add_messages(calls_[place], {part}, style_);
  }

  const Orders& orders_;
  const RunStyle& style_;
  std::vector<std::vector<Call>> calls_;
  std::vector<std::size_t> next_;
  std::vector<std::set<Needed>> has_;
  std::uint32_t state_ = 1;
};

std::vector<std::vector<Call>> calls_of(const Orders& orders, const RunStyle& style) {
  if (style.planned) return *Planner(orders, style).calls();
  std::vector<std::vector<Call>> calls;
  for (std::size_t place = 0; place < orders.of_rank.size(); ++place)
    calls.push_back(Caller(orders, style, static_cast<int>(place)).calls());
  return calls;
}

// Communicators by what they are for; each rank counts its own from 1.
class Writer {
 public:
  Writer(const RunStyle& style, int replica, int place, int places)
      : style_(style), replica_(replica), place_(place), places_(places) {
    run_.rank = replica * places + place;
  }

  void add_iteration(const std::vector<Call>& calls, std::uint64_t number) {
    for (const Call& call : calls) add(call, number);
    if (number == 0) return;
    Iteration iteration;
    iteration.number = number;
    iteration.groups = static_cast<std::uint32_t>(calls.size());
    run_.records.emplace_back(0, TimePoint{}, iteration);
  }
  RankRun take() { return std::move(run_); }

 private:
  using Key = std::tuple<int, int, int>;

  CommunicatorId communicator(const Key& key, int rank, int ranks) {
    const auto [known, is_new] = numbers_.emplace(key, static_cast<CommunicatorId>(numbers_.size() + 1));
    if (!is_new) return known->second;
    CommunicatorRecord record;
    record.communicator = known->second;
    record.rank = rank;
    record.ranks = ranks;
    const auto [kind, one, other] = key;
    record.id = 1 + static_cast<std::uint64_t>(kind) * 1'000'000 + static_cast<std::uint64_t>(one) * 1000 +
                static_cast<std::uint64_t>(other);
    run_.records.emplace_back(0, TimePoint{}, record);
    return known->second;
  }

  void add(const Call& call, std::uint64_t iteration) {
    GroupRecord group;
    group.id = ++last_group_;
    group.iteration = iteration;
    const auto collective = [&](CommunicatorId number, std::uint64_t bytes) {
      group.communicator = number;
      group.operations.add({Operation::all_reduce, -1, bytes, ++sequences_[{number, -1, false}]});
    };
    if (call.whole_sum) collective(communicator({1, 0, 0}, static_cast<int>(run_.rank), style_.replicas * places_), 8);
    if (call.stage_sum) collective(communicator({2, place_, 0}, replica_, style_.replicas), 4096);
    if (call.tensor_sum) collective(communicator({3, static_cast<int>(run_.rank), 0}, 0, 2), 512);
    for (std::size_t i = 0; i < call.parts.size(); ++i) {
      const auto [number, peer] = place_of(call.parts[i]);
      group.communicator = number;
      const std::uint64_t sequence = ++sequences_[{number, peer, call.parts[i].send}];
      group.operations.add({call.parts[i].send ? Operation::send : Operation::receive, peer, 32768, sequence});
      run_.truth[{group.id, i}] = call.parts[i].truth;
    }
    run_.records.emplace_back(0, TimePoint{}, group);
  }

  // Communicator, and the peer's rank in it.
  std::pair<CommunicatorId, std::int32_t> place_of(const Part& part) {
    if (style_.communicators == RunStyle::Communicators::one)
      return {communicator({4, replica_, 0}, place_, places_), part.peer};
    if (style_.communicators == RunStyle::Communicators::pairs) {
      const auto [low, high] = std::minmax(place_, part.peer);
      return {communicator({5, replica_, low * places_ + high}, place_ == low ? 0 : 1, 2), place_ == low ? 1 : 0};
    }
    const int from = part.send ? place_ : part.peer, to = part.send ? part.peer : place_;
    const int way = (from * places_ + to) * 2 + (part.truth.is_gradient ? 1 : 0);
    return {communicator({6, replica_, way}, part.send ? 0 : 1, 2), part.send ? 1 : 0};
  }

  const RunStyle& style_;
  int replica_, place_, places_;
  GroupId last_group_ = 0;
  std::map<Key, CommunicatorId> numbers_;
  std::map<std::tuple<CommunicatorId, std::int32_t, bool>, std::uint64_t> sequences_;
  RankRun run_;
};

bool is_right(const MessageName& name, const TrueMessage& truth, const StageOfRank& stage, int microbatches) {
  const int own = name.chunk * stage.stages + name.stage, peer = name.peer_chunk * stage.stages + name.peer_stage;
  const int from = name.is_received ? peer : own, to = name.is_received ? own : peer;
  return name.is_gradient == truth.is_gradient && name.microbatch == truth.microbatch && from == truth.from &&
         to == truth.to && name.microbatches == microbatches;
}

}  // namespace

std::vector<RankRun> run_of(const Orders& orders, const RunStyle& style) {
  std::vector<RankRun> run;
  const int places = static_cast<int>(orders.of_rank.size());
  const std::vector<std::vector<Call>> calls_of_place = calls_of(orders, style);
  for (int replica = 0; replica < style.replicas; ++replica)
    for (int place = 0; place < places; ++place) {
      Writer writer(style, replica, place, places);
      const std::vector<Call>& calls = calls_of_place[static_cast<std::size_t>(place)];
      for (int i = 0; i < style.first_iterations; ++i) writer.add_iteration(calls, 0);
      for (int i = 0; i < style.iterations; ++i) writer.add_iteration(calls, static_cast<std::uint64_t>(i + 1));
      run.push_back(writer.take());
    }
  return run;
}

bool is_possible(const Orders& orders) {
  return Planner(orders, RunStyle{}).calls().has_value();
}

NamedRun::NamedRun(const std::vector<RankRun>& run, int ranks) {
  std::vector<names::NamedRank> named;
  iterations_.resize(run.size());
  for (std::size_t trace = 0; trace < run.size(); ++trace) {
    for (const Record& record : run[trace].records) iterations_[trace].take(record);
    iterations_[trace].finish();
    named.push_back({run[trace].rank, ranks, &iterations_[trace]});
  }
  names_.emplace(named);
}

Score NamedRun::score(const std::vector<RankRun>& run, int microbatches) const {
  Score score;
  for (std::size_t trace = 0; trace < run.size(); ++trace)
    for (std::uint32_t shape = 0; shape < iterations_[trace].shapes().size(); ++shape) {
      const std::vector<names::IssuedGroup>& groups = iterations_[trace].shapes()[shape].groups;
      const std::vector<GroupName> named = names_->groups(trace, shape);
      for (std::size_t place = 0; place < groups.size(); ++place)
        for (std::size_t i = 0; i < groups[place].operations.size(); ++i) {
          const auto truth = run[trace].truth.find({groups[place].id, i});
          if (truth == run[trace].truth.end()) continue;
          const std::optional<MessageName>& message = named[place].operations[i].message;
          const std::optional<StageOfRank> stage = names_->stage(trace);
          const bool right = message && stage && is_right(*message, truth->second, *stage, microbatches);
          ++(!message ? score.less : right ? score.right : score.wrong);
        }
    }
  return score;
}

}  // namespace weft::testing
