// See bounds.h. False bounds are the danger: collectives within a microbatch come again and again, too.
#include "detector/bounds.h"

#include <algorithm>
#include <bit>
#include <utility>

namespace weft {
namespace {

// Between two bounds lie several microbatches, within one there is less than that: some frameworks send two or three
// tensors for each.
constexpr std::uint64_t several_microbatches = 4;
constexpr std::uint64_t looked_at = 8;  // the latest intervals, at most
// How many blocks it takes: when nothing speaks against it, when its communicator also sums within microbatches, and
// when iterations have less than several microbatches.
constexpr std::uint64_t enough_blocks = 3, enough_beside_others = 9, enough_of_two = 17;
constexpr std::uint64_t most_patience = 64;  // of the longest interval

std::uint64_t mixed(std::uint64_t hash, std::uint64_t value) {
  hash = (hash ^ value) * 0xbf58476d1ce4e5b9;
  return hash ^ (hash >> 29);
}

bool transfers(const GroupSummary& summary) {
  return summary.sends != 0 || summary.receives != 0;
}

std::uint64_t intervals(std::uint64_t seen) {
  return seen == 0 ? 0 : std::min(seen - 1, looked_at);
}

// Whether the bits of at least `part` of `whole` of the latest intervals are set.
bool share(std::uint8_t bits, std::uint64_t seen, unsigned part, unsigned whole) {
  const std::uint64_t all = intervals(seen);
  const auto mask = static_cast<std::uint8_t>((1U << all) - 1);
  return all != 0 && whole * static_cast<unsigned>(std::popcount(static_cast<std::uint8_t>(bits & mask))) >= part * all;
}

}  // namespace

bool Bounds::mostly(std::uint8_t bits, std::uint64_t seen) {
  return share(bits, seen, 3, 4);
}

Bounds::Bounds() : kinds_(ways * sets), communicators_(ways * sets) {}

std::optional<std::uint64_t> Bounds::observe(const Event& group) {
  ++size_;
  gave_way_ = false;
  if (!transfers(group.summary)) {
    if (group.summary.collectives != 0) collective(group);
    return std::nullopt;
  }
  if (first_transfer_ == 0) first_transfer_ = size_;
  const bool bounded = in_block_ && block_ended();
  in_block_ = false;
  microbatches_.count(group);
  forget_what_ceased();
  return bounded ? std::optional(last_outside_) : std::nullopt;
}

std::uint64_t Bounds::latest_length() const {
  if (!known() || bound_->beginnings.size() < 2) return 0;
  return bound_->beginnings.latest() - bound_->beginnings[bound_->beginnings.size() - 2];
}

void Bounds::collective(const Event& group) {
  if (!in_block_) {
    in_block_ = true;
    ++block_;
    block_after_ = microbatches_.passed() - std::exchange(block_microbatch_, microbatches_.passed());
    outside_bytes_ = reduced_bytes_ = 0;
    kinds_in_block_ = 0;
    last_outside_ = size_ - 1;
  }
  Recurring* communicator = find(communicators_, mixed(1, group.communicator), true);
  if (communicator != nullptr) occurred(*communicator);
  const std::uint64_t key = mixed(mixed(2, group.communicator), group.summary.signature);
  Recurring* kind = find(kinds_, key, kinds_in_block_ < most_in_block);
  const bool has_room = kinds_in_block_ < most_in_block;
  if (kind != nullptr && kind->block != block_ && (has_room || kind == bound_)) {
    kind->communicator = group.communicator;
    kind->reduces = group.summary.reduces != 0;
    kind->first = outside_bytes_ == 0;
    occurred(*kind);
    kinds_in_block_ += has_room ? 1 : 0;
    in_this_block_[kinds_in_block_ - 1] = kind;
  }
  // Those of the next iteration's first microbatch may follow, when nothing is received before it.
  if (within_microbatches(group.communicator) && (kind == nullptr || (kind != bound_ && !qualifies(*kind)))) return;
  last_outside_ = size_ - 1;
  outside_bytes_ += group.summary.collective_bytes;
  if (group.summary.reduces != 0) reduced_bytes_ += group.summary.collective_bytes;
}

// A kind that was not seen for longest gives way; the bound never does.
Bounds::Recurring* Bounds::find(std::vector<Recurring>& table, std::uint64_t key, bool insert) {
  Recurring* const set = &table[(key >> 32) % sets * ways];
  Recurring* oldest = nullptr;
  for (Recurring* each = set; each != set + ways; ++each) {
    if (each->key == key) return each;
    const bool in_use = each == bound_ || (each->block == block_ && each->key != 0);
    if (!in_use && (oldest == nullptr || each->block < oldest->block)) oldest = each;
  }
  if (!insert || oldest == nullptr) return nullptr;
  *oldest = {};
  oldest->key = key;
  return oldest;
}

void Bounds::occurred(Recurring& recurring) {
  if (recurring.block == block_) return;
  if (recurring.seen != 0) {
    const std::uint64_t passed = microbatches_.passed() - recurring.microbatch;
    recurring.several = static_cast<std::uint8_t>(recurring.several << 1 | (passed >= several_microbatches ? 1 : 0));
    recurring.two = static_cast<std::uint8_t>(recurring.two << 1 | (passed >= 2 ? 1 : 0));
    recurring.latest = passed;
    recurring.longest = std::max(recurring.longest, passed);
  }
  recurring.block_before = recurring.block;
  recurring.block = block_;
  recurring.microbatch = microbatches_.passed();
  ++recurring.seen;
}

// Whether most of its intervals have less than several microbatches; of the first few, one in four is enough. Sharded
// weights that are gathered in the first microbatch make half of them short.
bool Bounds::in_microbatches(CommunicatorId communicator) {
  const Recurring* found = find(communicators_, mixed(1, communicator), false);
  if (found == nullptr || found->seen < 2) return false;
  return intervals(found->seen) < several_microbatches ? !mostly(found->several, found->seen)
                                                       : !share(found->several, found->seen, 1, 2);
}

// Most of its intervals have less than two microbatches: there is no doubt.
bool Bounds::within_microbatches(CommunicatorId communicator) {
  const Recurring* found = find(communicators_, mixed(1, communicator), false);
  return found != nullptr && found->seen > 1 && !share(found->two, found->seen, 1, 2);
}

bool Bounds::qualifies(const Recurring& kind) {
  if (mostly(kind.several, kind.seen))
    return kind.seen >= (in_microbatches(kind.communicator) ? enough_beside_others : enough_blocks);
  const Recurring* communicator = find(communicators_, mixed(1, kind.communicator), false);
  return kind.seen >= enough_of_two && mostly(kind.two, kind.seen) && communicator != nullptr &&
         mostly(communicator->two, communicator->seen);
}

// Another block comes as often and moves more, or as much behind more microbatches: the gradients' is to be the bound.
// Evaluations may come in rows, with no gradients in between.
bool Bounds::outweighed(const Recurring& kind) {
  return std::any_of(kinds_.begin(), kinds_.end(), [&](const Recurring& other) {
    const bool in_between = other.block > kind.block_before;
    const bool lately = microbatches_.passed() - other.microbatch <= kind.longest;
    return other.seen > 1 && (in_between || (lately && other.seen >= kind.seen)) && other.block != block_ &&
           std::pair(other.bytes, other.after) > std::pair(kind.bytes, kind.after) && mostly(other.two, other.seen) &&
           !within_microbatches(other.communicator);
  });
}

// Returns whether the block is a bound.
bool Bounds::block_ended() {
  const std::uint64_t next = size_ - 1;
  bool bounded = false;
  for (std::size_t i = 0; i < kinds_in_block_; ++i) {
    in_this_block_[i]->bytes = outside_bytes_;
    in_this_block_[i]->after = block_after_;
    in_this_block_[i]->beginnings.push(next);
    add_share(*in_this_block_[i]);
  }
  if (block_microbatch_ != 0) {
    moved_ += outside_bytes_;
    gradients_ += gradients();
  }
  if (outside_bytes_ != 0) expect_longest();
  gave_way_ = outside_bytes_ != 0 && bound_ != nullptr && outranked(*bound_);
  if (gave_way_) bound_ = nullptr;
  for (std::size_t i = 0; i < kinds_in_block_; ++i) bounded = bounded || in_this_block_[i] == bound_;
  // The first one that qualifies: what follows in the block may be left out when a step is skipped.
  for (std::size_t i = 0; i < kinds_in_block_ && bound_ == nullptr; ++i) {
    Recurring& kind = *in_this_block_[i];
    if (!qualifies(kind) || outweighed(kind) || outranked(kind)) continue;
    bound_ = &kind;
    bounded = true;
  }
  return bounded;
}

// The longer it has been the bound, the longer may it stay away: an evaluation phase does not end it.
void Bounds::forget_what_ceased() {
  if (bound_ == nullptr) return;
  const std::uint64_t patience =
      std::min(bound_->seen, most_patience) * std::max(bound_->longest, several_microbatches);
  if (microbatches_.passed() - bound_->microbatch <= patience) return;
  *bound_ = {};
  bound_ = nullptr;
}

}  // namespace weft
