// See marking.h.
#include "runner/options/marking.h"

#include <cstdlib>

#include "runner/options/answers.h"

namespace weft {
namespace {

constexpr std::uint32_t default_queues = 8;
constexpr const char* not_measured = "idle time is not measured";

// As the driver reads numbers; 0: there is none.
int number_in(const Variables& variables, const char* name) {
  const auto found = variables.find(name);
  return found == variables.end() ? 0 : std::atoi(found->second.c_str());
}

// Also where fill work has a queue of its own: that may turn out not to be.
Marking with_one_queue(const char* because, const Answers* answers, Purpose purpose, OneQueue wish) {
  Marking marking;
  marking.one_queue = true;
  marking.because = because;
  marking.fillable = Fillable::unasked;
  if (answers == nullptr) return marking;
  decide_fillable(*answers, wish, marking);
  const bool prefers_events = purpose == Purpose::fill && marking.fillable_in_plain == Fillable::host_waits;
  if ((*answers)[Asked::event] == Found::holds) {
    marking.marks = Marks::none;
    marking.because = "one hardware queue, which an event holds up (weft check)";
    marking.unfillable = marking.unfillable_in_plain = not_measured;
  } else if ((*answers)[Asked::write] == Found::passes && !prefers_events) {
    marking.marks = Marks::writes;
  }
  return marking;
}

// There may be more streams than queues, so that some share one. The answers are those for one queue, where all do.
Marking with_several_queues(const Answers* answers) {
  Marking marking;
  const bool is_asked = answers != nullptr && answers->machine.queues == 1;
  if (is_asked && (*answers)[Asked::write] == Found::passes) marking.marks = Marks::writes;
  return marking;
}

Marking unmarked(const char* because) {
  Marking marking;
  marking.marks = Marks::none;
  marking.because = because;
  marking.fillable = Fillable::nothing;
  marking.unfillable = not_measured;
  return marking;
}

// In a stream beside those of the training, in the same queue.
void decide_for_plain_stream(const Answers& answers, Marking& marking) {
  const auto refuse = [&](const char* why) { marking.fillable = Fillable::nothing, marking.unfillable = why; };
  if (answers[Asked::event] == Found::holds) return refuse("an event holds up what is launched next (weft check)");
  if (answers[Asked::host_wait] == Found::holds)
    return refuse("what is launched while the host waits for the GPU does not run (weft check)");
  if (answers[Asked::event] != Found::passes || answers[Asked::host_wait] != Found::passes)
    return refuse("weft check has no answer whether fill work runs beside a host that waits for the GPU");
  const bool streams_may_wait = answers[Asked::host_and_stream_wait] == Found::passes;
  marking.fillable = streams_may_wait ? Fillable::host_waits : Fillable::host_waits_alone;
}

}  // namespace

std::uint32_t hardware_queues(const Variables& variables) {
  const int value = number_in(variables, "CUDA_DEVICE_MAX_CONNECTIONS");
  return value < 1 || value > static_cast<int>(most_queues) ? default_queues : static_cast<std::uint32_t>(value);
}

void decide_fillable(const Answers& answers, OneQueue wish, Marking& marking) {
  decide_for_plain_stream(answers, marking);
  marking.fillable_in_plain = marking.fillable;
  marking.unfillable_in_plain = marking.unfillable;
  if (answers[Asked::event] != Found::passes) return;  // bubbles are not known well enough
  const auto fill_in = [&](FillStream stream) {
    marking.stream = stream;
    marking.fillable = Fillable::any;
    marking.unfillable = "";
  };
  if (answers[Asked::green_balanced] == Found::passes) return fill_in(FillStream::green_context);
  if (wish != OneQueue::above) return;
  if (answers[Asked::above] == Found::passes) return fill_in(FillStream::above);
  marking.unheeded =
      "WEFT_ONE_QUEUE=above changes nothing here: streams of higher priority have no hardware queue of their own "
      "(weft check)";
}

void fall_back_to_plain_stream(Marking& marking) {
  marking.stream = FillStream::plain;
  marking.fillable = marking.fillable_in_plain;
  marking.unfillable = marking.unfillable_in_plain;
}

Marking marking_for(const Environments& environments, const Answers* answers, Purpose purpose, OneQueue wish) {
  if (number_in(environments.now, "CUDA_LAUNCH_BLOCKING") == 1)
    return unmarked("blocking launches (CUDA_LAUNCH_BLOCKING=1)");
  if (number_in(environments.first, "CUDA_LAUNCH_BLOCKING") == 1)
    return unmarked("perhaps blocking launches (CUDA_LAUNCH_BLOCKING was 1 when the process began)");
  if (hardware_queues(environments.now) == 1)
    return with_one_queue("one hardware queue (CUDA_DEVICE_MAX_CONNECTIONS=1)", answers, purpose, wish);
  if (hardware_queues(environments.first) == 1)
    return with_one_queue("perhaps one hardware queue (CUDA_DEVICE_MAX_CONNECTIONS was 1 when the process began)",
                          answers, purpose, wish);
  return with_several_queues(answers);
}

}  // namespace weft
