// See marking.h.
#include "runner/options/marking.h"

#include <cstdlib>

#include "runner/options/answers.h"

namespace weft {
namespace {

constexpr std::uint32_t default_queues = 8;

// As the driver reads numbers; 0: there is none.
int number_in(const Variables& variables, const char* name) {
  const auto found = variables.find(name);
  return found == variables.end() ? 0 : std::atoi(found->second.c_str());
}

Marking with_one_queue(const char* because, const Answers* answers, Purpose purpose) {
  Marking marking{Marks::events, true, because, Fillable::unasked};
  if (answers == nullptr) return marking;
  decide_fillable(*answers, marking);
  const bool prefers_events = purpose == Purpose::fill && marking.fillable == Fillable::host_waits;
  if ((*answers)[Asked::event] == Found::holds)
    marking.marks = Marks::none, marking.because = "one hardware queue, which an event holds up (weft check)";
  else if ((*answers)[Asked::write] == Found::passes && !prefers_events)
    marking.marks = Marks::writes;
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
  return {Marks::none, false, because, Fillable::nothing, "idle time is not measured"};
}

}  // namespace

std::uint32_t hardware_queues(const Variables& variables) {
  const int value = number_in(variables, "CUDA_DEVICE_MAX_CONNECTIONS");
  return value < 1 || value > static_cast<int>(most_queues) ? default_queues : static_cast<std::uint32_t>(value);
}

void decide_fillable(const Answers& answers, Marking& marking) {
  const auto refuse = [&](const char* why) { marking.fillable = Fillable::nothing, marking.unfillable = why; };
  if (answers[Asked::event] == Found::holds) return refuse("an event holds up what is launched next (weft check)");
  if (answers[Asked::host_wait] == Found::holds)
    return refuse("what is launched while the host waits for the GPU does not run (weft check)");
  if (answers[Asked::event] != Found::passes || answers[Asked::host_wait] != Found::passes)
    return refuse("weft check has no answer whether fill work runs beside a host that waits for the GPU");
  const bool streams_may_wait = answers[Asked::host_and_stream_wait] == Found::passes;
  marking.fillable = streams_may_wait ? Fillable::host_waits : Fillable::host_waits_alone;
}

Marking marking_for(const Environments& environments, const Answers* answers, Purpose purpose) {
  if (number_in(environments.now, "CUDA_LAUNCH_BLOCKING") == 1)
    return unmarked("blocking launches (CUDA_LAUNCH_BLOCKING=1)");
  if (number_in(environments.first, "CUDA_LAUNCH_BLOCKING") == 1)
    return unmarked("perhaps blocking launches (CUDA_LAUNCH_BLOCKING was 1 when the process began)");
  if (hardware_queues(environments.now) == 1)
    return with_one_queue("one hardware queue (CUDA_DEVICE_MAX_CONNECTIONS=1)", answers, purpose);
  if (hardware_queues(environments.first) == 1)
    return with_one_queue("perhaps one hardware queue (CUDA_DEVICE_MAX_CONNECTIONS was 1 when the process began)",
                          answers, purpose);
  return with_several_queues(answers);
}

}  // namespace weft
