// See iterations.h.
#include "detector/iterations.h"

#include <algorithm>
#include <bit>
#include <unordered_map>

#include "detector/dcheck.h"

namespace weft {

Iterations::Iterations(std::size_t longest_period)
    : entries_(std::bit_ceil(2 * longest_period + 2)), most_slots_(longest_period), phases_(longest_period) {}

std::optional<Iteration> Iterations::group_issued(const Rhythm& rhythm, const Bounds& bounds, TimePoint issued,
                                                  const Event& group, std::optional<std::uint64_t> over) {
  const std::uint64_t shape = shape_of(group);
  while (length() != 0 && entries_.size() >= enough()) entries_.pop();
  entries_.push({issued, TimePoint{}, false, shape, likeness_of(group.summary, group.communicator), {}});
  ++size_;
  const bool marked = period_ != 0 && bounds.latest_length() == period_;
  sure_ = rhythm.sure() || (rhythm.period() != 0 && (sure_ || marked));
  sure_ = sure_ && !bounds.are_part(rhythm.period()) && !bounds.are_several(rhythm.period());
  if (!bounded_ || (said_ && !said_runs_)) return std::nullopt;
  std::optional<Iteration> ended;
  if (over && !said_) ended = next_begins(*over);
  entry(size_ - 1)->slot = phases_.next(shape);
  return ended;
}

Iterations::Entry* Iterations::entry(std::uint64_t position) {
  if (position >= size_ || size_ - position > entries_.size()) return nullptr;
  return &entries_[entries_.size() - static_cast<std::size_t>(size_ - position)];
}

// Time from the issue of this group to that of the next one.
Duration Iterations::gap_after(std::uint64_t position) {
  const Entry* before = entry(position);
  const Entry* after = entry(position + 1);
  return before == nullptr || after == nullptr ? Duration{} : after->issued - before->issued;
}

// Position in the last-but-one period at which an iteration begins.
std::uint64_t Iterations::choose_beginning(const Rhythm& rhythm, const Bounds& bounds) {
  const std::uint64_t end = size_ - period_;
  const std::uint64_t first = end - period_;
  std::unordered_map<std::uint64_t, std::uint32_t> count;
  for (std::uint64_t i = first; i < end; ++i) ++count[rhythm.signature(i)];
  std::optional<std::uint64_t> after_collective;
  std::uint64_t after_gap = first;
  Duration collective_gap{}, longest_gap{};
  for (std::uint64_t i = first; i < end; ++i) {
    const Duration gap = gap_after(i) + gap_after(i + period_);
    if (gap > longest_gap) {
      longest_gap = gap;
      after_gap = i + 1;
    }
    const bool once = rhythm.is_collective(i) && count[rhythm.signature(i)] == 1;
    if (!once || (after_collective && gap < collective_gap)) continue;
    collective_gap = gap;
    after_collective = i + 1;
  }
  if (after_collective) return *after_collective;
  if (bounds.latest_length() == period_) return bounds.beginnings().latest();
  return longest_gap > Duration{} ? after_gap : run_begin_;
}

void Iterations::rhythm_found(const Rhythm& rhythm, const Bounds& bounds) {
  period_ = rhythm.period();
  WEFT_DCHECK(period_ != 0 && size_ >= 2 * period_);
  run_begin_ = rhythm.run_begin();
  const std::uint64_t phase = choose_beginning(rhythm, bounds) % period_;
  base_ = size_ - (size_ + period_ - phase) % period_;
  key_ = rhythm.content();
  // From the beginning on: two rhythms of the same content must not differ in where they begin.
  for (std::uint64_t i = base_ - period_; i < base_; ++i) key_ = key_ * 0x9e3779b97f4a7c15 + rhythm.signature(i) + 1;
  start_at(base_);
}

// The first iteration begins when what was issued before it is over: that may be known already.
void Iterations::start_at(std::uint64_t position) {
  entries_.reserve(enough());
  bubbles_.reserve(length());
  last_bubbles_.reserve(length());
  const Entry* before = entry(position - 1);
  start_known_ = before != nullptr && before->done != TimePoint{};
  ended_turn_ = 0;
  if (start_known_) started_ = before->done;
  idle_ = uncertain_ = Duration{};
  passed_ = -1;
}

void Iterations::start_now(TimePoint now) {
  start_known_ = true;
  started_ = now;
  idle_ = uncertain_ = Duration{};
  passed_ = -1;
}

void Iterations::rhythm_lost() {
  if (bounded_) number_base_ += since_;
  bounded_ = said_ = said_runs_ = false;
  last_bubbles_.clear();
  bubbles_.clear();
  if (period_ == 0) return;
  // The iteration that broke off keeps its number to itself. A possible piece of an iteration takes none, because it
  // differs from rank to rank.
  if (sure_) number_base_ += (size_ - base_ + period_ - 1) / period_;
  period_ = 0;
}

Place Iterations::place(std::uint64_t position) const {
  if (bounded_) return bounded_place(position);
  Place place;
  if (period_ == 0 || position < run_begin_) return place;
  const std::uint64_t from_base = position + period_ - base_ % period_;
  place.ordinal = static_cast<std::int32_t>(from_base % period_);
  if (position < base_) return place;
  place.turn = 1 + (position - base_) / period_;
  place.rhythm = key_;
  if (sure_) place.iteration = number_base_ + place.turn - 1;
  place.ends_iteration = (position - base_) % period_ == period_ - 1;
  return place;
}

Ahead Iterations::ahead() const {
  if (bounded_) return {next_turn(), ends_with_};
  if (period_ == 0 || size_ < base_) return {};
  const std::uint64_t issued = size_ - base_;
  const Entry* const last = entry(size_ - issued % period_ - 1);
  return {1 + issued / period_, last == nullptr ? 0 : last->likeness};
}

std::uint64_t Iterations::running_turn() const {
  if (!start_known_) return 0;
  if (!bounded_) return period_ == 0 ? 0 : ended_turn_ + 1;
  if (!running_.empty()) return running_.front().turn;
  return next_turn();
}

// Between two that are said the next one has come already, as far as it matters.
std::uint64_t Iterations::next_turn() const {
  return said_ && !said_runs_ ? turn_ + 1 : turn_;
}

void Iterations::end_is_unseen(std::uint64_t position) {
  if (Entry* e = entry(position)) e->end_is_unseen = true;
}

// An iteration with this last group is not returned. It may also have ended after the next one.
void Iterations::left_out(std::uint64_t last) {
  const Entry* const e = entry(last);
  if (e != nullptr && e->end_is_unseen) ++unseen_ends_;
}

std::optional<Iteration> Iterations::group_done(std::uint64_t position, const Place& place, TimePoint time) {
  if (Entry* e = entry(position)) e->done = time;
  if (bounded_) return bounded_done(position, time);
  if (place.turn != 0) passed_ = std::max(passed_, place.ordinal);
  const bool before_first = period_ != 0 && position + 1 == base_;
  if (!place.ends_iteration && !before_first) return std::nullopt;
  const bool follows = place.turn <= ended_turn_ + 1;
  if (!follows) left_out(position - period_);
  ended_turn_ = place.turn;
  const bool reported = place.ends_iteration && start_known_ && follows;
  Iteration iteration = end(time);
  iteration.number = place.iteration;
  iteration.groups = static_cast<std::uint32_t>(place.ordinal) + 1;
  iteration.rhythm = place.rhythm;
  iteration.turn = iteration.since_found = place.turn;
  if (!reported) return std::nullopt;
  iteration.parts = equal_parts(position, iteration.groups);
  return iteration;
}

// The iteration that ran on the GPU is over; the next one has begun.
Iteration Iterations::end(TimePoint time) {
  Iteration iteration;
  iteration.started = started_;
  iteration.ended = time;
  iteration.idle = idle_;
  iteration.uncertain = uncertain_;
  last_length_ = start_known_ ? time - started_ : Duration{};
  started_ = time;
  start_known_ = true;
  idle_ = uncertain_ = Duration{};
  passed_ = -1;
  if (!dark_) last_bubbles_.swap(bubbles_);
  bubbles_.clear();
  return iteration;
}

// The transfers repeat to the end, and a part is no microbatch: one is there twice in a row, next to another one.
std::uint32_t Iterations::equal_parts(std::uint64_t last, std::uint32_t groups) {
  transfers_.clear();
  for (std::uint64_t position = last + 1 - std::min<std::uint64_t>(groups, last + 1); position <= last; ++position) {
    const Entry* const each = entry(position);
    if (each == nullptr) return 1;
    if (!is_collective(each->shape)) transfers_.push_back(each->shape);
  }
  repeats_.assign(transfers_.size(), 0);
  for (std::size_t i = 1; i < transfers_.size(); ++i) {
    std::uint32_t same = repeats_[i - 1];
    while (same != 0 && transfers_[i] != transfers_[same]) same = repeats_[same - 1];
    repeats_[i] = same + (transfers_[i] == transfers_[same] ? 1 : 0);
  }
  const std::size_t part = transfers_.empty() ? 0 : transfers_.size() - repeats_.back();
  if (part < 2 || part == transfers_.size() || transfers_.size() % part != 0) return 1;
  const auto end = transfers_.begin() + static_cast<std::ptrdiff_t>(part);
  const bool has_a_row = std::adjacent_find(transfers_.begin(), end) != end;
  return has_a_row ? static_cast<std::uint32_t>(transfers_.size() / part) : 1;
}

void Iterations::bubble_opened(const Place& place, TimePoint opened) {
  if (length() == 0 || place.turn == 0 || !start_known_) return;
  passed_ = std::max(passed_, place.ordinal);
  if (bubbles_.size() < (bounded_ ? most_slots_ : period_)) bubbles_.push_back({place.ordinal, opened - started_});
}

std::optional<TimePoint> Iterations::next_bubble() const {
  if (bounded_) return next_bounded_bubble();
  if (period_ == 0 || !start_known_ || last_bubbles_.empty()) return std::nullopt;
  for (const Expected& expected : last_bubbles_)
    if (expected.ordinal > passed_) return started_ + expected.after_start;
  if (last_length_ <= Duration{}) return std::nullopt;
  return started_ + last_length_ + last_bubbles_.front().after_start;
}

}  // namespace weft
