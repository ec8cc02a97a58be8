// See rhythm.h. A false period is the danger: the steady state of 1F1B repeats two groups for most of an iteration.
#include "detector/rhythm.h"

#include <algorithm>
#include <bit>

namespace weft {
namespace {

constexpr std::uint64_t kBase = 0x9e3779b97f4a7c15;
constexpr std::size_t kFirstHistory = 1024;
constexpr std::uint64_t kShortestUnanchoredRun = 24;
constexpr std::uint64_t kLongRun = 1024;
constexpr std::uint64_t kLongestRefusal = 4096;

std::uint64_t mix(std::uint64_t x) {
  x ^= x >> 31;
  x *= 0xbf58476d1ce4e5b9;
  x ^= x >> 29;
  x *= 0x94d049bb133111eb;
  return x ^ (x >> 32);
}

}  // namespace

Rhythm::Rhythm(std::size_t longest_period)
    : longest_history_(std::bit_ceil(2 * longest_period + 2)), history_(std::min(kFirstHistory, longest_history_)) {
  for (std::size_t w = 0; w < kWindows.size(); ++w)
    for (std::size_t i = 0; i < kWindows[w]; ++i) windows_[w].power *= kBase;
  rebuild_windows();
}

Rhythm::Change Rhythm::observe(std::uint64_t given, bool collective) {
  const std::uint64_t signature = (mix(given) & ~std::uint64_t{1}) | (collective ? 1 : 0);
  append(signature);
  const std::uint64_t last = size_ - 1;
  if (locked_) {
    if (signature == this->signature(last - period_)) return Change::none;
    run_ended();
    locked_ = false;
    unlocked_since_ = last;
    rebuild_windows();
    return Change::lost;
  }
  // A window is looked up before it is remembered, so that it does not find itself.
  roll_windows(last);
  if (period_ != 0 && signature != this->signature(last - period_)) run_ended();
  if (period_ == 0) start_candidate(find_candidate());
  remember_windows();
  if (period_ == 0 || !may_lock()) return Change::none;
  locked_ = true;
  return Change::found;
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
  for (std::size_t w = 0; w < kWindows.size() && kWindows[w] < history_.size(); ++w) {
    Window& window = windows_[w];
    window.hash = window.hash * kBase + signature(position);
    if (position >= hashed_from_ + kWindows[w]) window.hash -= window.power * signature(position - kWindows[w]);
  }
}

bool Rhythm::window_is_full(std::size_t window) const {
  return kWindows[window] < history_.size() && size_ - hashed_from_ >= kWindows[window];
}

void Rhythm::remember_windows() {
  for (std::size_t w = 0; w < kWindows.size() && window_is_full(w); ++w) {
    const std::uint64_t hash = mix(windows_[w].hash);
    windows_[w].seen[hash & (history_.size() - 1)] = {static_cast<std::uint32_t>(hash >> 32),
                                                      static_cast<std::uint32_t>(size_)};
  }
}

// Distance to the latest earlier place of the longest window that was seen before; 0: none.
std::uint64_t Rhythm::find_candidate() const {
  for (std::size_t w = kWindows.size(); w-- > 0;) {
    if (!window_is_full(w)) continue;
    const std::uint64_t hash = mix(windows_[w].hash);
    const Seen& seen = windows_[w].seen[hash & (history_.size() - 1)];
    if (seen.end != 0 && seen.tag == static_cast<std::uint32_t>(hash >> 32))
      return static_cast<std::uint32_t>(size_) - seen.end;
  }
  return 0;
}

// Follows the run of period `distance` that ends here, if there is one.
void Rhythm::start_candidate(std::uint64_t distance) {
  if (distance == 0 || 2 * distance > longest_history_) return;
  const std::uint64_t first = oldest() + distance;
  std::uint64_t begin = size_;
  while (begin > first && signature(begin - 1) == signature(begin - 1 - distance)) --begin;
  if (begin == size_) return;
  period_ = static_cast<std::uint32_t>(distance);
  run_begin_ = begin - distance;
  content_ = 0;
}

// Two full repeats when a collective marks the iteration, else three; and not a run that has already turned out to be a
// piece of something longer: its content is known from a run that broke, and it has not yet lasted longer than that.
bool Rhythm::may_lock() {
  const std::uint64_t length = size_ - run_begin_;
  const std::uint64_t period = period_;
  if (length < 2 * period) return false;
  if (content_ == 0) {
    content_ = hash_of_period();
    anchored_ = holds_single_collective();
  }
  if (!anchored_ && length < std::max(3 * period, kShortestUnanchoredRun)) return false;
  return std::none_of(broken_.begin(), broken_.end(), [&](const Broken& b) {
    return b.content == content_ && b.period == period_ && length <= b.length && size_ < b.until;
  });
}

bool Rhythm::sure() const {
  const std::uint64_t length = size_ - run_begin_;
  if (!locked_ || anchored_) return locked_;
  return length >= kLongRun && length >= 4 * std::uint64_t{period_};
}

bool Rhythm::holds_single_collective() const {
  std::vector<std::uint64_t> collectives;
  for (std::uint64_t i = size_ - period_; i < size_; ++i)
    if (is_collective(i)) collectives.push_back(signature(i));
  std::sort(collectives.begin(), collectives.end());
  if (period_ < 2) return false;
  for (std::size_t i = 0; i < collectives.size(); ++i) {
    const bool as_before = i > 0 && collectives[i - 1] == collectives[i];
    const bool as_after = i + 1 < collectives.size() && collectives[i + 1] == collectives[i];
    if (!as_before && !as_after) return true;
  }
  return false;
}

void Rhythm::run_ended() {
  const std::uint64_t length = size_ - 1 - run_begin_;
  const std::uint32_t period = period_;
  lost_period_ = period;
  period_ = 0;
  if (length < 2 * std::uint64_t{period} || content_ == 0) return;
  Broken* same = nullptr;
  for (Broken& b : broken_)
    if (b.content == content_ && b.period == period) same = &b;
  // What holds the pieces, or has repeated so often, was an iteration: it may come back at once.
  const std::uint64_t repeats = length / period;
  const bool iteration = anchored_ || holds_pieces(period) || (period >= 8 && repeats >= 16) || repeats >= 512;
  if (iteration && same == nullptr) return;
  if (same == nullptr) same = &broken_[next_broken_++ % broken_.size()];
  *same = {content_, std::max(length, same->content == content_ ? same->length : 0),
           size_ + std::min(4 * length, kLongestRefusal), period};
}

// Whether runs broke off, and each of them may lie within an iteration of this period. A run that is a piece of an
// iteration is not much longer than it, by less than its own period.
bool Rhythm::holds_pieces(std::uint32_t period) const {
  bool any = false;
  for (const Broken& b : broken_) {
    if (b.content == 0) continue;
    if (b.period >= period || b.length >= std::uint64_t{period} + b.period) return false;
    any = any || b.length >= kShortestUnanchoredRun;
  }
  return any;
}

std::uint64_t Rhythm::hash_of_period() const {
  std::uint64_t sum = period_;
  // Pairs of neighbours, so that the order counts but not the beginning.
  for (std::uint64_t i = size_ - period_; i < size_; ++i) sum += mix(signature(i) * kBase + mix(signature(i - 1)));
  return sum | 1;
}

}  // namespace weft
