// The answers of a rank's streams in virtual time to a detector that has asked, as of core/questions.
//
// Used by the policies that observe. Pure.
#pragma once

#include <optional>
#include <utility>
#include <vector>

#include "sim/pipeline/world.h"

namespace weft::model {

class Answers {
 public:
  // The world outlives this.
  Answers(const pipeline::World& world, int rank) : world_(world), rank_(rank) {}

  // `Observer`: a Session or a Detector.
  template <class Observer>
  void give(Observer& observer, TimePoint now) {
    if (!observer.wants_answers()) return;
    world_.ask(rank_, answers_);
    Event event{};
    event.time = now;
    for (const auto& [stream, answer] : answers_) {
      const std::optional<Answer> known = observer.answer_of(stream);
      if (!known || answer == *known) continue;
      event.kind = answer.says == StreamAnswer::busy ? EventKind::stream_busy : EventKind::stream_dry;
      event.stream = stream;
      event.ticket = answer.launched_before;
      observer.observe(event);
    }
  }

 private:
  const pipeline::World& world_;
  const int rank_;
  std::vector<std::pair<StreamId, Answer>> answers_;
};

}  // namespace weft::model
