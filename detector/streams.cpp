// How far each stream has got, by marks, groups and answers; see streams.h and README.md. The rule that reads it is in
// verdict.cpp. Called by the detector, on its one thread.
#include "detector/streams.h"

#include <algorithm>

namespace weft {

std::vector<Streams::Stream>::iterator Streams::place_of(StreamId id) {
  return std::lower_bound(streams_.begin(), streams_.end(), id, [](const Stream& s, StreamId i) { return s.id < i; });
}

Streams::Stream* Streams::search(StreamId id) {
  const auto place = place_of(id);
  if (place == streams_.end() || place->id != id) return nullptr;
  places_[id % places_.size()] = static_cast<std::uint16_t>(place - streams_.begin());
  return &*place;
}

Streams::Stream* Streams::find_or_add(StreamId id) {
  Stream* stream = find(id);
  if (stream != nullptr) return stream;
  if (id == 0 || streams_.size() == most_streams) {
    ++lost_;
    return nullptr;
  }
  is_stale_ = are_sharers_stale_ = true;
  stream = &*streams_.emplace(place_of(id));
  stream->id = id;
  return stream;
}

// A stream that was dry has got to the mark at once, unless something was launched ahead of it: the next answer tells.
void Streams::issue(Stream& stream, const Mark& mark) {
  is_stale_ = is_stale_ || matters(stream, mark);
  if (is_before(newest_, mark.ticket)) newest_ = mark.ticket;
  if (is_before(legacy_used_, newest_) && newest_ - legacy_used_ >= comparable)
    is_stale_ = std::exchange(legacy_used_, 0) != 0 || is_stale_;
  if (current_answer(stream).says != StreamAnswer::dry) stream.answer = {};
  if (!mark.nothing_before) ++stream.launched;
  if (stream.ahead.full()) lose_sight(stream, stream.ahead.front().ticket), ++lost_;
  stream.ahead.push(mark);
}

void Streams::lose_sight(Stream& stream, Ticket first) {
  is_stale_ = true;
  if (stream.at.kind == Kind::lost) return;
  stream.at = {Kind::lost, false, first};
}

void Streams::lose_sight(const Group& forgotten) {
  is_stale_ = true;  // others may wait for it
  Stream* stream = find(forgotten.stream);
  if (stream == nullptr) return;
  lose_sight(*stream, stream->at.ticket);
  while (!stream->groups.empty() && stream->groups.front() <= forgotten.id) stream->groups.pop();
}

void Streams::group_issued(const Group& group, Ticket ticket) {
  // Of those that are over it takes the place of one; an earlier one, or the same once more, may come later.
  const bool is_late = group.id <= std::exchange(newest_group_, std::max(newest_group_, group.id));
  is_stale_ = is_stale_ || reads_.past || is_late;
  Stream* stream = find_or_add(group.stream);
  if (stream == nullptr) return;
  stream->has_others =
      stream->has_others || stream->communicator.value_or(group.slot.communicator) != group.slot.communicator;
  stream->communicator = group.slot.communicator;
  const bool ends_sends = !group.send_only && std::exchange(stream->sends_only, false);
  is_stale_ = is_stale_ || (reads_.counts && ends_sends);
  if (group.done) return;
  // Its first group is another one; or the host waits for one of them.
  is_stale_ = is_stale_ || stream->groups.empty() || stream->groups.full() || !host_waits_.empty();
  if (stream->groups.full()) ++lost_;
  stream->groups.push(group.id);
  if (group.start_known) issue(*stream, {Kind::start, group.nothing_launched, ticket, group.id});
}

// The group that stands at the end of the chain now, where the place is behind a group or behind another wait.
GroupId Streams::group_behind(const AwaitedPlace& place) const {
  const Stream* source = find(place.stream);
  if (source == nullptr) return 0;
  for (std::size_t i = source->groups.size(); i-- > 0;) {
    const Group* group = groups_.find(source->groups[i]);
    if (group != nullptr && group->done_ticket == place.ticket) return group->id;
  }
  for (std::size_t i = source->ahead.size(); i-- > 0;)
    if (source->ahead[i].kind == Kind::wait && source->ahead[i].passed == place.ticket) return source->ahead[i].group;
  return source->at.kind == Kind::wait && source->at.passed == place.ticket ? source->at.group : 0;
}

void Streams::wait_issued(const Event& wait) {
  const GroupId group = group_behind(wait.awaited);
  const Group* g = groups_.find(group);
  const bool is_direct = g != nullptr && g->stream == wait.awaited.stream && g->done_ticket == wait.awaited.ticket;
  if (is_direct)
    if (Stream* owner = find(g->stream)) ++owner->waited_for;
  is_stale_ = is_stale_ || (is_direct && reads_.counts);
  Stream* stream = find_or_add(wait.stream);
  if (stream == nullptr) return;
  if (is_direct) ++stream->waits;
  const Ticket passed = wait.done_ticket;
  issue(*stream, {Kind::wait, wait.nothing_launched, wait.ticket, group, wait.awaited, passed, wait.in_graph});
  const bool nothing_between = wait.in_graph == InGraph::no;
  if (passed != 0) issue(*stream, {Kind::passed, nothing_between, passed, 0, {}, wait.ticket});
}

// With nothing to compute ahead of it stands what makes the stream wait there.
void Streams::mark_issued(const Event& mark) {
  Stream* stream = find_or_add(mark.stream);
  if (stream != nullptr)
    issue(*stream, {mark.nothing_launched ? Kind::copied : Kind::passed, mark.nothing_launched, mark.ticket});
}

void Streams::launch_noted(StreamId id, Ticket newest) {
  Stream* stream = find(id);
  if (stream == nullptr) return;
  (stream->ahead.empty() ? stream->at : stream->ahead.back()).launched = newest;
  is_stale_ = is_stale_ || reads_.marks || queues_are_shared_;
}

void Streams::marks_held_back(StreamId id, Ticket next, bool only_copy) {
  Stream* stream = find_or_add(id);
  if (stream == nullptr) return;
  is_stale_ = true;
  Mark& last = stream->ahead.empty() ? stream->at : stream->ahead.back();
  if (last.kind != Kind::lost)
    issue(*stream, {.kind = Kind::lost, .ticket = next, .only_copies = only_copy});
  else
    last.only_copies = last.only_copies && only_copy;
}

void Streams::graph_wait_moved() {
  is_stale_ = true;
  const auto move = [](Mark& mark) {
    if (mark.in_graph == InGraph::at_its_head) mark.in_graph = InGraph::somewhere;
  };
  for (Stream& stream : streams_) {
    move(stream.at);
    for (std::size_t i = 0; i < stream.ahead.size(); ++i) move(stream.ahead[i]);
  }
}

void Streams::host_wait_begun(StreamId stream) {
  is_stale_ = true;
  if (host_waits_.size() < most_host_waits) {
    host_waits_.push_back(stream);
  } else {
    ++lost_;
  }
}

void Streams::host_wait_ended(StreamId stream) {
  is_stale_ = true;
  const auto match = std::find(host_waits_.begin(), host_waits_.end(), stream);
  if (match != host_waits_.end()) {
    host_waits_.erase(match);
  } else if (!host_waits_.empty()) {
    host_waits_.pop_back();
  }
}

// Its work goes on to the end, and others may wait for that.
void Streams::stream_destroyed(StreamId id, Ticket last) {
  is_stale_ = true;
  Stream* stream = last == 0 ? find(id) : find_or_add(id);
  if (stream == nullptr) return;
  if (last != 0) issue(*stream, {Kind::passed, false, last});
  stream->destroyed = true;
  const bool is_legacy = id == legacy_;  // its context goes
  erase_if_over(id);
  if (is_legacy) end_abandoned({});
}

// Nobody can ask it. The legacy stream tells when that is over: it waits for it.
void Streams::stream_abandoned(StreamId id, Ticket newest) {
  is_stale_ = true;
  Stream* stream = find_or_add(id);
  if (stream == nullptr) return;
  stream->destroyed = stream->abandoned = true;
  stream->abandoned_at = newest;
  if (Stream* legacy = find(legacy_)) legacy->answer = {};  // of a time before
}

void Streams::erase_if_over(StreamId id) {
  const Stream* stream = find(id);
  if (stream == nullptr || !stream->destroyed || stream->abandoned || has_known_mark_ahead(*stream) ||
      first_pending(id) != nullptr)
    return;
  is_stale_ = are_sharers_stale_ = true;

  queues_.forget(id);
  streams_.erase(place_of(id));
}

// The stream has passed so many of the marks ahead of it.
void Streams::reach(Stream& stream, std::size_t marks) {
  is_stale_ = true;
  for (; marks > 0; --marks) {
    stream.at = stream.ahead.front();
    stream.ahead.pop();
    if (one_queue_) look_for_proof(stream.at.ticket);
    if (stream.at.kind != Kind::start) continue;
    if (Group* group = groups_.find(stream.at.group)) group->started = true;
  }
  stream.answer = {};
  note_passed(stream, stream.at.ticket, passed_by(stream));
  note_passed_already(stream);
  if (stream.order == StreamOrder::legacy) end_abandoned(stream.at.ticket);
}

void Streams::group_started(GroupId id) {
  Group* group = groups_.find(id);
  if (group == nullptr) return;
  is_stale_ = !std::exchange(group->started, true) || is_stale_;
  Stream* stream = find(group->stream);
  if (stream == nullptr) return;
  for (std::size_t i = 0; i < stream->ahead.size(); ++i)
    if (stream->ahead[i].kind == Kind::start && stream->ahead[i].group == id) return reach(*stream, i + 1);
}

void Streams::group_done(GroupId id) {
  group_started(id);
  Group* group = groups_.find(id);
  if (group == nullptr) return;
  is_stale_ = !std::exchange(group->done, true) || is_stale_;
  Stream* stream = find(group->stream);
  if (stream == nullptr) return;
  while (!stream->groups.empty() && (stream->groups.front() <= id || !groups_.pending(stream->groups.front()))) {
    ++stream->done;
    stream->groups.pop();
    is_stale_ = true;
  }
  erase_if_over(stream->id);
}

Group* Streams::first_pending(StreamId id) {
  const Stream* stream = find(id);
  return stream == nullptr ? nullptr : first_pending(*stream);
}

Group* Streams::first_pending(const Stream& stream) const {
  return stream.groups.empty() ? nullptr : groups_.find(stream.groups.front());
}

bool Streams::marker_reached(StreamId id, Ticket ticket) {
  Stream* stream = find(id);
  if (stream == nullptr) return true;  // it was lost, which is counted
  for (std::size_t i = 0; i < stream->ahead.size(); ++i) {
    const Kind kind = stream->ahead[i].kind;
    if (stream->ahead[i].ticket != ticket || kind == Kind::start || kind == Kind::lost) continue;
    reach(*stream, i + 1);
    erase_if_over(id);
    return true;
  }
  if (stream->at.kind == Kind::lost) return true;
  // Of one look the later one may be told first.
  return stream->at.ticket == ticket || (stream->at.kind == Kind::passed && stream->at.passed == ticket);
}

bool Streams::ran_unseen(StreamId id, const Answer& answer) const {
  const Stream* stream = find(id);
  const Answer before = stream == nullptr ? Answer{} : current_answer(*stream);
  return before.says == StreamAnswer::dry && answer.says == StreamAnswer::dry && before.launched != 0 &&
         answer.launched != 0 && before.launched != answer.launched;
}

void Streams::answered(StreamId id, Answer answer) {
  is_stale_ = true;
  if (id == 0) {
    others_unknown_ = questions_;
    return;
  }
  Stream* stream = find_or_add(id);
  if (stream == nullptr) return;
  const Answer before = current_answer(*stream);
  // No mark is ahead that could tell where it is, but now it is behind them all.
  const bool was_lost = position(*stream) == Position::lost && !has_known_mark_ahead(*stream);
  if (was_lost && answer.says == StreamAnswer::dry) {
    stream->ahead.clear();
    stream->at = {};
  }
  stream->answer = answer;
  stream->asked = questions_;
  stream->had_work = stream->had_work || answer.says == StreamAnswer::busy;
  // A launch is counted before it is made: it was there when the stream said that it was busy, or this tells nothing.
  // A wait may hold its hardware queue up only together with what is launched behind it. By the next marks, of another
  // group or wait, that is there.
  constexpr Ticket marks_of_another = 2;
  if (before.says == StreamAnswer::busy && answer.says == StreamAnswer::dry && answer.launched_before != 0 &&
      answer.launched_before == before.launched_before)
    note_passed(*stream, answer.launched_before - marks_of_another, Passed::call);
  // It answers for blocking streams as well, those that are gone included.
  if (answer.order == StreamOrder::legacy && answer.says == StreamAnswer::dry) end_abandoned({});
}

void Streams::looked() {
  look_at_proof();
  if (is_learning_) --looks_to_learn_, ++looks_learned_;
  if (looks_for_blocking_now_) ++looks_for_blocking_;
  if (is_in_doubt_ && looks_to_learn_ < most_looks_to_learn) ++looks_to_learn_;
  is_stale_ = is_stale_ || one_queue_ || is_learning_ || looks_for_blocking_now_ || is_in_doubt_;
  const bool found = queues_.looked([this](StreamId id, HeldPlace place) {
    const Stream* stream = find(id);
    return stream != nullptr && is_held_at(*stream, place);
  });
  is_stale_ = is_stale_ || found;
  are_sharers_stale_ = are_sharers_stale_ || found;
}

std::optional<Answer> Streams::answer_of(StreamId id) const {
  if (id == 0 && is_learning_) return std::nullopt;
  if (id == 0) return Answer{others_unknown_ == questions_ ? StreamAnswer::unknown : StreamAnswer::none};
  const Stream* stream = find(id);
  if (stream == nullptr) return is_learning_ ? std::nullopt : std::optional(Answer{});
  return is_asked(*stream) ? std::optional(current_answer(*stream)) : std::nullopt;
}

bool Streams::is_doubtful(StreamId id) const {
  const Stream* stream = find(id);
  if (stream == nullptr) return false;
  return is_learning_ || stream->is_doubtful || holder_of(*stream) != nullptr || may_stand_behind_legacy(*stream);
}

void Streams::to_ask(std::vector<StreamId>& found) const {
  for (const Stream& stream : streams_)
    if (is_asked(stream)) found.push_back(stream.id);
}

bool Streams::has_known_mark_ahead(const Stream& stream) {
  // Of lost ones no two stand in a row.
  return stream.ahead.size() > 1 || (!stream.ahead.empty() && stream.ahead.front().kind != Kind::lost);
}

bool Streams::is_asked(const Stream& stream) const {
  if (stream.destroyed || (is_learning_ && !stream.was_doubtful)) return false;
  const Position where = position(stream);
  return where == Position::behind || (where == Position::lost && !has_known_mark_ahead(stream));
}

}  // namespace weft
