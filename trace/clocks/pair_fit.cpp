// Blocks, then spans of blocks that keep a rate, then knots; see the header.
#include "trace/clocks/pair_fit.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>
#include <utility>

#include "detector/median.h"
#include "trace/clocks/pair_blocks.h"
#include "trace/clocks/steady_rate.h"
#include "trace/nanoseconds.h"

namespace weft {
namespace {

// Of a trace that was tampered with all bounds may contradict each other.
constexpr std::size_t most_looked_beside = 64;
constexpr std::size_t fewest_knots = 32;
// Farther apart the rates of two clocks are not as a rule.
constexpr double usual_rate = 2e-4;

// Blocks from `first` on, before `end`, that together allow a steady rate. Nothing: not even the first one does.
struct Span {
  std::size_t first = 0, end = 0;
  std::optional<SteadyRate> rate;
};

struct Interval {
  Duration low = Duration::max(), high = Duration::min();
  // False: the other one is empty.
  bool widen_to(const Interval& other) {
    low = std::min(low, other.low);
    high = std::max(high, other.high);
    return !other.is_empty();
  }
  bool is_empty() const { return low > high; }
};

Duration rounded(double value) {
  const auto most = static_cast<double>(farthest_time.count());
  return Duration(std::llround(std::clamp(value, -most, most)));
}

class Fitter {
 public:
  explicit Fitter(const PairBounds& bounds)
      : most_(bounds.most()), least_(bounds.least()), blocks_(pair_blocks(bounds)) {}

  PairFit fit() {
    find_spans();
    set_rates();
    PairFit result;
    result.first = blocks_.front().begin;
    result.last = blocks_.back().end;
    add_rates(result);
    add_breaks(result);
    result.offset = offset(result);
    return result;
  }

 private:
  std::span<const ClockBound> most(const BoundRange& part) const {
    return std::span(most_).subspan(part.begin, part.end - part.begin);
  }
  std::span<const ClockBound> least(const BoundRange& part) const {
    return std::span(least_).subspan(part.begin, part.end - part.begin);
  }

  std::optional<SteadyRate> rate_of(std::size_t first, std::size_t end) const {
    return steady_rate(most({blocks_[first].most.begin, blocks_[end - 1].most.end}),
                       least({blocks_[first].least.begin, blocks_[end - 1].least.end}));
  }

  // As long as can be, one after the other, none across a gap: what a clock did there says nothing of its rate.
  void find_spans() {
    for (std::size_t first = 0; first < blocks_.size(); first = spans_.back().end) {
      if (blocks_[first].is_gap()) ++first;
      const auto gap = std::find_if(blocks_.begin() + static_cast<std::ptrdiff_t>(first), blocks_.end(),
                                    [](const PairBlock& block) { return block.is_gap(); });
      const auto last = static_cast<std::size_t>(gap - blocks_.begin());
      Span span{first, first + 1, rate_of(first, first + 1)};
      std::size_t without = last + 1;  // an end with which there is none
      for (std::size_t step = last - first; span.rate && span.end + 1 < without;) {
        const std::size_t end = std::min(span.end + std::max<std::size_t>(step, 1), without - 1);
        if (const auto rate = rate_of(first, end))
          span.end = end, span.rate = rate;
        else
          without = end;
        step = (without - span.end) / 2;
      }
      spans_.push_back(span);
    }
  }

  // Rates of a span are not known better than its length and the room of its blocks allow, though few lines may be
  // left.
  void set_rates() {
    room_ = usual_room();
    for (const Span& span : spans_) {
      if (!span.rate) continue;
      const double length = std::max(nanoseconds(blocks_[span.end - 1].end - blocks_[span.first].begin), 1.0);
      const double middle = (span.rate->low + span.rate->high) / 2;
      const double half =
          std::max((span.rate->high - span.rate->low) / 2, std::min(room_ / length, usual_rate)) + wander;
      for (std::size_t index = span.first; index < span.end; ++index) {
        blocks_[index].low = middle - half;
        blocks_[index].high = middle + half;
      }
    }
  }

  double usual_room() const {
    std::vector<double> rooms;
    for (const PairBlock& block : blocks_)
      if (block.room) rooms.push_back(*block.room);
    return median(std::move(rooms));
  }

  // Over the spans, by their lengths.
  void add_rates(PairFit& result) const {
    double length = 0, sum = 0, half = 0;
    bool is_first = true;
    for (const Span& span : spans_) {
      if (!span.rate) continue;
      const PairBlock& block = blocks_[span.first];
      const double own = std::max(nanoseconds(blocks_[span.end - 1].end - block.begin), 1.0);
      const double middle = (block.low + block.high) / 2;
      length += own;
      sum += own * middle;
      half += own * (block.high - block.low) / 2;
      result.least_rate = is_first ? middle : std::min(result.least_rate, middle);
      result.most_rate = is_first ? middle : std::max(result.most_rate, middle);
      is_first = false;
    }
    result.rate = length > 0 ? sum / length : 0;
    // Before and behind this time the rate may be that of any part.
    const double apart = std::max(result.most_rate - result.rate, result.rate - result.least_rate);
    result.rate_within = length > 0 ? half / length + apart : most_rate;
  }

  // As the bounds of a block allow it at a time, also of another block: the highest and lowest offset, which are the
  // wrong way round where the bounds contradict each other.
  Interval allowed(const PairBlock& block, TimePoint time) const {
    double high = std::numeric_limits<double>::max(), low = std::numeric_limits<double>::lowest();
    const Duration from = most_.front().ahead;
    for (const ClockBound& bound : most(block.most)) {
      const double beyond = nanoseconds(time - bound.time);
      high = std::min(high, nanoseconds(bound.ahead - from) + (beyond > 0 ? block.high : block.low) * beyond);
    }
    for (const ClockBound& bound : least(block.least)) {
      const double beyond = nanoseconds(time - bound.time);
      low = std::max(low, nanoseconds(bound.ahead - from) + (beyond > 0 ? block.low : block.high) * beyond);
    }
    return {from + rounded(std::floor(low)), from + rounded(std::ceil(high))};
  }

  // Of a gap too it is empty.
  Interval interval(const PairBlock& block, TimePoint time) const {
    if (block.is_gap()) return {};
    const Interval found = allowed(block, time);
    return found.is_empty() ? Interval{} : found;
  }

  // The truth was on one side of it, and then on the other one.
  Interval contradicting(const PairBlock& block, TimePoint time) const {
    const Interval found = allowed(block, time);
    return {found.high - rounded(room_), found.low + rounded(room_)};
  }

  // With the blocks beside it whose bounds do not contradict each other. Of a gap it is these alone.
  Interval around(std::size_t index, TimePoint time) const {
    Interval all = interval(blocks_[index], time);
    if (all.is_empty() && !blocks_[index].is_gap()) all = contradicting(blocks_[index], time);
    const std::size_t last = std::min(index + most_looked_beside, blocks_.size() - 1);
    for (std::size_t beside = 1; beside <= std::min(index, most_looked_beside); ++beside)
      if (all.widen_to(interval(blocks_[index - beside], time))) break;
    for (std::size_t beside = index + 1; beside <= last; ++beside)
      if (all.widen_to(interval(blocks_[beside], time))) break;
    return all;
  }

  // Drift may explain all that is different behind it.
  bool agree_across(const PairBlock& gap, const Span& before, const Span& behind) const {
    const auto overlap = [&](TimePoint time) {
      const Interval left = interval(blocks_[before.end - 1], time), right = interval(blocks_[behind.first], time);
      return left.is_empty() || right.is_empty() || (left.low <= right.high && right.low <= left.high);
    };
    return overlap(gap.begin) && overlap(gap.end);
  }

  // Of spans that follow each other: where each one's rate leads to.
  void add_breaks(PairFit& result) const {
    const Span* before = nullptr;
    for (const Span& span : spans_) {
      if (!span.rate) {
        ++result.contradictions;
        continue;
      }
      if (before != nullptr) {
        const TimePoint time = blocks_[span.first].begin;
        if (blocks_[before->end].is_gap() && agree_across(blocks_[before->end], *before, span)) {
          before = &span;
          continue;
        }
        const Interval left = interval(blocks_[before->end - 1], time), right = interval(blocks_[span.first], time);
        if (!left.is_empty() && !right.is_empty())
          result.breaks.push_back(
              {time, (right.low + (right.high - right.low) / 2) - (left.low + (left.high - left.low) / 2)});
      }
      before = &span;
    }
  }

  // Between two knots the rate may change, and the offset leave the straight line. Where the sides of a gap may lead to
  // lies inside of straight lines.
  Duration bend(const PairBlock& block, std::size_t cells) const {
    if (block.is_gap()) return Duration(1);
    return rounded((block.high - block.low) * nanoseconds(block.end - block.begin) / static_cast<double>(4 * cells)) +
           Duration(1);
  }

  // At the begin of a block also what the one before it says.
  ClockOffset::Knot knot(std::size_t index, std::size_t cell, std::size_t cells) const {
    const PairBlock& block = blocks_[index];
    const Duration length = block.end - block.begin;
    const TimePoint time = block.begin + length / static_cast<std::int64_t>(cells) * static_cast<std::int64_t>(cell);
    Interval all = around(index, cell == cells ? block.end : time);
    Duration bent = bend(block, cells);
    if (cell == 0 && index > 0) {
      all.widen_to(around(index - 1, time));
      bent = std::max(bent, bend(blocks_[index - 1], cells));
    }
    const Duration half = (all.high - all.low) / 2;
    return {cell == cells ? block.end : time, all.low + half, half + Duration(1) + bent};
  }

  ClockOffset offset(const PairFit& result) const {
    const std::size_t cells = std::max<std::size_t>(1, fewest_knots / blocks_.size());
    std::vector<ClockOffset::Knot> knots;
    for (std::size_t index = 0; index < blocks_.size(); ++index)
      for (std::size_t cell = 0; cell < cells; ++cell) knots.push_back(knot(index, cell, cells));
    knots.push_back(knot(blocks_.size() - 1, cells, cells));
    return {std::move(knots), result.rate, result.rate_within};
  }

  const std::vector<ClockBound>&most_, &least_;
  std::vector<PairBlock> blocks_;
  std::vector<Span> spans_;
  double room_ = 0;  // nanoseconds, that the bounds of a block leave
};

}  // namespace

std::optional<PairFit> fit_pair(const PairBounds& bounds) {
  if (bounds.most().empty() || bounds.least().empty()) return std::nullopt;
  PairFit fit = Fitter(bounds).fit();
  fit.messages = bounds.messages();
  fit.collectives = bounds.collectives();
  return fit;
}

}  // namespace weft
