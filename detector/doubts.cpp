// Streams whose work may stand behind a blocked stream in its hardware queue; see streams.h and README.md.
//
// A part of Streams: called for each verdict, and as streams get on. Constant tables, nothing is allocated but the list
// of blocked places, which keeps its room.
#include <algorithm>

#include "detector/streams.h"

namespace weft {

// All that was enqueued on the stream before this ticket is over. `by`: it is that of this.
void Streams::note_passed(const Stream& stream, Ticket place, Passed by) {
  for_each_sharer(stream, [&](const Stream& other) {
    if (may_be_past(place, other)) note_passed(stream, other.id, proving_places(other, by), place);
    return true;
  });
}

// A quick test that spares most of them the one for the place: all that the stream has ahead has later tickets than its
// latest mark, if that is not so old that tickets have started again.
bool Streams::may_be_past(Ticket place, const Stream& stream) const {
  return stream.at.kind == Kind::none || newest_ - stream.at.ticket >= comparable || is_before(stream.at.ticket, place);
}

void Streams::note_passed(const Stream& stream, StreamId blocked, const ProvingPlaces& held, Ticket place) {
  const auto pass = [&](std::optional<Ticket> at, HeldBy by) {
    if (at && is_before(*at, place)) queues_.passed(stream.id, blocked, {*at, by});
  };
  pass(held.wait, HeldBy::wait);
  pass(held.kernel, HeldBy::kernel);
}

Streams::ProvingPlaces Streams::proving_places(const Stream& stream, Passed by) const {
  return {proving_place(stream, by), queues_are_shared_ ? proving_kernel(stream, by) : std::nullopt};
}

Streams::Passed Streams::passed_by(const Stream& stream) {
  return stream.at.kind == Kind::start ? Passed::group : Passed::call;
}

// It has got to a place that the others may be past: they got there while it, or what stands before it, held up their
// queue, if it is the same. Not those whose latest mark is so old that tickets have started again.
void Streams::note_passed_already(const Stream& blocked) {
  for (const Passed by : {Passed::group, Passed::call}) {
    std::optional<ProvingPlaces> held;
    for_each_sharer(blocked, [&](const Stream& other) {
      if (other.at.kind == Kind::none || other.at.kind == Kind::lost) return true;
      if (passed_by(other) != by || newest_ - other.at.ticket >= comparable) return true;
      if (!may_be_past(other.at.ticket, blocked)) return true;
      if (!held) held = proving_places(blocked, by);
      note_passed(other, blocked.id, *held, other.at.ticket);
      return held->wait || held->kernel;
    });
  }
}

bool Streams::is_held_at(const Stream& stream, HeldPlace place) const {
  const auto is_the_one = [&](Passed by) {
    return (place.by == HeldBy::wait ? proving_place(stream, by) : proving_kernel(stream, by)) == place.ticket;
  };
  return is_the_one(Passed::call) || is_the_one(Passed::group);
}

// Who gets past this ticket stands in another hardware queue: behind the obstacle stands something that was launched
// before. An obstacle may hold its queue up only together with that. It counts only if it does hold something up, and
// not only as far as is known.
std::optional<Ticket> Streams::proving_place(const Stream& stream, Passed by) const {
  const Mark* obstacle = first_obstacle(stream);
  if (obstacle == nullptr || obstacle->kind == Kind::lost || !surely_holds(stream, *obstacle)) return std::nullopt;
  if (obstacle->kind == Kind::copied) return obstacle->ticket;  // it was marked for a launch behind it
  return launched_behind(stream, *obstacle, false, by);
}

// A copy, or something outside of this device, may be over before the stream gets to the wait for it; a graph may
// compute before its wait.
bool Streams::surely_holds(const Stream& stream, const Mark& obstacle) const {
  if (obstacle.in_graph != InGraph::no) return false;
  const bool is_at_it = obstacle.kind == Kind::copied
                            ? &obstacle == &stream.ahead.front() && obstacle.nothing_before && !is_in_group(stream)
                            : &obstacle == &stream.at && is_waiting(stream);
  const bool is_known = obstacle.kind == Kind::wait && obstacle.awaited.stream != 0 && !obstacle.awaited.copies;
  return is_at_it || is_known;
}

// Who gets past this ticket is held up by no kernel that waits for the group which the stream is in, or by the kernel
// of that group, which waits for another one.
std::optional<Ticket> Streams::proving_kernel(const Stream& stream, Passed by) const {
  if (!is_in_group(stream)) return std::nullopt;
  return launched_behind(stream, stream.at, waits_for_earlier_group(stream), by);
}

// The first ticket that was surely given out after a launch behind this mark. Those of the groups of one call are all
// given out before a kernel is launched: for a group it is there by the next mark that is not of one, for others by the
// end of the call. `is_launched`: this mark's group counts, too.
std::optional<Ticket> Streams::launched_behind(const Stream& stream, const Mark& place, bool is_launched,
                                               Passed by) const {
  const auto end_of = [&](const Mark& mark) {
    const Group* group = by == Passed::call && mark.kind == Kind::start ? groups_.find(mark.group) : nullptr;
    return group == nullptr ? std::nullopt : std::optional(group->done_ticket);
  };
  if (is_launched)
    if (const auto end = end_of(place)) return end;
  bool is_behind = &place == &stream.at;
  if (is_behind && is_in_group(stream) && place.launched != 0) return place.launched;
  for (std::size_t i = 0; i < stream.ahead.size(); ++i) {
    const Mark& mark = stream.ahead[i];
    if (mark.kind == Kind::lost) return std::nullopt;
    const bool may_be_of_call = by == Passed::group && mark.kind == Kind::start;
    if (is_behind && ((is_launched && !may_be_of_call) || !mark.nothing_before)) return mark.ticket;
    is_behind = is_behind || &mark == &place;
    if (is_behind && mark.launched != 0) return mark.launched;
    if (const auto end = is_behind ? end_of(mark) : std::nullopt) return end;
    is_launched = is_behind && (is_launched || mark.kind == Kind::start);
  }
  return std::nullopt;
}

// It is in a group whose kernel waits for an earlier one of its communicator, on another stream: NCCL runs them one
// after the other.
bool Streams::waits_for_earlier_group(const Stream& stream) const {
  const Group* group = is_in_group(stream) ? groups_.find(stream.at.group) : nullptr;
  return group != nullptr && waits_for_earlier(*group, [](const Group& earlier) { return !earlier.done; });
}

// Behind this ticket stands a kernel that waits for the group which the stream is in, or that of a group which waits
// for another one. It may hold up its hardware queue meanwhile; nothing: there is none. Marks pass: only one queue is
// asked whether they do.
std::optional<Ticket> Streams::waiting_kernel(const Stream& stream) const {
  if (!is_in_group(stream)) return std::nullopt;
  if (waits_for_earlier_group(stream)) return stream.at.ticket;
  if (stream.at.launched != 0) return stream.at.launched;
  const Mark* before = &stream.at;
  for (std::size_t i = 0; i < stream.ahead.size(); ++i) {
    const Mark& mark = stream.ahead[i];
    if (mark.kind == Kind::lost || !mark.nothing_before) return before->ticket;
    if (mark.kind == Kind::start) return mark.ticket;
    if (mark.launched != 0) return mark.launched;
    before = &mark;
  }
  return std::nullopt;
}

// Behind this ticket stands the last that the stream has to compute; 0: not known. Nothing: no more is known than that
// it may have something.
std::optional<Ticket> Streams::place_of_work(const Stream& stream) const {
  const Position where = stream.where;
  if (where == Position::running) return stream.ahead.front().ticket;
  const Answer answer = where == Position::behind ? current_answer(stream) : Answer{};
  return answer.says == StreamAnswer::busy ? std::optional(answer.launched_before) : std::nullopt;
}

// The first of its marks that is a wait or a copy that is not over, or may have been one; nullptr: there is none.
const Streams::Mark* Streams::first_obstacle(const Stream& stream) const {
  const auto is_one = [this](const Mark& mark) { return mark.kind == Kind::lost || is_open_wait(mark); };
  if (is_one(stream.at)) return &stream.at;
  for (std::size_t i = 0; i < stream.ahead.size(); ++i)
    if (is_one(stream.ahead[i]) || stream.ahead[i].kind == Kind::copied) return &stream.ahead[i];
  return nullptr;
}

// Its first obstacle, unless that is a wait for compute that runs; nothing: none. In the hardware queue of the stream
// nothing that stands behind this ticket runs.
std::optional<Ticket> Streams::blocked_place(Stream& stream) const {
  const Mark* wait = first_obstacle(stream);
  stream.end_matters = wait == nullptr;
  if (wait == nullptr) return std::nullopt;
  if (wait->kind != Kind::wait) return wait->ticket;
  bool runs = false;
  if (const Stream* source = find(wait->awaited.stream))
    root_of(*source, runs, wait->awaited.copies ? &stream : nullptr, wait->awaited.ticket);
  return runs ? std::nullopt : std::optional(wait->ticket);
}

bool Streams::is_open_wait(const Mark& mark) const {
  return mark.kind == Kind::wait && (!is_over(mark.awaited) || may_compute(mark));
}

bool Streams::is_marked_behind(const Mark& mark, Ticket place) {
  return mark.kind != Kind::none && mark.kind != Kind::lost && is_before(place, mark.ticket);
}

bool Streams::is_over(const AwaitedPlace& place) const {
  if (place.stream == 0) return false;  // nothing is known of it
  if (place.stream == every_stream)
    return std::all_of(streams_.begin(), streams_.end(), [&](const Stream& each) {
      return is_over(AwaitedPlace{each.id, place.ticket});
    });
  const Stream* stream = find(place.stream);
  // The next marker stands behind the copy.
  if (place.copies) return stream != nullptr && is_marked_behind(stream->at, place.ticket);
  if (stream == nullptr) return true;
  const auto has_yet_to_reach = [&place](Ticket ticket) { return !is_before(place.ticket, ticket); };
  const Group* group = first_pending(*stream);
  if (group != nullptr && has_yet_to_reach(group->done_ticket)) return false;
  if (stream->at.kind == Kind::wait && has_yet_to_reach(stream->at.passed)) return false;
  return stream->ahead.empty() || !has_yet_to_reach(stream->ahead.front().ticket);
}

// None of the streams that wait is marked: nobody but their own threads may put something onto them.
void Streams::context_waits(const Event& wait) {
  is_stale_ = true;
  if (context_waits_.size() == most_context_waits) {
    context_waits_.erase(context_waits_.begin());
    ++lost_;
  }
  context_waits_.push_back({wait.awaited, wait.ticket});
}

void Streams::find_sharers() {
  are_sharers_stale_ = false;
  sharers_.fill(0);
  sharing_ = 0;
  if (streams_.size() > sharers_.size()) return;
  for (std::size_t i = 0; i < streams_.size(); ++i)
    for (std::size_t j = 0; j < i; ++j)
      if (!queues_.are_apart(streams_[i].id, streams_[j].id, HeldBy::wait))
        sharers_[i] |= std::uint64_t{1} << j, sharers_[j] |= std::uint64_t{1} << i;
  for (std::size_t i = 0; i < streams_.size(); ++i)
    if (sharers_[i] != 0) sharing_ |= std::uint64_t{1} << i;
}

// Has work that it may not get to, or is asked whether it has.
bool Streams::may_be_held_up(const Stream& stream) const {
  return stream.where == Position::running ||
         (stream.where == Position::behind && current_answer(stream).says != StreamAnswer::none);
}

// Of the first streams a bit for each that shares its queue with another one; all bits where there are more.
std::uint64_t Streams::held_up_perhaps() const {
  std::uint64_t found = 0;
  if (streams_.size() > sharers_.size() || one_queue_ || leaves_nothing_out_) return ~found;
  for (std::uint64_t left = sharing_; left != 0; left &= left - 1)
    if (may_be_held_up(streams_[static_cast<std::size_t>(std::countr_zero(left))])) found |= left & -left;
  return found;
}

// Each round: streams that may stand behind what the rounds before have found.
void Streams::look_for_doubts() {
  for (Stream& stream : streams_) stream.is_doubtful = stream.end_matters = false;
  if (are_sharers_stale_) find_sharers();
  const std::uint64_t held_up = held_up_perhaps();
  if (held_up == 0 && context_waits_.empty()) return blocked_.clear();
  for (bool found = true; found;) {
    found = false;
    find_blocked_places(held_up);
    if (blocked_.empty()) return;
    for (Stream& stream : streams_) {
      const std::optional<Ticket> work = stream.is_doubtful ? std::nullopt : place_of_work(stream);
      if (!work || !may_be_blocked(stream, *work)) continue;
      if (!stream.was_doubtful) looks_learned_ = 0;
      stream.is_doubtful = stream.was_doubtful = found = true;
    }
  }
}

// Where one was doubtful at as many looks, streams are asked while compute runs as well: a side stream may end only
// then, and would never be seen to get past a blocked one.
// It may also stand behind something on a default or blocking stream that is held up, which only an answer shows.
Verdict Streams::busy_for_sure(const Stream& running) {
  if ((running.order == StreamOrder::blocking && legacy_is_held_up()) || may_stand_behind_held_up(running)) {
    wants_answers_ = true;
    return {};
  }
  if (!may_learn()) return stop_asking();
  is_learning_ = wants_answers_ = true;
  return {};
}

bool Streams::may_learn() const {
  if (looks_to_learn_ == 0 || looks_learned_ >= most_looks_to_learn) return false;
  reads_.marks = true;
  return std::any_of(streams_.begin(), streams_.end(), [this](const Stream& blocked) {
    const bool waits = proving_place(blocked, Passed::call).has_value();
    if (!waits && (!queues_are_shared_ || !proving_kernel(blocked, Passed::call))) return false;
    const HeldBy by = waits ? HeldBy::wait : HeldBy::kernel;
    return std::any_of(streams_.begin(), streams_.end(), [&](const Stream& each) {
      return each.was_doubtful && each.id != blocked.id && !queues_.are_apart(each.id, blocked.id, by);
    });
  });
}

void Streams::find_blocked_places(std::uint64_t held_up) {
  blocked_.clear();
  for (std::size_t i = 0; i < streams_.size(); ++i) {
    Stream& stream = streams_[i];
    // Nobody asks whether it holds up those of other queues.
    if (held_up != ~std::uint64_t{0} && (held_up & sharers_[i]) == 0) continue;
    const auto add = [&](Ticket place, HeldBy by) { blocked_.push_back({stream.id, place, by, false}); };
    if (const std::optional<Ticket> place = blocked_place(stream)) add(*place, HeldBy::wait);
    if (const std::optional<Ticket> place = place_behind_group(stream)) add(*place, HeldBy::kernel);
    if (const Stream* holder = holder_of_work(stream)) add(holder->at.ticket, HeldBy::wait);
  }
  std::erase_if(context_waits_, [this](const ContextWait& wait) { return is_over(wait.awaited); });
  for (const ContextWait& wait : context_waits_)
    blocked_.push_back({wait.awaited.stream, wait.place, HeldBy::wait, true});
  for (const Stream& stream : streams_) {
    const std::optional<Ticket> work = stream.is_doubtful ? place_of_work(stream) : std::nullopt;
    if (!work) continue;
    for (BlockedPlace& place : blocked_)
      place.holds_up_another = place.holds_up_another || may_stand_behind(stream, *work, place);
  }
}

bool Streams::may_be_blocked(const Stream& stream, Ticket work) const {
  return std::any_of(blocked_.begin(), blocked_.end(),
                     [&](const BlockedPlace& place) { return may_stand_behind(stream, work, place); });
}

// In the same hardware queue; or it waits, without a mark, for another stream that may stand there.
bool Streams::may_stand_behind(const Stream& stream, Ticket work, const BlockedPlace& place) const {
  if (stream.id == place.stream || (work != 0 && !is_before(place.place, work))) return false;
  return one_queue_ || place.holds_up_another || !queues_.are_apart(stream.id, place.stream, place.by);
}

}  // namespace weft
