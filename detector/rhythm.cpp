// See rhythm.h. A false period is the danger: the steady state of 1F1B repeats two groups for most of an iteration.
#include "detector/rhythm.h"

#include <algorithm>
#include <bit>

namespace weft {
namespace {

constexpr std::uint64_t base = 0x9e3779b97f4a7c15;
constexpr std::size_t first_history = 1024;
constexpr std::uint64_t shortest_unanchored_run = 24;
constexpr std::uint64_t long_run = 1024;
constexpr std::uint64_t refusal = 4096;

std::uint64_t mix(std::uint64_t x) {
  x ^= x >> 31;
  x *= 0xbf58476d1ce4e5b9;
  x ^= x >> 29;
  x *= 0x94d049bb133111eb;
  return x ^ (x >> 32);
}

}  // namespace

Rhythm::Rhythm(std::size_t longest_period)
    : longest_period_(longest_period),
      longest_history_(std::bit_ceil(2 * longest_period + 2)),
      history_(std::min(first_history, longest_history_)) {
  for (std::size_t w = 0; w < windows.size(); ++w)
    for (std::size_t i = 0; i < windows[w]; ++i) windows_[w].power *= base;
  rebuild_windows();
}

void Rhythm::begin_again(std::uint64_t position) {
  history_.assign(std::min(first_history, longest_history_), 0);
  size_ = known_from_ = unlocked_since_ = position;
  locked_ = false;
  run_ = {};
  rebuild_windows();
}

Rhythm::Change Rhythm::observe(std::uint64_t given, bool collective) {
  const std::uint64_t signature = (mix(given) & ~std::uint64_t{1}) | (collective ? 1 : 0);
  append(signature);
  const std::uint64_t last = size_ - 1;
  if (locked_) {
    if (signature == this->signature(last - run_.period)) return Change::none;
    if (run_.anchored) marked_until_ = last;
    run_ended();
    locked_ = false;
    unlocked_since_ = last;
    rebuild_windows();
    return Change::lost;
  }
  // A window is looked up before it is remembered, so that it does not find itself.
  roll_windows(last);
  if (run_.period != 0 && signature != this->signature(last - run_.period)) run_ended();
  const Distances distances = look_up_windows();
  remember_windows();
  for (std::size_t w = distances.size(); run_.period == 0 && w-- > 0;) run_ = start_run(distances[w]);
  if (run_.period == 0) return Change::none;
  if (!may_lock(run_) && !shorter_run_locks(distances)) return Change::none;
  locked_ = true;
  return Change::found;
}

// Training and evaluation in turn repeat as well, after a long time. The shorter period within is the iteration.
bool Rhythm::shorter_run_locks(const Distances& distances) {
  if (size_ < next_look_) return false;
  std::uint64_t compared = 0;
  std::uint64_t tried = run_.period;
  for (std::size_t w = distances.size(); w-- > 0;) {
    if (distances[w] == 0 || distances[w] >= tried) continue;
    tried = distances[w];
    Run shorter = start_run(tried);
    if (shorter.period == 0) continue;
    compared += size_ - shorter.begin - shorter.period;
    if (!may_lock(shorter)) continue;
    run_ = shorter;
    return true;
  }
  // Looked at so often that the comparisons cost a few per group.
  next_look_ = size_ + 1 + compared / 16;
  return false;
}

void Rhythm::append(std::uint64_t signature) {
  // A history that a known rhythm fits into is large enough.
  if (!locked_ && size_ - unlocked_since_ >= history_.size() && history_.size() < longest_history_) grow();
  history_[size_ & (history_.size() - 1)] = signature;
  ++size_;
}

void Rhythm::grow() {
  std::vector<std::uint64_t> larger(2 * history_.size());
  const std::uint64_t begin = oldest();
  for (std::uint64_t i = begin; i < size_; ++i) larger[i & (larger.size() - 1)] = signature(i);
  history_ = std::move(larger);
  known_from_ = begin;
  rebuild_windows();
}

void Rhythm::rebuild_windows() {
  for (Window& window : windows_) {
    window.hash = 0;
    window.seen.assign(history_.size(), Seen{});
  }
  const std::uint64_t end = size_;
  hashed_from_ = oldest();
  for (std::uint64_t i = hashed_from_; i < end; ++i) {
    size_ = i + 1;
    roll_windows(i);
    remember_windows();
  }
  size_ = end;
}

void Rhythm::roll_windows(std::uint64_t position) {
  for (std::size_t w = 0; w < windows.size() && windows[w] < history_.size(); ++w) {
    Window& window = windows_[w];
    window.hash = window.hash * base + signature(position);
    if (position >= hashed_from_ + windows[w]) window.hash -= window.power * signature(position - windows[w]);
  }
}

bool Rhythm::window_is_full(std::size_t window) const {
  return windows[window] < history_.size() && size_ - hashed_from_ >= windows[window];
}

void Rhythm::remember_windows() {
  for (std::size_t w = 0; w < windows.size() && window_is_full(w); ++w) {
    const std::uint64_t hash = mix(windows_[w].hash);
    windows_[w].seen[hash & (history_.size() - 1)] = {static_cast<std::uint32_t>(hash >> 32),
                                                      static_cast<std::uint32_t>(size_)};
  }
}

// For each window: the distance to the latest earlier place where it was seen; 0: none.
Rhythm::Distances Rhythm::look_up_windows() const {
  Distances distances{};
  for (std::size_t w = 0; w < windows.size() && window_is_full(w); ++w) {
    const std::uint64_t hash = mix(windows_[w].hash);
    const Seen& seen = windows_[w].seen[hash & (history_.size() - 1)];
    if (seen.end != 0 && seen.tag == static_cast<std::uint32_t>(hash >> 32))
      distances[w] = static_cast<std::uint32_t>(size_) - seen.end;
  }
  return distances;
}

// The run of period `distance` that ends here; of period 0 if there is none.
Rhythm::Run Rhythm::start_run(std::uint64_t distance) const {
  if (distance == 0 || distance > longest_period_) return {};
  const std::uint64_t first = oldest() + distance;
  std::uint64_t begin = size_;
  while (begin > first && signature(begin - 1) == signature(begin - 1 - distance)) --begin;
  if (begin == size_) return {};
  return {static_cast<std::uint32_t>(distance), begin - distance};
}

// Two full repeats when a collective marks the iteration, else three; and not a run that has already turned out to be a
// piece of something longer: its content is known from a run that broke, and it has not yet lasted longer than that.
bool Rhythm::may_lock(Run& run) const {
  const std::uint64_t length = size_ - run.begin;
  const std::uint64_t period = run.period;
  if (length < 2 * period) return false;
  if (run.content == 0) {
    run.content = hash_of_period(run.period);
    run.anchored = holds_single_collective(run.period);
  }
  // A run that extends beyond iterations that a collective marked is longer than one: training and evaluation in turn.
  const std::uint64_t unmarked = size_ - std::max(run.begin, marked_until_);
  if (!run.anchored && unmarked < std::max(3 * period, shortest_unanchored_run)) return false;
  return std::none_of(broken_.begin(), broken_.end(), [&](const Broken& b) {
    return b.content == run.content && b.period == run.period && length <= b.length && size_ < b.until;
  });
}

bool Rhythm::sure() const {
  const std::uint64_t length = size_ - run_.begin;
  if (!locked_ || run_.anchored) return locked_;
  return length >= long_run && length >= 4 * std::uint64_t{run_.period};
}

bool Rhythm::holds_single_collective(std::uint32_t period) const {
  std::vector<std::uint64_t> collectives;
  for (std::uint64_t i = size_ - period; i < size_; ++i)
    if (is_collective(i)) collectives.push_back(signature(i));
  std::sort(collectives.begin(), collectives.end());
  if (period < 2) return false;
  for (std::size_t i = 0; i < collectives.size(); ++i) {
    const bool as_before = i > 0 && collectives[i - 1] == collectives[i];
    const bool as_after = i + 1 < collectives.size() && collectives[i + 1] == collectives[i];
    if (!as_before && !as_after) return true;
  }
  return false;
}

void Rhythm::run_ended() {
  const std::uint64_t length = size_ - 1 - run_.begin;
  const std::uint32_t period = run_.period;
  lost_period_ = period;
  const std::uint64_t content = run_.content;
  const bool anchored = run_.anchored;
  run_ = {};
  // A run that a collective marked was an iteration: it may come back at once.
  if (length < 2 * std::uint64_t{period} || content == 0 || anchored) return;
  auto place = std::find_if(broken_.begin(), broken_.end(),
                            [&](const Broken& b) { return b.content == content && b.period == period; });
  if (place == broken_.end()) {
    place = broken_.begin() + static_cast<std::ptrdiff_t>(next_broken_++ % broken_.size());
    *place = {};
  }
  *place = {content, std::max(length, place->length), size_ + refusal, period};
}

std::uint64_t Rhythm::hash_of_period(std::uint32_t period) const {
  std::uint64_t sum = period;
  // Pairs of neighbours, so that the order counts but not the beginning.
  for (std::uint64_t i = size_ - period; i < size_; ++i) sum += mix(signature(i) * base + mix(signature(i - 1)));
  return sum | 1;
}

}  // namespace weft
