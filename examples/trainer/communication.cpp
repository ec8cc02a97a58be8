// See communication.h.
#include "communication.h"

#include <cstring>

#include "memory.h"

namespace trainer {
namespace {

ncclUniqueId id_at(const std::vector<std::byte>& ids, std::size_t number) {
  ncclUniqueId id;
  std::memcpy(&id, ids.data() + number * sizeof id, sizeof id);
  return id;
}

std::vector<std::byte> make_ids(std::size_t count) {
  std::vector<std::byte> ids(count * sizeof(ncclUniqueId));
  for (std::size_t i = 0; i < count; ++i) {
    ncclUniqueId id;
    CHECK(ncclGetUniqueId(&id));
    std::memcpy(ids.data() + i * sizeof id, &id, sizeof id);
  }
  return ids;
}

// The lane of an edge in one direction, seen from one of its ends.
Lane lane_of(Direction direction, bool sender) {
  if (direction == Direction::forward) return sender ? Lane::forward_out : Lane::forward_in;
  return sender ? Lane::backward_out : Lane::backward_in;
}

}  // namespace

Communication::Communication(const Place& place, WaitKind wait, bool lanes, int exchanges, cudaStream_t compute)
    : wait_(wait), compute_(compute), finished_(static_cast<std::size_t>(exchanges)), connections_(lane_count) {
  // One id for all ranks, and two per rank for its edges to the next rank: activations and gradients.
  const std::size_t count = 1 + (lanes ? 2 * static_cast<std::size_t>(place.ranks) : 0);
  const std::vector<std::byte> ids =
      share_from_rank_0(place, place.rank == 0 ? make_ids(count) : std::vector<std::byte>{});
  CHECK(ncclCommInitRank(&connection(Lane::shared).communicator, place.ranks, id_at(ids, 0), place.rank));
  if (lanes) connect_edges(place, ids);
  for (Connection& c : connections_) {
    if (c.communicator == nullptr) continue;
    if (wait_ == WaitKind::in_stream)
      c.stream = compute_;
    else
      CHECK(cudaStreamCreateWithFlags(&c.stream, cudaStreamNonBlocking));
  }
  CHECK(cudaEventCreateWithFlags(&ready_, cudaEventDisableTiming));
  for (cudaEvent_t& event : finished_) CHECK(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
  warm_up(place);
}

// NCCL connects to a peer at the first message to it, and allocates memory for that: next to a receive that waits on
// another stream this can block without end. So every pair of neighbours exchanges a number now, one pair after the
// other.
void Communication::warm_up(const Place& place) {
  const DeviceArray<float> number(2);
  const auto sync = [](cudaStream_t stream) { CHECK(cudaStreamSynchronize(stream)); };
  CHECK(cudaDeviceSynchronize());
  for (int edge = 0; edge < place.ranks; ++edge) {
    const int from = edge, to = (edge + 1) % place.ranks;
    if (from == to || (place.rank != from && place.rank != to)) continue;
    const Connection& shared = connection(Lane::shared);
    const int other = place.rank == from ? to : from;
    CHECK(ncclGroupStart());
    CHECK(ncclSend(number.data(), 1, ncclFloat, other, shared.communicator, shared.stream));
    CHECK(ncclRecv(number.data() + 1, 1, ncclFloat, other, shared.communicator, shared.stream));
    CHECK(ncclGroupEnd());
    sync(shared.stream);
    for (const Direction direction : {Direction::forward, Direction::backward}) {
      const bool sender = place.rank == (direction == Direction::forward ? from : to);
      const Connection& c = connection(lane_of(direction, sender));
      if (c.communicator == nullptr) continue;
      if (sender)
        CHECK(ncclSend(number.data(), 1, ncclFloat, 1, c.communicator, c.stream));
      else
        CHECK(ncclRecv(number.data() + 1, 1, ncclFloat, 0, c.communicator, c.stream));
      sync(c.stream);
    }
  }
  sum_over_ranks(number.data(), 1);
  sync(compute_);
}

// Edge e joins rank e to the next one. All ranks connect their edges in the order of the edges' numbers, so that no two
// wait for each other.
void Communication::connect_edges(const Place& place, const std::vector<std::byte>& ids) {
  for (int edge = 0; edge < place.ranks; ++edge) {
    const int from = edge, to = (edge + 1) % place.ranks;
    if (place.rank != from && place.rank != to) continue;
    for (const Direction direction : {Direction::forward, Direction::backward}) {
      const bool forward = direction == Direction::forward;
      const bool sender = place.rank == (forward ? from : to);
      const Lane lane =
          forward ? (sender ? Lane::forward_out : Lane::forward_in) : (sender ? Lane::backward_out : Lane::backward_in);
      Connection& c = connection(lane);
      c.edge = true;
      const auto number = static_cast<std::size_t>(1 + 2 * edge + (forward ? 0 : 1));
      CHECK(ncclCommInitRank(&c.communicator, 2, id_at(ids, number), sender ? 0 : 1));
    }
  }
}

Communication::~Communication() {
  for (Connection& c : connections_) {
    if (c.communicator == nullptr) continue;
    cudaStreamSynchronize(c.stream);
    ncclCommDestroy(c.communicator);
    if (c.stream != compute_) cudaStreamDestroy(c.stream);
  }
  cudaEventDestroy(ready_);
  for (cudaEvent_t event : finished_) cudaEventDestroy(event);
}

cudaStream_t Communication::begin(const Connection& c) {
  if (c.stream != compute_) {
    CHECK(cudaEventRecord(ready_, compute_));
    CHECK(cudaStreamWaitEvent(c.stream, ready_, 0));
  }
  return c.stream;
}

void Communication::exchange(int number, Lane lane, const std::vector<Message>& sends,
                             const std::vector<Message>& receives, int count) {
  const Connection& c = connection(lane);
  const auto floats = static_cast<std::size_t>(count);
  // On an edge the communicator has two ranks: the sender is 0, the receiver 1.
  const auto peer = [&](int rank, int on_edge) { return c.edge ? on_edge : rank; };
  const cudaStream_t stream = sends.empty() ? c.stream : begin(c);
  CHECK(ncclGroupStart());
  for (const Message& m : sends) CHECK(ncclSend(m.data, floats, ncclFloat, peer(m.peer, 1), c.communicator, stream));
  for (const Message& m : receives) CHECK(ncclRecv(m.data, floats, ncclFloat, peer(m.peer, 0), c.communicator, stream));
  CHECK(ncclGroupEnd());
  if (waits_by_event()) CHECK(cudaEventRecord(finished_[static_cast<std::size_t>(number)], stream));
}

void Communication::wait(int number) {
  if (waits_by_event()) CHECK(cudaStreamWaitEvent(compute_, finished_[static_cast<std::size_t>(number)], 0));
  if (wait_ == WaitKind::host || wait_ == WaitKind::event_and_host) CHECK(cudaDeviceSynchronize());
}

bool Communication::is_over(int number) const {
  const cudaError_t state = cudaEventQuery(finished_[static_cast<std::size_t>(number)]);
  if (state == cudaErrorNotReady) return false;
  CHECK(state);
  return true;
}

void Communication::sum_over_ranks(float* data, int count) {
  const Connection& c = connection(Lane::shared);
  const cudaStream_t stream = begin(c);
  CHECK(ncclAllReduce(data, data, static_cast<std::size_t>(count), ncclFloat, ncclSum, c.communicator, stream));
  if (stream == compute_) return;
  CHECK(cudaEventRecord(ready_, stream));
  CHECK(cudaStreamWaitEvent(compute_, ready_, 0));
}

}  // namespace trainer
