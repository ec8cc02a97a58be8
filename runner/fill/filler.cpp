// Launching and reaping slices on the dispatcher thread; see the header.
#include "runner/fill/filler.h"

#include <algorithm>

namespace weft {
namespace {

using std::chrono::milliseconds;

// Between two looks the machine may have been asleep: no more than this counts as time that a slice was watched.
constexpr Duration longest_watch = milliseconds(1);
constexpr int slack_factor = 10;
constexpr Duration slack_in_bubble = milliseconds(20);
// Outside bubbles a slice waits for multiprocessors behind kernels of the main job, which may be long.
constexpr Duration slack_outside = milliseconds(2000);

}  // namespace

void Filler::reap(TimePoint now, bool in_bubble, std::vector<SliceRecord>& finished) {
  const std::uint32_t reached = done_.host->load(std::memory_order_acquire);
  while (count_ != 0 && static_cast<std::int32_t>(reached - launched_[0].number) >= 0) {
    finished.push_back(finish_first(now));
    if (!failure_.empty()) break;
  }
  watch(now, in_bubble);
  last_look_ = now;
}

SliceRecord Filler::finish_first(TimePoint now) {
  const Launched first = launched_[0];
  std::copy(launched_.begin() + 1, launched_.end(), launched_.begin());
  --count_;
  if (count_ != 0) launched_[0].starts = now;
  SliceRecord record;
  record.unit = first.unit;
  record.number = first.slice;
  record.bubble = first.bubble;
  record.launched = first.launched;
  record.finished = now;
  record.alone = unit_.slices()[first.slice].alone;
  record.unit_done = first.slice + 1 == unit_.slices().size();
  if (!record.unit_done) return record;
  if (!job_.end_unit(first.unit, record.correct)) failure_ = "the fill job failed in end_unit: " + job_.failure();
  ++unit_number_;
  next_ = 0;
  unit_begun_ = false;
  return record;
}

void Filler::watch(TimePoint now, bool in_bubble) {
  if (count_ == 0 || !failure_.empty()) return;
  launched_[0].watched += std::min(now - std::max(last_look_, launched_[0].launched), longest_watch);
  const Duration alone = unit_.slices()[launched_[0].slice].alone;
  if (launched_[0].watched > slack_factor * alone + (in_bubble ? slack_in_bubble : slack_outside))
    failure_ = "a slice of " + std::to_string(alone.count() / 1000) + " us did not end within " +
               std::to_string(launched_[0].watched.count() / 1000) + " us";
}

bool Filler::ready() {
  if (!failure_.empty() || count_ == most_in_flight || next_ == unit_.slices().size()) return false;
  if (unit_begun_) return true;
  if (!job_.begin_unit(unit_number_)) {
    failure_ = "the fill job failed in begin_unit: " + job_.failure();
    return false;
  }
  unit_begun_ = true;
  return true;
}

void Filler::launch(TimePoint now, std::uint64_t bubble) {
  const CUresult launched = driver_.cuGraphLaunch(unit_.slices()[next_].graph, stream_);
  if (launched != CUDA_SUCCESS) return fail(launched, "launching a slice");
  const std::uint32_t number = ++last_number_;
  const InFlight before = in_flight();
  Launched& entry = launched_[count_];
  entry = {unit_number_, next_, number, bubble, now, count_ == 0 ? now : before.expected_end, Duration{0}};
  ++count_;
  ++next_;
  const CUresult written =
      driver_.cuStreamWriteValue32_v2(stream_, done_.device, number, CU_STREAM_WRITE_VALUE_DEFAULT);
  if (written != CUDA_SUCCESS) fail(written, "marking the end of a slice");
}

void Filler::fail(CUresult result, const char* what) {
  context_gone_ = result == CUDA_ERROR_DEINITIALIZED || result == CUDA_ERROR_CONTEXT_IS_DESTROYED;
  failure_ = std::string(what) + " failed with " + driver_.name_of(result);
}

InFlight Filler::in_flight() const {
  InFlight state{count_, {}};
  if (count_ == 0) return state;
  state.expected_end = launched_[0].starts;
  for (std::uint32_t index = 0; index < count_; ++index)
    state.expected_end += unit_.slices()[launched_[index].slice].alone;
  return state;
}

}  // namespace weft
