// The shape of a group: all that it does but the number of bytes. Numbers only.
//
// Used by the detector, which finds iterations by it, and by the hooks of groups, which in a dark iteration mark groups
// of one shape only. Both have to agree on it.
#pragma once

#include <cstdint>

#include "detector/event.h"

namespace weft {

// Groups that do the same but for the number of bytes have the same one. Its lowest bit: it holds collectives only.
constexpr std::uint64_t shape_of(const GroupSummary& summary, CommunicatorId communicator) noexcept {
  const auto mixed = [](std::uint64_t hash, std::uint64_t value) {
    hash = (hash ^ value) * 0xbf58476d1ce4e5b9;
    return hash ^ (hash >> 29);
  };
  std::uint64_t hash = mixed(communicator + std::uint64_t{1}, static_cast<std::uint32_t>(summary.send_peer));
  hash = mixed(hash, static_cast<std::uint32_t>(summary.receive_peer));
  hash = mixed(
      hash, (summary.sends != 0 ? 1U : 0U) | (summary.receives != 0 ? 2U : 0U) | (summary.collectives != 0 ? 4U : 0U));
  const bool collective = summary.collectives != 0 && summary.sends == 0 && summary.receives == 0;
  return (hash & ~std::uint64_t{1}) | (collective ? 1 : 0);
}

constexpr std::uint64_t shape_of(const Event& group) noexcept {
  return shape_of(group.summary, group.communicator);
}

constexpr bool is_collective(std::uint64_t shape) noexcept {
  return (shape & 1) != 0;
}

// By which a hook tells the last group of an iteration from others: collectives that move other numbers of bytes are
// others. 0: none of the program's calls issues it, as the groups in a graph.
constexpr std::uint64_t likeness_of(const GroupSummary& summary, CommunicatorId communicator) noexcept {
  if (summary.captured != Captured::none) return 0;
  const std::uint64_t shape = shape_of(summary, communicator);
  return is_collective(shape) ? summary.signature | 1 : shape;
}

}  // namespace weft
