// Launching and reaping slices on the dispatcher thread; see the header.
#include "runner/fill/filler.h"

#include <algorithm>

#include "detector/dcheck.h"

namespace weft {
void Filler::reap(TimePoint now, std::vector<SliceRecord>& finished) {
  while (count_ != 0 && failure_.empty() && first_is_done()) finished.push_back(finish_first(now));
}

bool Filler::first_is_done() {
  if (done_.event == nullptr) {
    const std::uint32_t reached = done_.host->load(std::memory_order_acquire);
    return static_cast<std::int32_t>(reached - launched_[0].number) >= 0;
  }
  const CUresult state = driver_.cuEventQuery(done_.event);
  if (state != CUDA_SUCCESS && state != CUDA_ERROR_NOT_READY) fail(state, "asking for the end of a slice");
  return state == CUDA_SUCCESS;
}

CUresult Filler::mark_end(std::uint32_t number) const {
  if (done_.event != nullptr) return driver_.cuEventRecord(done_.event, stream_);
  return driver_.cuStreamWriteValue32_v2(stream_, done_.device, number, CU_STREAM_WRITE_VALUE_DEFAULT);
}

SliceRecord Filler::finish_first(TimePoint now) {
  WEFT_DCHECK(count_ != 0 && unit_begun_);
  const Launched first = launched_[0];
  std::copy(launched_.begin() + 1, launched_.end(), launched_.begin());
  --count_;
  if (count_ != 0) launched_[0].starts = now;
  SliceRecord record;
  record.unit = first.unit;
  record.number = first.in_unit;
  record.bubble = first.bubble;
  record.launched = first.launched;
  record.finished = now;
  record.alone = unit_.slice(first.slice).alone;
  record.unit_done = first.ends_unit;
  if (!record.unit_done) return record;
  if (!job_.end_unit(first.unit, record.correct)) failure_ = "the fill job failed in end_unit: " + job_.failure();
  ++unit_number_;
  next_ = in_unit_ = 0;
  unit_begun_ = false;
  return record;
}

FillView Filler::view() const {
  const std::size_t nodes = unit_.cuts().nodes();
  const bool behind_another = fillable_ == Fillable::any && kind_ != FillStream::above;
  const std::uint32_t most = behind_another ? most_in_flight : 1;
  FillView view;
  view.ready = failure_.empty() && count_ < most && next_ < nodes;
  // Of the next unit, when all of this one were launched.
  for (const std::uint32_t slice : unit_.cuts().from(next_ % nodes))
    view.candidates.alone[view.candidates.count++] = unit_.slice(slice).alone;
  view.in_flight = in_flight();
  view.fillable = fillable_;
  return view;
}

void Filler::begin_unit() {
  unit_begun_ = job_.begin_unit(unit_number_);
  if (!unit_begun_) failure_ = "the fill job failed in begin_unit: " + job_.failure();
}

bool Filler::launch(TimePoint now, std::uint64_t bubble, std::uint32_t candidate) {
  WEFT_DCHECK(unit_begun_ && count_ < most_in_flight && next_ < unit_.cuts().nodes());
  const std::uint32_t slice = unit_.cuts().from(next_)[candidate];
  const CUresult launched = driver_.cuGraphLaunch(unit_.slice(slice).graph, stream_);
  if (launched != CUDA_SUCCESS) return fail(launched, "launching a slice"), false;
  const std::uint32_t number = ++last_number_;
  const InFlight before = in_flight();
  next_ += unit_.cuts().slices()[slice].count;
  const bool ends_unit = next_ == unit_.cuts().nodes();
  launched_[count_] = {unit_number_, slice,  in_unit_++, ends_unit,
                       number,       bubble, now,        count_ == 0 ? now : before.expected_end};
  ++count_;
  const CUresult written = mark_end(number);
  if (written != CUDA_SUCCESS) fail(written, "marking the end of a slice");
  return true;
}

void Filler::fail(CUresult result, const char* what) {
  context_gone_ = result == CUDA_ERROR_DEINITIALIZED || result == CUDA_ERROR_CONTEXT_IS_DESTROYED;
  failure_ = std::string(what) + " failed with " + driver_.name_of(result);
}

InFlight Filler::in_flight() const {
  InFlight state;
  state.slices = count_;
  if (count_ == 0) return state;
  state.oldest_launched = launched_[0].launched;
  state.oldest_alone = unit_.slice(launched_[0].slice).alone;
  state.first_ends = state.expected_end = launched_[0].starts + state.oldest_alone;
  for (std::uint32_t index = 1; index < count_; ++index)
    state.expected_end += unit_.slice(launched_[index].slice).alone;
  return state;
}

}  // namespace weft
