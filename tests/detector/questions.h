// The dispatcher's part after each look, for tests with random programs: it asks the streams that the detector wants to
// know of, and passes on what is new. Whom to ask is the detector's choice, the answers are the program's.
#pragma once

#include "detector/detector.h"
#include "programs.h"

namespace weft::testing {

// Answers that the detector does not have yet, as events of the time `dated`.
inline std::vector<Event> news_for(const Detector& detector, const RandomProgram& program, std::int64_t time,
                                   std::int64_t dated) {
  std::vector<Event> news;
  for (const auto& [stream, answer] : program.answers_at(time)) {
    const std::optional<Answer> known = detector.answer_of(stream);
    if (!known || *known == answer) continue;
    Event event{};
    event.time = TimePoint(Duration(dated));
    event.stream = stream;
    event.order = answer.order;
    event.ticket = answer.launched_before;
    event.done_ticket = answer.launched;
    event.kind = answer.says == StreamAnswer::dry    ? EventKind::stream_dry
                 : answer.says == StreamAnswer::busy ? EventKind::stream_busy
                                                     : EventKind::stream_unknown;
    news.push_back(event);
  }
  return news;
}

}  // namespace weft::testing
