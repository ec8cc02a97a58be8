// Bounds: the collectives of the optimizer step, found online; between two of them lies one iteration, whatever is in
// it.
//
// Fed by the detector with each issued group, in order; one thread. Constant work per group, tables of a fixed size.
// No clock: only the order counts. README.md has the rules, and when the bounds lead and when the period does.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "detector/event.h"
#include "detector/group_shape.h"
#include "detector/microbatches.h"

namespace weft {

// Beginnings of iterations, latest last: positions of the first group that is not a collective.
class Beginnings {
 public:
  void push(std::uint64_t position) { positions_[count_++ % positions_.size()] = position; }
  std::size_t size() const { return count_ < positions_.size() ? count_ : positions_.size(); }
  std::uint64_t count() const { return count_; }  // of all that there were
  std::uint64_t operator[](std::size_t i) const { return positions_[(count_ - size() + i) % positions_.size()]; }
  std::uint64_t latest() const { return (*this)[size() - 1]; }

 private:
  std::array<std::uint64_t, 8> positions_{};
  std::size_t count_ = 0;
};

class Bounds {
 public:
  Bounds();

  // Takes the next group. When it is the first one after a bound: the position of the last collective of the bound.
  std::optional<std::uint64_t> observe(const Event& group);

  // Which collective bounds the iterations; 0: none is known.
  std::uint64_t key() const { return bound_ == nullptr ? 0 : bound_->key; }
  bool known() const { return bound_ != nullptr; }
  // While one is known, of the iterations that it bounds. Also those before it was known.
  const Beginnings& beginnings() const { return bound_->beginnings; }
  // With the latest group the bound gave way to another one: what it bounded were parts of iterations, it seems.
  bool gave_way() const { return gave_way_; }
  // So many groups that repeat are but a part of an iteration, as far as is known: a collective that carries most comes
  // seldomer.
  bool are_part(std::uint32_t groups) const;
  // So many groups that repeat are several iterations, as far as is known: gradients bound shorter ones.
  bool are_several(std::uint32_t groups) const;
  // A collective that is about as large as gradients comes again and again.
  bool have_gradients() const;
  // The latest iteration, in groups; 0: there was none.
  std::uint64_t latest_length() const;

 private:
  // How often a kind came of late, and what its blocks moved beside all others: sums over its latest intervals, at most
  // sixteen. The first one counts from the beginning of the program, until there is another.
  struct Share {
    std::uint64_t intervals = 0;
    std::uint64_t microbatches = 0;
    std::uint64_t own_bytes = 0, other_bytes = 0;  // gradients in its blocks, and in those before each of them
    std::uint64_t moved_before = 0;                // with its latest block, see moved_
    std::uint64_t gradients_before = 0;            // likewise
    std::uint64_t alone = 0;  // intervals: no other collective since its block before, nor ahead of it
  };

  // A kind of collective, or a communicator, and how often it comes again. A block is a row of collectives without
  // anything in between; what occurs in a block several times counts once.
  struct Recurring {
    std::uint64_t key = 0;  // 0: free
    CommunicatorId communicator = 0;
    std::uint64_t block = 0, block_before = 0;  // in which it occurred last
    std::uint64_t microbatch = 0;               // when it did
    std::uint64_t seen = 0;                     // blocks
    std::uint8_t several = 0, two = 0;          // a bit per latest interval: so many microbatches were in it
    std::uint64_t bytes = 0;                    // of the whole latest block, see outside_bytes_
    bool reduces = false;                       // it adds numbers up
    bool first = false;                         // nothing but collectives of a microbatch ahead of it in its block
    Share share;
    std::uint64_t after = 0;                // microbatches between the block before and the latest one
    std::uint64_t latest = 0, longest = 0;  // interval, in microbatches
    Beginnings beginnings;
  };
  static constexpr std::size_t ways = 4, sets = 64, most_in_block = 16;

  void collective(const Event& group);
  bool block_ended();
  Recurring* find(std::vector<Recurring>& table, std::uint64_t key, bool insert);
  void occurred(Recurring& recurring);
  bool qualifies(const Recurring& kind);
  static bool mostly(std::uint8_t bits, std::uint64_t seen);
  bool outweighed(const Recurring& kind);
  // In outranked.cpp, but for in_microbatches() and what follows.
  void add_share(Recurring& kind) const;
  std::uint64_t gradients() const;
  bool outranked(const Recurring& kind);
  bool is_present(const Recurring& kind) const;
  static bool is_large(const Share& share);
  bool carries_most(const Recurring& kind);
  void expect_longest();
  bool in_microbatches(CommunicatorId communicator);
  bool within_microbatches(CommunicatorId communicator);
  void forget_what_ceased();

  std::vector<Recurring> kinds_;
  std::vector<Recurring> communicators_;
  Recurring* bound_ = nullptr;
  bool gave_way_ = false;
  const Recurring* longest_ = nullptr;  // the kind that carries most and comes seldomest
  std::uint64_t longest_groups_ = 0;    // between two of it, at least
  Microbatches microbatches_;
  std::uint64_t size_ = 0;            // groups so far
  std::uint64_t first_transfer_ = 0;  // its position, plus 1
  // The present block, or the latest.
  std::uint64_t block_ = 0;
  bool in_block_ = false;
  std::uint64_t outside_bytes_ = 0;     // of the present block, of its collectives that are not of a microbatch
  std::uint64_t moved_ = 0;             // the same, of all blocks that are over
  std::uint64_t reduced_bytes_ = 0;     // likewise of the present block, of its groups that add numbers up
  std::uint64_t gradients_ = 0;         // the sum of gradients() of all blocks that are over
  std::uint64_t block_microbatch_ = 0;  // when it began
  std::uint64_t block_after_ = 0;       // microbatches between the block before and this one
  std::array<Recurring*, most_in_block> in_this_block_{};
  std::size_t kinds_in_block_ = 0;
  std::uint64_t last_outside_ = 0;  // position of the latest collective that is not of a microbatch
};

}  // namespace weft
