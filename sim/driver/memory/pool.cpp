// A pool for stream-ordered allocation; see pool.h for threads and locks.
#include "memory/pool.h"

#include <algorithm>
#include <iterator>

#include "engine/objects.h"
#include "memory/pages.h"

namespace simgpu {
namespace {

// A chunk that is smaller than usual is still whole pieces of physical memory.
constexpr std::size_t chunk_granularity = constants::virtual_granularity;

}  // namespace

Pool::~Pool() {
  for (const auto& [base, size] : chunks_) {
    release_pages(reinterpret_cast<void*>(base), size);
    device_.memory.give_back(size);
  }
}

Pool::Blocks::iterator Pool::best_fit(std::size_t size, std::uint64_t stream) {
  auto best = blocks_.end();
  for (auto block = blocks_.begin(); block != blocks_.end(); ++block) {
    if (!block->second.free || block->second.size < size) continue;
    const bool ready = block->second.pending == 0;
    // A free of this stream comes before this allocation in stream order; a free of another one must have happened.
    if (!ready && block->second.stream != stream) continue;
    if (best == blocks_.end() || block->second.size < best->second.size) best = block;
  }
  return best;
}

void* Pool::take(std::size_t size, std::uint64_t stream) {
  size = round_up(size, constants::pool_block_granularity);
  const std::lock_guard lock(mutex_);
  const auto block = best_fit(size, stream);
  if (block == blocks_.end()) return nullptr;
  Block& taken = block->second;
  if (taken.size > size) {
    Block rest = taken;
    rest.size -= size;
    blocks_.emplace_hint(std::next(block), block->first + size, rest);
    taken.size = size;
  }
  taken.free = false;
  taken.pending = 0;
  usage_.used += size;
  usage_.used_high = std::max(usage_.used_high, usage_.used);
  return reinterpret_cast<void*>(block->first);
}

bool Pool::grow(std::size_t size) {
  const std::lock_guard lock(mutex_);
  const std::size_t least = round_up(size, chunk_granularity);
  if (least < size) return false;
  for (const std::size_t chunk : {std::max(least, constants::pool_chunk), least}) {
    if (limit_ != 0 && chunk > limit_ - std::min<std::size_t>(limit_, usage_.reserved)) continue;
    if (!device_.memory.take(chunk)) continue;
    void* const pages = map_pages(chunk, chunk_granularity);
    if (pages == nullptr) {
      device_.memory.give_back(chunk);
      return false;
    }
    const auto base = reinterpret_cast<std::uintptr_t>(pages);
    chunks_.emplace(base, chunk);
    blocks_.emplace(base, Block{chunk, base});
    usage_.reserved += chunk;
    usage_.reserved_high = std::max(usage_.reserved_high, usage_.reserved);
    return true;
  }
  return false;
}

Pool::PendingFree Pool::begin_free(void* block, std::uint64_t stream) {
  const std::lock_guard lock(mutex_);
  const auto base = reinterpret_cast<std::uintptr_t>(block);
  Block& freed = blocks_.at(base);
  freed.free = true;
  freed.pending = next_number_++;
  freed.stream = stream;
  usage_.used -= freed.size;
  return {base, freed.size, freed.pending};
}

void Pool::finish_free(const PendingFree& pending) {
  const std::lock_guard lock(mutex_);
  // The stream may have reused the block, whole or in pieces, before its free happened; each piece carries the number.
  for (auto piece = blocks_.lower_bound(pending.block);
       piece != blocks_.end() && piece->first < pending.block + pending.size;) {
    const std::uintptr_t base = piece->first;
    if (piece->second.free && piece->second.pending == pending.number) {
      piece->second.pending = 0;
      merge(piece);
    }
    piece = blocks_.upper_bound(base);
  }
  if (doomed_) trim_locked(0);
}

void Pool::merge(Blocks::iterator block) {
  const auto joins = [](Blocks::iterator left, Blocks::iterator right) {
    return left->second.free && right->second.free && left->second.pending == 0 && right->second.pending == 0 &&
           left->second.chunk == right->second.chunk;
  };
  const auto next = std::next(block);
  if (next != blocks_.end() && joins(block, next)) {
    block->second.size += next->second.size;
    blocks_.erase(next);
  }
  if (block == blocks_.begin()) return;
  const auto before = std::prev(block);
  if (!joins(before, block)) return;
  before->second.size += block->second.size;
  blocks_.erase(block);
}

void Pool::trim(std::size_t keep) {
  const std::lock_guard lock(mutex_);
  trim_locked(keep);
}

void Pool::trim_locked(std::size_t keep) {
  for (auto chunk = chunks_.begin(); chunk != chunks_.end() && usage_.reserved > keep;) {
    const auto block = blocks_.find(chunk->first);
    const bool whole = block->second.free && block->second.pending == 0 && block->second.size == chunk->second;
    if (!whole || usage_.reserved - chunk->second < keep) {
      ++chunk;
      continue;
    }
    release_pages(reinterpret_cast<void*>(chunk->first), chunk->second);
    device_.memory.give_back(chunk->second);
    usage_.reserved -= chunk->second;
    blocks_.erase(block);
    chunk = chunks_.erase(chunk);
  }
}

void Pool::doom() {
  const std::lock_guard lock(mutex_);
  doomed_ = true;
  trim_locked(0);
}

Pool::Usage Pool::usage() const {
  const std::lock_guard lock(mutex_);
  return usage_;
}

void Pool::reset_high_marks(bool reserved, bool used) {
  const std::lock_guard lock(mutex_);
  if (reserved) usage_.reserved_high = usage_.reserved;
  if (used) usage_.used_high = usage_.used;
}

std::uint64_t Pool::release_threshold() const {
  const std::lock_guard lock(mutex_);
  return release_threshold_;
}

void Pool::set_release_threshold(std::uint64_t bytes) {
  const std::lock_guard lock(mutex_);
  release_threshold_ = bytes;
}

Pool::Reuse Pool::reuse() const {
  const std::lock_guard lock(mutex_);
  return reuse_;
}

void Pool::set_reuse(Reuse reuse) {
  const std::lock_guard lock(mutex_);
  reuse_ = reuse;
}

}  // namespace simgpu
