// Placement of thread blocks; see multiprocessors.h.
#include "engine/multiprocessors.h"

#include <algorithm>
#include <numeric>

namespace simgpu {
namespace {

constexpr uint32_t warp_size = 32;

uint32_t round_to(uint32_t value, uint32_t multiple) {
  return (value + multiple - 1) / multiple * multiple;
}

}  // namespace

BlockNeeds BlockNeeds::of(uint32_t threads, uint32_t registers_per_thread, uint32_t shared_bytes) {
  const uint32_t warps = std::max(1U, (threads + warp_size - 1) / warp_size);
  return {warps * warp_size, warps * round_to(registers_per_thread * warp_size, constants::register_granularity),
          round_to(shared_bytes + static_cast<uint32_t>(constants::reserved_shared_per_block),
                   static_cast<uint32_t>(constants::shared_granularity))};
}

uint32_t resident_blocks(const BlockNeeds& needs) {
  return std::min({constants::blocks_per_multiprocessor, constants::threads_per_multiprocessor / needs.threads,
                   constants::registers_per_multiprocessor / std::max(1U, needs.registers),
                   static_cast<uint32_t>(constants::shared_per_multiprocessor) / std::max(1U, needs.shared_bytes)});
}

Multiprocessors::Multiprocessors(unsigned count) : all_(count) {}

uint32_t Multiprocessors::fit(const Free& free, const BlockNeeds& needs) {
  return std::min({free.blocks, free.threads / needs.threads, free.registers / std::max(1U, needs.registers),
                   free.shared_bytes / std::max(1U, needs.shared_bytes)});
}

void Multiprocessors::take(Free& free, const BlockNeeds& needs, uint32_t blocks) {
  free.threads -= needs.threads * blocks;
  free.registers -= needs.registers * blocks;
  free.shared_bytes -= needs.shared_bytes * blocks;
  free.blocks -= blocks;
}

unsigned Multiprocessors::end_of(const SmShare& share) const {
  return share.first + std::min(share.count, count() - share.first);
}

uint64_t Multiprocessors::room(const BlockNeeds& needs, const SmShare& share) const {
  uint64_t room = 0;
  for (unsigned index = share.first; index < end_of(share); ++index) room += fit(all_[index], needs);
  return room;
}

Multiprocessors::Counts Multiprocessors::place(const BlockNeeds& needs, uint64_t blocks, const SmShare& share) {
  Counts counts(all_.size(), 0);
  std::vector<unsigned> order(end_of(share) - share.first);
  std::iota(order.begin(), order.end(), share.first);
  std::stable_sort(order.begin(), order.end(),
                   [&](unsigned a, unsigned b) { return all_[a].threads > all_[b].threads; });
  // One block per multiprocessor and round, so that a small grid spreads out.
  while (blocks > 0) {
    const uint64_t before = blocks;
    for (const unsigned index : order) {
      if (blocks == 0) break;
      if (fit(all_[index], needs) == 0) continue;
      take(all_[index], needs, 1);
      ++counts[index];
      --blocks;
    }
    if (blocks == before) break;
  }
  return counts;
}

void Multiprocessors::release(const BlockNeeds& needs, const Counts& counts) {
  for (std::size_t index = 0; index < all_.size(); ++index) {
    if (counts[index] == 0) continue;
    Free& free = all_[index];
    free.threads += needs.threads * counts[index];
    free.registers += needs.registers * counts[index];
    free.shared_bytes += needs.shared_bytes * counts[index];
    free.blocks += counts[index];
  }
}

}  // namespace simgpu
