// See sayings.h. The texts go into the trace as they are.
#include "detector/sayings.h"

#include <algorithm>

namespace weft {

const char* Sayings::refuse(const char* why) {
  ++refused_;
  return why;
}

void Sayings::begin(Span& span, const Saying& saying) {
  span = {true, true};
  span.number = saying.number;
  span.thread = saying.thread;
}

// A beginning that does not fit counts for the next one: numbers that start anew are refused once.
const char* Sayings::iteration_begun(const Saying& saying, std::uint64_t issued) {
  const Span before = iteration_;
  begin(iteration_, saying);
  begun_at_ = heard_at_ = issued;
  const char* why = nullptr;
  if (before.open && before.thread != saying.thread)
    why = "annotations: two threads say iterations at a time";
  else if (before.open)
    why = "annotations: an iteration begins before the one before has ended";
  else if (saying.number < 0)
    why = "annotations: an iteration has a negative number";
  else if (before.heard && saying.number <= before.number)
    why = "annotations: the numbers of iterations do not rise";
  if (why == nullptr) return nullptr;
  whole_ = 0;
  return refuse(why);
}

const char* Sayings::iteration_ended(const Saying& saying, std::uint64_t issued) {
  const Span before = iteration_;
  iteration_.open = false;
  heard_at_ = issued;
  if (!before.heard) {
    iteration_.heard = true;
    iteration_.number = saying.number;
    return nullptr;
  }
  const char* why = nullptr;
  if (!before.open)
    why = "annotations: an iteration ends that has not begun";
  else if (before.thread != saying.thread)
    why = "annotations: two threads say iterations at a time";
  else if (before.number != saying.number)
    why = "annotations: an iteration ends with another number than it began with";
  if (why != nullptr) {
    whole_ = 0;
    return refuse(why);
  }
  if (whole_ < enough_whole) ++whole_;
  longest_ = std::max(longest_, issued - begun_at_);
  return nullptr;
}

bool Sayings::iterations_have_ceased(std::uint64_t issued) const {
  return issued - heard_at_ > std::max(patience * longest_, iteration_.open ? open_patience : least_patience);
}

const char* Sayings::stage(const Saying& saying) {
  present_.stage = present_.chunk = -1;
  if (saying.number < 0 || saying.number > INT32_MAX) return refuse("annotations: a stage is not a number from 0");
  present_.stage = static_cast<std::int32_t>(saying.number);
  present_.chunk = std::max(saying.chunk, -1);
  return nullptr;
}

// Of two that overlap the later one is the present one.
const char* Sayings::microbatch_begun(const Saying& saying) {
  const Span before = microbatch_;
  begin(microbatch_, saying);
  present_.microbatch = -1;
  if (saying.number < 0) return refuse("annotations: a microbatch has a negative number");
  if (before.open && before.thread != saying.thread)
    return refuse("annotations: two threads say microbatches at a time");
  present_.microbatch = saying.number;
  return nullptr;
}

const char* Sayings::microbatch_ended(const Saying& saying) {
  const Span before = microbatch_;
  microbatch_ = Span{true};
  present_.microbatch = -1;
  if (!before.heard || before.given_up) return nullptr;
  if (before.open && before.thread != saying.thread)
    return refuse("annotations: two threads say microbatches at a time");
  if (!before.open || before.number != saying.number)
    return refuse("annotations: a microbatch ends that is not the present one");
  return nullptr;
}

const char* Sayings::bubble_begun(const Saying& saying) {
  const Span before = bubble_;
  begin(bubble_, saying);
  in_bubble_ = 0;
  if (!before.open) return nullptr;
  bubble_.open = false;
  if (before.thread != saying.thread) return refuse("annotations: two threads say bubbles at a time");
  return refuse("annotations: a bubble begins before the one before has ended");
}

const char* Sayings::bubble_ended(const Saying& saying) {
  const Span before = bubble_;
  bubble_ = Span{true};
  if (!before.heard || before.given_up) return nullptr;
  if (!before.open) return refuse("annotations: a bubble ends that has not begun");
  if (before.thread != saying.thread) return refuse("annotations: two threads say bubbles at a time");
  return nullptr;
}

// Its end was forgotten, in an early return or an exception. From here on it would name time that it was not meant for.
const char* Sayings::left_open(Span& span, const char* why) {
  if (!span.open) return nullptr;
  span.open = false;
  span.given_up = true;
  return refuse(why);
}

const char* Sayings::microbatch_left_open() {
  const char* const why = left_open(microbatch_, "annotations: a microbatch was not ended before its iteration was");
  if (why != nullptr) present_.microbatch = -1;
  return why;
}

const char* Sayings::bubble_left_open() {
  return left_open(bubble_, "annotations: a bubble was not ended before its iteration was");
}

const char* Sayings::group_issued() {
  if (!bubble_.open || ++in_bubble_ <= most_in_bubble) return nullptr;
  return left_open(bubble_, "annotations: communication goes on in a bubble that was not ended");
}

}  // namespace weft
