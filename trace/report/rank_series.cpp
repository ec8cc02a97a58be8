// Record by record; see the header.
#include "trace/report/rank_series.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "trace/totals.h"

namespace weft::report {
namespace {

constexpr std::size_t most_recent = 64;  // bubbles whose slices may come after them
constexpr std::size_t most_open = 256;   // bubbles that have slices and are not over

std::size_t bin_of(Duration real, Duration forecast) {
  constexpr double middle = Calibration::bins / 2.0;
  const double ratio = static_cast<double>(real.count()) / static_cast<double>(std::max(forecast, Duration(1)).count());
  const double bin = std::floor(middle + Calibration::bins_of_doubling * std::log2(ratio));
  return static_cast<std::size_t>(std::clamp(bin, 0.0, Calibration::bins - 1.0));
}

}  // namespace

void Calibration::add(const Forecast& forecast, Duration real) {
  ++(real < forecast.low ? below : real > forecast.high ? above : within);
  add_to(error, Duration(std::abs((forecast.median - real).count())));
  add_to(length, real);
  ++ratios[bin_of(real, forecast.median)];
}

void Calibration::add(const Calibration& other) {
  below += other.below;
  within += other.within;
  above += other.above;
  add_to(error, other.error);
  add_to(length, other.length);
  for (std::size_t bin = 0; bin < bins; ++bin) ratios[bin] += other.ratios[bin];
}

// A file may begin with the lines of an earlier process, which do not count.
void RankSeries::header(const TraceHeader& header, const TraceLine&) {
  const TraceProcess process = process_of(header);
  if (process_ && *process_ != process)
    *this = RankSeries(always_);
  else if (process_)
    ++segment_;
  process_ = process;
  filled_of_open_.clear();
  recent_.clear();
  next_recent_ = 0;
}

void RankSeries::record(const Record& record, const TraceLine& line) {
  if (!line.sound()) return;
  if (record.kind == RecordKind::bubble) take(record.bubble);
  if (record.kind == RecordKind::slice) take(record.slice);
  if (record.kind == RecordKind::iteration) take(record.iteration);
  if (record.kind == RecordKind::slowdown) take(record.time, record.slowdown);
}

// Bubbles may be of iterations that were never seen to end.
void RankSeries::finish() {
  std::erase_if(kept_, [](const auto& entry) { return entry.second.started == entry.second.ended; });
}

const SlotFill* RankSeries::slot(const Slot& slot, Cause cause) const {
  const auto found = slots_.find(key_of(slot, cause));
  return found == slots_.end() ? nullptr : &found->second;
}

KeptIteration* RankSeries::iteration(const IterationKey& key) {
  if (key.number == 0 || !is_kept(key)) return nullptr;
  const auto known = kept_.find(key);
  if (known != kept_.end()) return &known->second;
  while (kept_.size() >= most_iterations && exponent_ < 63) {
    ++exponent_;
    std::erase_if(kept_, [this](const auto& entry) { return !is_kept(entry.first); });
  }
  if (!is_kept(key) || (kept_.size() >= most_iterations && key.number != always_)) return nullptr;
  KeptIteration& made = kept_[key];
  made.key = key;
  return &made;
}

SlotFill* RankSeries::slot_of(const Bubble& bubble) {
  const SlotKey key = key_of(bubble.slot, bubble.cause);
  if (slots_.size() >= most_slots && !slots_.contains(key)) return nullptr;
  return &slots_[key];
}

void RankSeries::take(const Bubble& bubble) {
  const Duration length = bubble.closed - bubble.opened;
  const bool by_peer = bubble.cause == Cause::receive || bubble.cause == Cause::send;
  const bool by_group = by_peer || bubble.cause == Cause::collective;
  const std::int32_t peer = bubble.cause == Cause::send ? bubble.slot.send_peer : bubble.slot.receive_peer;
  const WaitFor wait{by_group ? bubble.slot.communicator : 0, by_peer ? peer : -1, bubble.cause};
  if (waits_.size() < most_waits || waits_.contains(wait)) {
    Waited& waited = waits_[wait];
    ++waited.bubbles;
    add_to(waited.time, length);
  }
  const RecentBubble recent{bubble.id, {segment_, bubble.iteration}, slot_of(bubble)};
  KeptIteration* const kept = iteration(recent.iteration);
  if (kept != nullptr) kept->left_out = kept->left_out || bubble.left_out;
  if (bubble.forecast && length > Duration{}) {
    forecasts_.add(*bubble.forecast, length);
    if (recent.slot != nullptr) recent.slot->forecasts.add(*bubble.forecast, length);
    if (kept != nullptr) {
      ++kept->forecasts;
      kept->forecasts_within += bubble.forecast->low <= length && length <= bubble.forecast->high ? 1 : 0;
      add_to(kept->forecast_error, Duration(std::abs((bubble.forecast->median - length).count())));
      add_to(kept->forecast_length, length);
    }
  }
  const auto filled = filled_of_open_.find(bubble.id);
  if (filled != filled_of_open_.end()) {
    add_filled(recent, filled->second);
    filled_of_open_.erase(filled);
  }
  if (recent_.size() < most_recent)
    recent_.push_back(recent);
  else
    recent_[next_recent_++ % most_recent] = recent;
}

void RankSeries::add_filled(const RecentBubble& bubble, Duration filled) {
  if (bubble.slot != nullptr) add_to(bubble.slot->filled, filled);
  const auto kept = kept_.find(bubble.iteration);
  if (kept != kept_.end()) add_to(kept->second.filled, filled);
}

void RankSeries::take(const SliceRecord& slice) {
  const auto known = std::ranges::find(recent_, slice.bubble, &RecentBubble::id);
  if (known != recent_.end()) return add_filled(*known, slice.alone);
  add_to(filled_of_open_[slice.bubble], slice.alone);
  if (filled_of_open_.size() > most_open) filled_of_open_.erase(filled_of_open_.begin());
}

void RankSeries::take(const Iteration& record) {
  if (record.dark || record.ended <= record.started) return;
  if (record.idle_known && record.number > 0) {
    first_ = first_ == 0 ? record.number : std::min(first_, record.number);
    last_ = std::max(last_, record.number);
  }
  KeptIteration* const kept = iteration({segment_, record.number});
  if (kept == nullptr) return;
  kept->started = record.started;
  kept->ended = record.ended;
  kept->idle = record.idle;
  kept->uncertain = record.uncertain;
  kept->is_measured = record.idle_known;
}

// Of many every second, fourth ... is kept.
void RankSeries::take(TimePoint time, const SlowdownRecord& slowdown) {
  if (slowdown.control == 0 || slowdowns_seen_++ % every_slowdown_ != 0) return;
  slowdowns_.push_back({time, slowdown});
  if (slowdowns_.size() < most_points) return;
  for (std::size_t index = 0; 2 * index < slowdowns_.size(); ++index) slowdowns_[index] = slowdowns_[2 * index];
  slowdowns_.resize((slowdowns_.size() + 1) / 2);
  every_slowdown_ *= 2;
}

}  // namespace weft::report
