// See microbatches.h.
#include "detector/microbatches.h"

namespace weft {
namespace {

// An edge that had no transfer for so many groups leads no longer: its communicator may be gone.
constexpr std::uint64_t old = 4096;

std::uint64_t edge_key(CommunicatorId communicator, std::int32_t peer, bool sends) {
  return std::uint64_t{communicator} << 33 | std::uint64_t{static_cast<std::uint32_t>(peer)} << 1 | (sends ? 1 : 0);
}

}  // namespace

void Microbatches::count(const Event& group) {
  ++groups_;
  const GroupSummary& s = group.summary;
  if (s.sends > 1 && s.receives > 1) return;  // all to all: it has nothing to do with the pipeline
  if (s.sends != 0) transfer(edge_key(group.communicator, s.send_peer, true));
  if (s.receives != 0) transfer(edge_key(group.communicator, s.receive_peer, false));
}

void Microbatches::transfer(std::uint64_t key) {
  const std::size_t place = place_of(key);
  Edge& edge = edges_[place];
  if (edge.key != key) edge = {key, 0, 0};
  ++edge.count;
  edge.used = groups_;
  const Edge& leader = edges_[leader_];
  if (place != leader_ && edge.count <= leader.count && groups_ - leader.used <= old) return;
  leader_ = place;
  ++passed_;
}

// Where it is, or of the one that was not used for longest.
std::size_t Microbatches::place_of(std::uint64_t key) const {
  std::size_t place = 0;
  for (std::size_t i = 0; i < edges_.size(); ++i) {
    if (edges_[i].used != 0 && edges_[i].key == key) return i;
    if (edges_[i].used < edges_[place].used) place = i;
  }
  return place;
}

}  // namespace weft
