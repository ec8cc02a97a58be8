// See fill_lane.h.
#include "runner/fill/fill_lane.h"

#include <utility>

#include "runner/core/pinned.h"

namespace weft {
namespace {

constexpr std::size_t done_word_bytes = 4096;

}  // namespace

FillLane::FillLane(const Driver& driver, const LaneSettings& settings)
    : driver_(driver),
      device_(settings.device),
      wanted_(settings.stream),
      queues_(settings.queues),
      lap_(driver),
      green_(driver),
      share_(driver) {
  try {
    stream_ = make_stream(settings);
  } catch (...) {
    destroy();
    throw;
  }
}

const DoneMark& FillLane::done_mark(bool by_event) {
  if (by_event && done_.event == nullptr) {
    check(driver_, driver_.cuEventCreate(&done_.event, CU_EVENT_DISABLE_TIMING), "cuEventCreate");
  } else if (!by_event && done_word_ == nullptr) {
    done_word_ = map_pages(done_word_bytes);
    done_.host = static_cast<std::atomic<std::uint32_t>*>(done_word_);
    done_.device = register_pages(driver_, done_word_, done_word_bytes);
  }
  return done_;
}

// Nobody knows which hardware queue a graph uses whose nodes are of another context than the stream it is launched
// into.
void FillLane::check_share() const {
  if (driver_.cuDevSmResourceSplitByCount == nullptr) throw SetUpError("the driver has no green contexts");
  if (wanted_ != FillStream::plain)
    throw SetUpError("with one hardware queue fill work has one of its own, which it might lose in a green context");
}

const GreenShare& FillLane::share(std::uint32_t reserved) {
  if (share_.context() != nullptr) return share_;
  check_share();
  share_.make(device_, reserved);
  try {
    lap_.complete(queues_, 1);  // a green context comes with a default stream
  } catch (...) {
    share_.destroy();
    throw;
  }
  return share_;
}

void FillLane::destroy() noexcept {
  if (done_.event != nullptr) driver_.cuEventDestroy_v2(std::exchange(done_.event, nullptr));
  if (done_word_ != nullptr) give_pages_back(driver_, std::exchange(done_word_, nullptr), done_word_bytes);
  lap_.destroy();
  let_context_go();
}

// Where there can be no green context, a plain stream is enough for some bubbles.
CUstream FillLane::make_stream(const LaneSettings& settings) {
  if (settings.stream == FillStream::green_context) {
    try {
      return green_.make(settings.device);
    } catch (const SetUpError& error) {
      fault_ = error.what();
    }
  }
  const bool above = settings.stream == FillStream::above;
  return lap_.make(settings.queues, settings.streams_made,
                   above ? QueueLap::Priority::highest : QueueLap::Priority::lowest);
}

}  // namespace weft
