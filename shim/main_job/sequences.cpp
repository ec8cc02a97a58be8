// Counters of operations; see sequences.h.
#include "shim/main_job/sequences.h"

#include "shim/tables/handle_table.h"

namespace weft {
namespace {

constexpr std::uint32_t most_edges = 16384;

// From this rank to a peer, or from a peer to this rank, on one communicator.
struct Edge {
  std::atomic<std::uint64_t> key;
  std::atomic<std::uint64_t> operations;
};
using Table = HandleTable<Edge, most_edges>;
constinit Table edges{};

std::uint64_t key_of(CommunicatorId communicator, Operation kind, int peer) noexcept {
  const std::uint64_t direction = kind == Operation::receive ? 1 : 0;
  return std::uint64_t{communicator} << 32 | static_cast<std::uint64_t>(peer) << 1 | direction;
}

std::uint64_t counted(std::atomic<std::uint64_t>& counter) noexcept {
  const std::uint64_t next = counter.load(std::memory_order_relaxed) + 1;
  counter.store(next, std::memory_order_relaxed);
  return next;
}

}  // namespace

constinit std::atomic<bool> operations_are_noted{false};

void set_operations_noted(bool noted) noexcept {
  operations_are_noted.store(noted, std::memory_order_relaxed);
}

std::uint64_t next_in_sequence(Sequences& sequences, CommunicatorId communicator, Operation kind, int peer) noexcept {
  if (sequences.lost.load(std::memory_order_relaxed)) return 0;
  if (kind == Operation::put || kind == Operation::wait_signals) return 0;
  if (kind != Operation::send && kind != Operation::receive) return counted(sequences.collectives);
  if (peer < 0) return 0;
  if (Edge* edge = edges.claim(key_of(communicator, kind, peer))) return counted(edge->operations);
  lose_sequences(sequences);
  return 0;
}

void forget_sequences(Sequences& sequences, CommunicatorId communicator) noexcept {
  sequences.collectives.store(0, std::memory_order_relaxed);
  sequences.lost.store(false, std::memory_order_relaxed);
  for (Edge& edge : edges.entries) {
    const std::uint64_t key = edge.key.load(std::memory_order_relaxed);
    if (key == Table::released || key >> 32 != communicator) continue;
    edge.operations.store(0, std::memory_order_relaxed);
    Table::release(edge);
  }
}

}  // namespace weft
