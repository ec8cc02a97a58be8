// See the header.
#include "trace/clocks/pair_blocks.h"

#include <algorithm>
#include <chrono>
#include <span>
#include <utility>

namespace weft {
namespace {

constexpr std::size_t fewest_bounds = 12;  // of each kind, in a block
constexpr std::size_t most_blocks = 256;
// Of a trace that was tampered with all bounds may contradict each other.
constexpr std::size_t most_cut_blocks = 1024;
// No shorter time is a gap, and none that is not longer than so many usual blocks.
constexpr Duration shortest_gap = std::chrono::seconds(1);
constexpr int usual_blocks_in_gap = 2;

class Cutter {
 public:
  explicit Cutter(const PairBounds& bounds) : most_(bounds.most()), least_(bounds.least()) {}

  std::vector<PairBlock> blocks() {
    cut(Duration::max());
    const Duration gap = std::max(shortest_gap, usual_blocks_in_gap * usual_length());
    if (longest_gap_ > gap) cut(gap);
    cut_contradictions();
    return std::move(blocks_);
  }

 private:
  // Each block has as much time as it needs for its bounds, and not less than a part of the whole.
  void cut(Duration gap) {
    const TimePoint first = std::min(most_.front().time, least_.front().time);
    const TimePoint last = std::max(most_.back().time, least_.back().time);
    const Duration shortest = (last - first) / static_cast<std::int64_t>(most_blocks);
    blocks_.clear();
    open_ = PairBlock();
    open_.begin = first;
    one_ = other_ = 0;
    for (TimePoint before = first; one_ < most_.size() || other_ < least_.size();) {
      const bool takes_most =
          other_ == least_.size() || (one_ < most_.size() && most_[one_].time <= least_[other_].time);
      const TimePoint time = takes_most ? most_[one_].time : least_[other_].time;
      longest_gap_ = std::max(longest_gap_, time - before);
      if (time - before > gap)
        leave_gap(before, time);
      else if (is_full() && time - open_.begin >= shortest && time > open_.begin)
        close(time);
      ++(takes_most ? one_ : other_);
      before = time;
    }
    if (blocks_.empty() || is_full())
      close(last);
    else
      give_to_last(last);
  }

  bool is_full() const {
    return one_ - open_.most.begin >= fewest_bounds && other_ - open_.least.begin >= fewest_bounds;
  }

  void close(TimePoint end) {
    open_.most.end = one_;
    open_.least.end = other_;
    open_.end = end;
    blocks_.push_back(open_);
    open_ = PairBlock();
    open_.most = {one_, one_};
    open_.least = {other_, other_};
    open_.begin = open_.end = end;
  }

  // Bounds that are too few for a block go to the one before them, across the gap if there is one: it does not count
  // then.
  void give_to_last(TimePoint end) {
    if (blocks_.back().is_gap()) blocks_.pop_back();
    open_.most.begin = blocks_.back().most.begin;
    open_.least.begin = blocks_.back().least.begin;
    open_.begin = blocks_.back().begin;
    blocks_.pop_back();
    close(end);
  }

  void leave_gap(TimePoint begin, TimePoint end) {
    if (is_full())
      close(begin);
    else if (!blocks_.empty())
      give_to_last(begin);
    else
      return;
    close(end);
  }

  Duration usual_length() const {
    std::vector<Duration> lengths;
    for (const PairBlock& block : blocks_) lengths.push_back(block.end - block.begin);
    const auto middle = lengths.begin() + static_cast<std::ptrdiff_t>(lengths.size() / 2);
    std::ranges::nth_element(lengths, middle);
    return *middle;
  }

  void cut_contradictions() {
    std::vector<PairBlock> blocks;
    std::vector<PairBlock> open(blocks_.rbegin(), blocks_.rend());
    while (!open.empty()) {
      const PairBlock block = open.back();
      open.pop_back();
      if (block.is_gap()) {
        blocks.push_back(block);
        continue;
      }
      const bool can_be_cut =
          block.most.size() > 1 && block.least.size() > 1 && blocks.size() + open.size() < most_cut_blocks;
      const auto rate = steady_rate(std::span(most_).subspan(block.most.begin, block.most.size()),
                                    std::span(least_).subspan(block.least.begin, block.least.size()));
      if (!can_be_cut || rate) {
        blocks.push_back(block);
        if (rate) blocks.back().room = rate->width;
        continue;
      }
      const auto [left, right] = halves(block);
      open.push_back(right);
      open.push_back(left);
    }
    blocks_ = std::move(blocks);
  }

  // Both have bounds of each kind.
  std::pair<PairBlock, PairBlock> halves(const PairBlock& block) const {
    const auto middle = [](const BoundRange& range) { return range.begin + range.size() / 2; };
    const TimePoint time = std::max(most_[middle(block.most)].time, least_[middle(block.least)].time);
    const auto cut = [&](const std::vector<ClockBound>& bounds, const BoundRange& range) {
      std::size_t place = range.begin + 1;
      while (place + 1 < range.end && bounds[place].time < time) ++place;
      return place;
    };
    PairBlock left = block, right = block;
    left.most.end = right.most.begin = cut(most_, block.most);
    left.least.end = right.least.begin = cut(least_, block.least);
    left.end = right.begin = std::clamp(time, block.begin, block.end);
    return {left, right};
  }

  const std::vector<ClockBound>&most_, &least_;
  std::vector<PairBlock> blocks_;
  PairBlock open_;
  std::size_t one_ = 0, other_ = 0;  // bounds of each kind that blocks have, or the open one
  Duration longest_gap_{};
};

}  // namespace

std::vector<PairBlock> pair_blocks(const PairBounds& bounds) {
  return Cutter(bounds).blocks();
}

}  // namespace weft
