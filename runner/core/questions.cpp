// Asks streams whether they have work left; see the header.
#include "runner/core/questions.h"

#include <algorithm>

namespace weft {
namespace {

constexpr int most_streams = 320;  // more than the shim lists

EventKind kind_of(StreamAnswer answer) {
  if (answer == StreamAnswer::dry) return EventKind::stream_dry;
  return answer == StreamAnswer::busy ? EventKind::stream_busy : EventKind::stream_unknown;
}

}  // namespace

const std::vector<Event>& Questions::answers(const Session& session, TimePoint time, bool ask) {
  answers_.clear();
  if (!session.wants_answers()) return answers_;
  const bool all_named = name_streams(session, ask);
  const Answer not_all{StreamAnswer::unknown};
  const std::optional<Answer> of_others = session.answer_of(0);
  if (!all_named && of_others && of_others != not_all) answer(time, 0, not_all);
  // One that has work left is enough, so the one that had some last is asked first. One that may stand behind a blocked
  // one is not: another may still run, or no longer.
  const auto last = std::find(streams_.begin(), streams_.end(), busy_);
  if (last != streams_.end()) std::iter_swap(streams_.begin(), last);
  for (const StreamId stream : streams_) {
    const std::optional<Answer> known = session.answer_of(stream);
    if (!known) continue;
    const Answer now = ask ? shim_.ask_stream(device_, stream) : Answer{StreamAnswer::unknown};
    if (now != *known) answer(time, stream, now);
    if (now.says != StreamAnswer::busy || session.is_doubtful(stream)) continue;
    busy_ = stream;
    break;
  }
  for (std::size_t i = 0; i + 1 < answers_.size(); ++i) answers_[i].more_follow = true;
  return answers_;
}

// Those that the shim lists, and those that the detector knows besides: per-thread default streams. False: the shim
// cannot list them all.
bool Questions::name_streams(const Session& session, bool ask) {
  streams_.resize(most_streams);
  const int count = ask ? shim_.list_streams_to_ask(device_, streams_.data(), most_streams) : -1;
  streams_.resize(static_cast<std::size_t>(std::max(count, 0)));
  const std::size_t listed = streams_.size();
  session.to_ask(streams_);
  const auto end_of_list = streams_.begin() + static_cast<std::ptrdiff_t>(listed);
  streams_.erase(
      std::remove_if(end_of_list, streams_.end(),
                     [&](StreamId id) { return std::find(streams_.begin(), end_of_list, id) != end_of_list; }),
      streams_.end());
  return count >= 0;
}

void Questions::answer(TimePoint time, StreamId stream, Answer answer) {
  Event event{};
  event.time = time;
  event.kind = kind_of(answer.says);
  event.device = static_cast<std::int16_t>(device_);
  event.stream = stream;
  event.order = answer.order;
  event.ticket = answer.launched_before;
  event.done_ticket = answer.launched;
  answers_.push_back(event);
}

}  // namespace weft
