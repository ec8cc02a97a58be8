// The rule: whether compute runs, as far as it can be told, and which group explains idle time; see streams.h and
// README.md. Called by the detector at every look, on its one thread. Nothing here changes how far a stream has got.
#include <algorithm>

#include "detector/streams.h"

namespace weft {
namespace {

constexpr const char* unasked = "a stream could not be asked whether it has work left";
constexpr const char* unnamed = "not all streams could be asked whether they have work left";
constexpr const char* behind_another = "a stream may stand behind a blocked one in its hardware queue";
constexpr const char* one_queue = "one hardware queue: what was launched behind a blocked stream may be held up";
constexpr const char* out_of_sight = "more is outstanding on a stream than is followed";
constexpr const char* after_dark = "a dark iteration is just over: a stream has not come to its first marker yet";
constexpr const char* abandoned_stream = "a blocking stream was destroyed with work left, whose end nobody sees";
constexpr const char* captured_step =
    "captured step: a replayed graph holds NCCL operations, whose waits and compute cannot be told apart";
constexpr const char* unseen_kernel =
    "unseen NCCL: a kernel of an NCCL that is linked statically or renamed runs, which waits or not";
constexpr const char* waiting_graph =
    "waiting graph: a replayed graph waits for an event, and whether it computes meanwhile cannot be told";
constexpr const char* behind_context_wait = "a context waits for an event: what was launched since may be held up";
constexpr const char* behind_legacy = "a blocking stream may stand behind the legacy default stream, which is held up";
constexpr const char* by_several_threads =
    "several threads launch on the legacy default stream and on blocking ones: which waits for which is not known";
constexpr const char* unknown_wait = "a stream waits for something that is not known";

}  // namespace

Streams::Position Streams::position(const Stream& stream) const {
  const Mark& at = stream.at;
  if (at.kind == Kind::lost) return Position::lost;
  if (is_in_group(stream)) return Position::in_group;
  if (is_waiting(stream)) return Position::waiting;
  const StreamAnswer says = current_answer(stream).says;
  if (stream.ahead.empty()) {
    if (stream.abandoned) return Position::lost;
    return says == StreamAnswer::busy && has_more_than_holder(stream) ? Position::ordered : Position::behind;
  }
  if (stream.ahead.front().kind == Kind::lost) return Position::lost;
  if (stream.ahead.front().nothing_before) return Position::held;
  if (!stream.destroyed && says == StreamAnswer::dry) return Position::behind;
  return holder_of(stream) != nullptr ? Position::ordered : Position::running;
}

// A graph may compute before its wait. When what the event stood for is over it computes, or it waits for what the
// event was recorded behind since: nothing says of which record a node takes notice, that at its launch or the latest
// one.
bool Streams::may_compute(const Mark& wait) const {
  return wait.in_graph == InGraph::somewhere || (wait.in_graph == InGraph::at_its_head && is_over(wait.awaited));
}

// Nothing: it is no captured step.
const char* Streams::why_captured(const Group& group) {
  if (group.captured == Captured::none) return nullptr;
  return group.captured == Captured::graph ? captured_step : unseen_kernel;
}

// False: the stream runs for sure, nobody has to be asked.
bool Streams::look_at(const Stream& stream, Standing& standing) const {
  switch (stream.where) {
    case Position::running:
      if (may_stand_behind_legacy(stream)) return standing.unknown = behind_legacy, true;
      standing.doubtful = standing.doubtful || stream.is_doubtful;
      return stream.is_doubtful;
    case Position::in_group:
      if (const char* why = why_captured(*groups_.find(stream.at.group))) standing.captured = why;
      if (standing.in_group == nullptr) standing.in_group = &stream;
      return true;
    case Position::waiting:
      standing.in_graph = standing.in_graph || may_compute(stream.at);
      return true;
    case Position::ordered:
      return standing.is_ordered = true;
    case Position::held:
      return true;
    case Position::lost:
      (stream.abandoned ? standing.is_abandoned : standing.is_lost) = true;
      return true;
    case Position::behind:
      break;
  }
  const StreamAnswer answer = says_for_itself(stream);
  // Whatever it has left stands.
  if (answer != StreamAnswer::dry && holder_of(stream) != nullptr) return standing.is_ordered = true;
  if (answer == StreamAnswer::busy && may_stand_behind_legacy(stream)) return standing.unknown = behind_legacy, true;
  if (answer == StreamAnswer::busy) (stream.is_doubtful ? standing.doubtful : standing.busy) = true;
  if (answer == StreamAnswer::unknown || answer == StreamAnswer::none) standing.unknown = unasked;
  return true;
}

// It has got to this ticket or a later one. Behind a group that is over it is past its end, which has no mark.
bool Streams::is_past(const Stream& stream, Ticket place) const {
  reads_.past = true;
  const Group* group = stream.at.kind == Kind::start ? groups_.find(stream.at.group) : nullptr;
  return !is_before(group != nullptr && group->done ? group->done_ticket : stream.at.ticket, place);
}

const Streams::Stream* Streams::root_of(const Stream& waiting, bool& runs, const Stream* for_copy,
                                        Ticket copy_place) const {
  const Stream* stream = &waiting;
  bool is_held = false;  // the one before
  // A chain is no longer than there are streams, unless the marks of some were lost.
  for (std::size_t steps = 0; steps <= streams_.size() && stream != nullptr; ++steps) {
    const Position where = stream->where;
    if (where == Position::in_group) return stream;
    if (where == Position::lost) return nullptr;
    if (where == Position::ordered || stands_whatever_it_has(*stream)) {
      stream = holder_of(*stream);
      is_held = false;
      for_copy = nullptr;
      continue;
    }
    const Mark& mark = where == Position::held ? stream->ahead.front() : stream->at;
    // Ahead of a group that has not begun, or of a wait that is over or its end: it copies, or cannot get there.
    if (where == Position::held && (mark.kind != Kind::wait || is_over(mark.awaited))) return stream;
    // Past the place behind which the copy comes next: it is in that, wherever it gets after it.
    if (where == Position::held && for_copy != nullptr && is_past(*stream, copy_place)) return for_copy;
    if (where != Position::waiting && where != Position::held) {
      // Somebody waits for it, so it has work left: it runs, or this wait is just over. Or the wait is over, and the
      // stream cannot get to it in its hardware queue; or what it waits for, which has no mark, stands in one.
      const StreamAnswer says = where == Position::behind ? current_answer(*stream).says : StreamAnswer::busy;
      if (says != StreamAnswer::busy && for_copy != nullptr) return for_copy;
      const bool is_dry = says == StreamAnswer::dry;
      const bool may_stand = (is_dry && is_held) || may_stand_behind_legacy(*stream) || stream->is_doubtful ||
                             ((is_dry || says == StreamAnswer::unknown) && may_be_blocked(*stream, 0));
      runs = !may_stand;
      return nullptr;
    }
    if (may_compute(mark)) return nullptr;
    if (mark.awaited.stream == 0) return stream;  // for something outside of this device
    is_held = where == Position::held;
    for_copy = mark.awaited.copies ? stream : nullptr;
    copy_place = mark.awaited.ticket;
    stream = find(mark.awaited.stream);
  }
  return nullptr;
}

void Streams::suspend_verdicts() {
  is_stale_ = are_after_dark_ = true;
  is_settled_ = is_in_doubt_ = false;
  stop_asking();
}

Verdict Streams::stop_asking() {
  if (wants_answers_) ++questions_;
  wants_answers_ = false;
  return {};
}

// In this period of questions.
bool Streams::has_asked() const {
  return others_unknown_ == questions_ ||
         std::any_of(streams_.begin(), streams_.end(), [&](const Stream& each) { return each.asked == questions_; });
}

// It may be for communication, of another device for example. One that outlasts many others is none.
bool Streams::waits_for_unknown(const Stream& stream, Position where) const {
  constexpr Ticket recent = 256;
  if (where != Position::waiting || stream.at.awaited.stream != 0) return false;
  reads_.tickets = true;
  return newest_ - stream.at.passed < recent;
}

bool Streams::copies_out_of_sight(const Stream& stream) {
  if (stream.at.kind == Kind::lost) return stream.at.only_copies;
  // Of an abandoned one that has no mark left all groups had marks.
  return stream.ahead.empty() || stream.ahead.front().only_copies;
}

// NCCL runs the groups of a communicator one after the other: this one waits where an earlier one, on another stream,
// has yet to be reached.
bool Streams::has_begun(const Group& group) const {
  return !waits_for_earlier(group, [](const Group& earlier) { return earlier.start_known && !earlier.started; });
}

Streams::UnderWay Streams::look_for_groups() const {
  UnderWay found;
  for (const Stream& stream : streams_) {
    const Position where = stream.where;
    if ((where == Position::lost && !copies_out_of_sight(stream)) || waits_for_unknown(stream, where))
      return {true, nullptr};
    if (where != Position::in_group) continue;
    const Group& group = *groups_.find(stream.at.group);
    if (!has_begun(group)) continue;
    const char* why = why_captured(group);
    if (why == nullptr) return {true, nullptr};
    found.captured_step = why;
  }
  return found;
}

Verdict Streams::find_verdict() {
  is_settled_ = is_in_doubt_ = is_learning_ = looks_for_blocking_now_ = false;
  for (Stream& stream : streams_) stream.where = position(stream);
  legacy_stands_between_ = legacy_stands_between();
  const UnderWay under_way = look_for_groups();
  const bool host_is_still = host_is_still_ && host_waits_.empty();
  if (!under_way.group && under_way.captured_step == nullptr && !idle_said_ && !host_is_still) return stop_asking();
  look_for_doubts();
  Standing standing;
  for (const Stream& stream : streams_)
    if (!look_at(stream, standing)) return busy_for_sure(stream);
  // Answers would not tell idle time, and are not asked for next to whole steps.
  if (under_way.captured_step != nullptr && !under_way.group && !idle_said_) {
    stop_asking();
    return {Verdict::Kind::uncertain, {}, under_way.captured_step};
  }
  wants_answers_ = true;
  if (standing.busy) return {};
  if (standing.is_lost) return {Verdict::Kind::uncertain, {}, are_after_dark_ ? after_dark : out_of_sight};
  are_after_dark_ = false;
  if (standing.is_abandoned) standing.unknown = abandoned_stream;
  if (!under_way.group && !has_asked()) return {};
  if (others_unknown_ == questions_) standing.unknown = unnamed;
  for (const Stream& stream : streams_) {
    if (stream.where != Position::waiting) continue;
    bool runs = false;
    const Stream* root = root_of(stream, runs);
    if (runs) return {};
    const bool is_outside = root != nullptr && root->where == Position::waiting;
    const bool is_unknown = root == nullptr || (is_outside && standing.in_group == nullptr);
    if (is_unknown && standing.unknown == nullptr) standing.unknown = unknown_wait;
  }
  is_in_doubt_ = standing.doubtful;
  if (standing.doubtful)
    standing.unknown = one_queue_ ? one_queue : context_waits_.empty() ? behind_another : behind_context_wait;
  if (!under_way.group && !idle_said_) {
    is_settled_ = standing.unknown == nullptr && !standing.doubtful;
    return is_settled_ ? Verdict{Verdict::Kind::uncertain, {}, host_wait_outside_cuda} : Verdict{};
  }
  if (standing.is_ordered && order_is_unsure_) standing.unknown = by_several_threads;
  if (standing.captured != nullptr) standing.unknown = standing.captured;
  if (standing.in_graph) standing.unknown = waiting_graph;
  if (standing.unknown != nullptr) return {Verdict::Kind::uncertain, {}, standing.unknown};
  return {Verdict::Kind::idle, explain(standing), nullptr};
}

Idleness Streams::explain(const Standing& standing) const {
  // A wait through an event says what the main job needs next. One for a group itself says more than one for a stream
  // that waits for groups, among others for later ones.
  std::optional<Idleness> indirectly;
  for (const Stream& stream : streams_) {
    const Group* const group = stream.where == Position::waiting ? group_of_wait(stream) : nullptr;
    if (group == nullptr) continue;
    const Idleness idleness{group->id, stream.id, Pattern::event_wait};
    if (waits_for(stream, *group)) return idleness;
    if (!indirectly) indirectly = idleness;
  }
  if (indirectly) return *indirectly;
  for (const Stream& stream : streams_)
    if (const Stream* holder = stream.where == Position::ordered ? holder_of(stream) : nullptr)
      if (is_in_group(*holder)) return {holder->at.group, stream.id, Pattern::event_wait};
  for (const Stream& stream : streams_)
    if (stream.where == Position::in_group && is_inline(stream))
      return {stream.at.group, stream.id, Pattern::inline_group};
  if (!host_waits_.empty())
    if (const Group* group = group_of_host_wait()) return {group->id, 0, Pattern::host_wait};
  if (idle_said_) return {0, 0, Pattern::said};
  return {standing.in_group->at.group, 0, Pattern::posted_early};
}

// Directly: no other stream's wait lies in between.
bool Streams::waits_for(const Stream& stream, const Group& group) {
  return stream.at.awaited.stream == group.stream;
}

// Where another stream lies in between: for which group that one waits now. The one that was the last when this wait
// was issued is a later one.
const Group* Streams::group_of_wait(const Stream& stream) const {
  const Group* last = groups_.find(stream.at.group);
  if (last != nullptr && last->done) last = nullptr;
  if (last != nullptr && waits_for(stream, *last)) return last;
  bool runs = false;
  const Stream* root = root_of(stream, runs);
  return root == nullptr || root->where != Position::in_group ? last : groups_.find(root->at.group);
}

// The main job computes on it.
bool Streams::computes(const Stream& stream) const {
  return stream.waits > 0 || stream.had_work || (stream.done > 0 && !stream.sends_only);
}

// Its groups sit among its own compute: nobody else waits for them, and compute has to be somewhere.
bool Streams::is_inline(const Stream& stream) const {
  reads_.counts = true;
  if (stream.waited_for > 2 * stream.waits || stream.done < 2) return false;
  return stream.waits > 0 || std::none_of(streams_.begin(), streams_.end(), [&](const Stream& other) {
           return other.id != stream.id && computes(other);
         });
}

// The first group of the stream that is not over; a receive explains more than the sends before it. nullptr: none.
const Group* Streams::first_to_wait_for(const Stream& stream) const {
  const Group* found = nullptr;
  for (std::size_t i = 0; i < stream.groups.size(); ++i) {
    const Group* group = groups_.find(stream.groups[i]);
    if (group == nullptr || group->done) continue;
    if (!group->send_only) return group;
    if (found == nullptr) found = group;
  }
  return found;
}

// The group that best explains why the host waits; nullptr: nothing is pending that it waits for.
const Group* Streams::group_of_host_wait() const {
  const Group* found = nullptr;
  for (const StreamId wait : host_waits_)
    for (const Stream& stream : streams_) {
      if (wait != 0 && wait != stream.id) continue;
      const Group* group = first_to_wait_for(stream);
      if (group == nullptr) continue;
      if (!group->send_only) return group;
      if (found == nullptr) found = group;
    }
  return found;
}

}  // namespace weft
