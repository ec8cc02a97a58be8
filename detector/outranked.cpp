// Which collective gives way to which: the part of bounds.h that tells what ends a call of forward and backward from
// what ends the iteration. Called by Bounds at the end of a block, one thread; a scan of its fixed tables. Order, bytes
// and whether numbers are added up, no more. README.md has the rule.
#include <algorithm>

#include "detector/bounds.h"

namespace weft {
namespace {

constexpr std::uint64_t most_intervals = 16;  // that are summed up
// Of a block. Where there is no data parallelism, a norm is all that an iteration ends with: a log of some numbers, now
// and then, is more than that.
constexpr std::uint64_t least_gradients = 64 << 10;
// Weights that are gathered move four times as many bytes as the gradients that were scattered, at most.
constexpr std::uint64_t bytes_for_each_reduced = 4;

}  // namespace

void Bounds::add_share(Recurring& kind) const {
  Share& share = kind.share;
  if (kind.seen == 2) share = {.moved_before = share.moved_before, .gradients_before = share.gradients_before};
  if (share.intervals == most_intervals)
    for (std::uint64_t* sum :
         {&share.intervals, &share.microbatches, &share.own_bytes, &share.other_bytes, &share.alone})
      *sum /= 2;
  ++share.intervals;
  share.microbatches += kind.seen == 1 ? kind.microbatch : kind.latest;
  // Weights that are gathered seldomer than gradients are added up are none of a step's.
  share.own_bytes += kind.reduces ? gradients() : reduced_bytes_;
  share.other_bytes += gradients_ - share.gradients_before;
  share.alone += kind.first && moved_ == share.moved_before ? 1 : 0;
  const bool counts = block_microbatch_ != 0;
  share.moved_before = moved_ + (counts ? outside_bytes_ : 0);
  share.gradients_before = gradients_ + (counts ? gradients() : 0);
}

// Of the present block, with the weights. Whatever is gathered where little or nothing is added up is a checkpoint, or
// weights for another program.
std::uint64_t Bounds::gradients() const {
  return std::min(outside_bytes_, bytes_for_each_reduced * reduced_bytes_);
}

bool Bounds::are_several(std::uint32_t groups) const {
  return known() && bound_->reduces && is_large(bound_->share) && latest_length() != 0 &&
         3 * latest_length() <= 2 * std::uint64_t{groups};
}

bool Bounds::have_gradients() const {
  return std::any_of(kinds_.begin(), kinds_.end(),
                     [this](const Recurring& kind) { return is_present(kind) && is_large(kind.share); });
}

// As gradients are, on average.
bool Bounds::is_large(const Share& share) {
  return share.own_bytes >= least_gradients * share.intervals;
}

// It was not away for more than two of its intervals.
bool Bounds::is_present(const Recurring& kind) const {
  const Share& share = kind.share;
  return share.intervals != 0 && (microbatches_.passed() - kind.microbatch) * share.intervals <= 2 * share.microbatches;
}

// Its blocks move more than a log or a norm does, and as much as all others between them together. Most of a row of
// evaluations have no others between them.
bool Bounds::carries_most(const Recurring& kind) {
  const Share& share = kind.share;
  return is_large(share) && share.own_bytes >= share.other_bytes + (kind.reduces ? 0 : 1) &&
         4 * share.alone <= share.intervals && (kind.seen == 1 || mostly(kind.two, kind.seen)) &&
         !within_microbatches(kind.communicator);
}

// Another one carries most and comes seldomer: what ends each of several calls of an iteration gives way to what ends
// the iteration. A step that is skipped now and then makes it a little seldomer only.
bool Bounds::outranked(const Recurring& kind) {
  return std::any_of(kinds_.begin(), kinds_.end(), [&](const Recurring& other) {
    return 2 * other.share.microbatches * kind.share.intervals >= 3 * kind.share.microbatches * other.share.intervals &&
           is_present(other) && carries_most(other);
  });
}

// The shortest of the latest distances counts: evaluations and skipped steps lengthen some.
void Bounds::expect_longest() {
  longest_ = nullptr;
  longest_groups_ = 0;
  for (const Recurring& kind : kinds_) {
    if (!is_present(kind) || !carries_most(kind)) continue;
    const Beginnings& b = kind.beginnings;
    std::uint64_t shortest = b.size() == 1 ? b.latest() + 1 - first_transfer_ : b.latest();
    for (std::size_t i = 1; i < b.size(); ++i) shortest = std::min(shortest, b[i] - b[i - 1]);
    if (shortest <= longest_groups_) continue;
    longest_ = &kind;
    longest_groups_ = shortest;
  }
}

bool Bounds::are_part(std::uint32_t groups) const {
  return longest_ != nullptr && 3 * std::uint64_t{groups} <= 2 * longest_groups_ && is_present(*longest_);
}

}  // namespace weft
