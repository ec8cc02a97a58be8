// The detector's part that follows annotations: iterations and bubbles that the framework says. Called by detector.cpp
// with said_... events, and with each group, which may show that an annotation is no longer true.
#include "detector/implementation.h"

namespace weft {

void Detector::Implementation::iteration_said(const Event& event) {
  const bool begins = event.kind == EventKind::said_iteration_begun;
  refused(sayings_.microbatch_left_open());
  give_up_bubble(sayings_.bubble_left_open());
  const char* why =
      begins ? sayings_.iteration_begun(event.saying, issued_) : sayings_.iteration_ended(event.saying, issued_);
  refused(why);
  if (begins) said_turns_.heard(event.saying.number);
  if (said_turns_.counts())
    note(
        "annotations: the numbers of iterations go by no fixed step, so each rank counts them for the slowdown budget");
  if (why != nullptr) return stop_following();
  if (!begins && iterations_.said()) {
    const std::optional<Iteration> ended = iterations_.said_ended(now_);
    if (ended) iteration_over(*ended, latest_is_marked_);
  }
  if (!begins || !sayings_.iterations_are_believed()) return;
  const bool already = iterations_.said();
  if (!already) {
    if (table_ != 0) rhythm_lost(iterations_.length());
    iterations_.saying_found();
    table_ = slots_.table_for(iterations_.key(), longest_period_);
    report(FindingKind::rhythm_found);
  }
  iterations_.said_begun(event.saying.number, said_turns_.turn(), now_);
}

// The framework leads as long as it goes on to say where iterations are.
void Detector::Implementation::follow_sayings() {
  if (!iterations_.said() || !sayings_.iterations_have_ceased(issued_)) return;
  note("annotations: iterations are no longer said, they are found by what repeats");
  stop_following();
}

void Detector::Implementation::stop_following() {
  if (!iterations_.said()) return;
  rhythm_lost(iterations_.length());
  rhythm_.begin_again(issued_);
}

void Detector::Implementation::refused(const char* why) {
  if (why != nullptr) note(why);
}

// Whether there is one, the streams decide.
void Detector::Implementation::bubble_said(const Event& event) {
  const bool begins = event.kind == EventKind::said_bubble_begun;
  refused(begins ? sayings_.bubble_begun(event.saying) : sayings_.bubble_ended(event.saying));
  follow_bubbles();
}

void Detector::Implementation::give_up_bubble(const char* why) {
  if (why == nullptr) return;
  refused(why);
  follow_bubbles();
}

void Detector::Implementation::follow_bubbles() {
  // Another one, or none: what is open was for the one before.
  if (open_ && open_->pattern == Pattern::said) close();
  if (sayings_.in_bubble()) said_bubbles_.begin(iterations_.present());
  streams_.idle_said(sayings_.in_bubble());
}

}  // namespace weft
