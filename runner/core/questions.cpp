// Asks streams whether they have work left; see the header.
#include "runner/core/questions.h"

#include <algorithm>

namespace weft {
namespace {

constexpr int most_streams = 64;  // more than the shim lists

EventKind kind_of(StreamAnswer answer) {
  if (answer == StreamAnswer::dry) return EventKind::stream_dry;
  return answer == StreamAnswer::busy ? EventKind::stream_busy : EventKind::stream_unknown;
}

}  // namespace

const std::vector<Event>& Questions::answers(const Session& session, TimePoint time, bool ask) {
  answers_.clear();
  if (!session.wants_answers()) return answers_;
  StreamId ids[most_streams];
  const int count = ask ? shim_.list_streams_to_ask(device_, ids, most_streams) : 0;
  for (int index = 0; index < count; ++index) ask_one(session, time, ids[index]);
  const bool all_named = ask && count >= 0;
  if (!all_named && session.answer_of(0) != StreamAnswer::unknown) answer(time, 0, StreamAnswer::unknown);
  // Those that nobody may ask: per-thread default streams, and all of them where there are too many.
  silent_.clear();
  session.unanswered(silent_);
  for (const StreamId stream : silent_) {
    const bool has_answered =
        std::any_of(answers_.begin(), answers_.end(), [&](const Event& event) { return event.stream == stream; });
    if (!has_answered) answer(time, stream, StreamAnswer::unknown);
  }
  return answers_;
}

void Questions::ask_one(const Session& session, TimePoint time, StreamId stream) {
  const std::optional<StreamAnswer> known = session.answer_of(stream);
  if (!known) return;
  const StreamAnswer now = shim_.ask_stream(device_, stream);
  if (now != *known) answer(time, stream, now);
}

void Questions::answer(TimePoint time, StreamId stream, StreamAnswer answer) {
  Event event{};
  event.time = time;
  event.kind = kind_of(answer);
  event.device = device_;
  event.stream = stream;
  answers_.push_back(event);
}

}  // namespace weft
