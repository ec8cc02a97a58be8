// One rank of a pipeline of two stages that issues one group after another, in virtual time, and what the detector
// found. Used by the tests that tell optimizer steps from what looks like them.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "detector/detector.h"

namespace weft::testing {

inline constexpr CommunicatorId pipeline = 1, data = 2, tensor = 3, embedding = 4, experts = 5;
inline constexpr std::uint64_t loss = 4, gradients = 65'536, weights = 32'768;
// Signatures of collectives of one size that do different things.
inline constexpr std::uint64_t summed = 0, scattered = 1, gathered = 2, broadcast = 3;

// One rank; it remembers when its optimizer steps ended.
class Rank {
 public:
  explicit Rank(int rank) : rank_(rank) {}
  bool is_first() const { return rank_ == 0; }

  void send() { transfer(1 - rank_, -1, 1); }
  void receive() { transfer(-1, 1 - rank_, 1); }
  void all_to_all() { transfer(0, 0, 2, experts); }
  void sum(CommunicatorId communicator, std::uint64_t bytes, std::uint64_t what = summed) {
    Event group = next(communicator, bytes * 8 + what);
    group.summary.collectives = 1;
    group.summary.reduces = what == summed || what == scattered;
    group.summary.collective_bytes = bytes;
    take(group);
  }
  // `within`: before each forward and each backward.
  void microbatches(
      int count, const std::function<void()>& within = [] {}) {
    for (int i = 0; i < count; ++i) {
      within();
      is_first() ? send() : receive();
      within();
      is_first() ? receive() : send();
    }
  }
  void forward(int count) {
    for (int i = 0; i < count; ++i) is_first() ? send() : receive();
  }
  // The optimizer computes.
  void step_ended() {
    ends.push_back(now_);
    now_ = now_ + Duration{200};
  }

  std::vector<Iteration> iterations;
  std::vector<TimePoint> ends;
  std::vector<std::string> notes;

 private:
  void transfer(std::int32_t send_peer, std::int32_t receive_peer, std::uint16_t each,
                CommunicatorId communicator = pipeline) {
    Event group = next(communicator, static_cast<std::uint64_t>(1 + 10 * send_peer + receive_peer + 100));
    group.summary.send_peer = send_peer;
    group.summary.receive_peer = receive_peer;
    group.summary.sends = send_peer < 0 ? 0 : each;
    group.summary.receives = receive_peer < 0 ? 0 : each;
    take(group);
  }
  Event next(CommunicatorId communicator, std::uint64_t signature) {
    Event group{};
    group.kind = EventKind::group_issued;
    group.stream = 1;
    group.group = ++groups_;
    group.communicator = communicator;
    group.ticket = ++ticket_;
    group.done_ticket = ++ticket_;
    group.summary.signature = signature;
    group.summary.send_peer = group.summary.receive_peer = -1;
    return group;
  }
  void take(Event event) {
    for (const EventKind kind : {EventKind::group_issued, EventKind::group_started, EventKind::group_done}) {
      now_ = now_ + Duration{10};
      event.kind = kind;
      event.time = now_;
      for (const Finding& f : detector_.observe(event)) {
        if (f.kind == FindingKind::iteration_ended) iterations.push_back(f.iteration);
        if (f.kind == FindingKind::note) notes.push_back(f.text);
      }
    }
  }

  int rank_;
  Detector detector_;
  TimePoint now_{};
  GroupId groups_ = 0;
  Ticket ticket_ = 0;
};

// Issues an optimizer step, from 0.
using Step = std::function<void(Rank&, int step)>;

// The turns of the steps that were found, from 0; `wrong`: iterations that are none.
inline std::map<std::size_t, std::uint64_t> steps_among(const Rank& rank, std::size_t& wrong) {
  std::map<std::size_t, std::uint64_t> found;
  for (const Iteration& iteration : rank.iterations) {
    const auto end = std::find(rank.ends.begin(), rank.ends.end(), iteration.ended);
    const bool is_step = end != rank.ends.end() && end != rank.ends.begin() && *(end - 1) == iteration.started;
    if (is_step) found[static_cast<std::size_t>(end - rank.ends.begin())] = iteration.turn;
    wrong += is_step ? 0 : 1;
  }
  return found;
}

}  // namespace weft::testing
