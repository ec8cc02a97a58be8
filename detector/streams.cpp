// See streams.h and the rule in README.md.
#include "detector/streams.h"

#include <algorithm>

namespace weft {

std::vector<Streams::Stream>::iterator Streams::place_of(StreamId id) {
  return std::lower_bound(streams_.begin(), streams_.end(), id, [](const Stream& s, StreamId i) { return s.id < i; });
}

Streams::Stream* Streams::find(StreamId id) {
  const auto place = place_of(id);
  return place != streams_.end() && place->id == id ? &*place : nullptr;
}

const Streams::Stream* Streams::find(StreamId id) const {
  return const_cast<Streams*>(this)->find(id);
}

Streams::Stream* Streams::find_or_add(StreamId id) {
  Stream* stream = find(id);
  if (stream == nullptr) {
    if (id == 0 || streams_.size() == most_streams) {
      ++lost_;
      return nullptr;
    }
    stream = &*streams_.emplace(place_of(id));
    stream->id = id;
  }
  stream->heard = issued_;
  return stream;
}

void Streams::group_issued(const Group& group, Ticket ticket) {
  ++issued_;
  Stream* stream = find_or_add(group.stream);
  if (stream == nullptr) return;
  ++stream->issued;
  if (!group.send_only) stream->sends_only = false;
  if (group.done) return;
  stream->groups.push(group.id);
  if (group.start_known) stream->ahead.push({Kind::start, ticket, group.id});
}

void Streams::wait_issued(StreamId id, GroupId group, Ticket ticket) {
  Stream* stream = find_or_add(id);
  if (stream == nullptr) return;
  ++stream->waits;
  stream->ahead.push({Kind::wait, ticket, group});
  if (const Group* g = groups_.find(group))
    if (Stream* owner = find(g->stream); owner != nullptr && owner->id != id) ++owner->waited_for;
}

void Streams::idle_check_issued(StreamId id) {
  Stream* stream = find_or_add(id);
  if (stream != nullptr && !stream->is_checked()) stream->ahead.push({Kind::idle_check, 0, 0});
}

void Streams::host_wait_begun(StreamId stream, GroupId group) {
  if (host_waits_.size() < most_host_waits) {
    host_waits_.push_back({stream, group});
  } else {
    ++lost_;
  }
  // Only what the host waits for itself is evidence; what lies before it on the stream is not.
  if (const Group* g = groups_.find(group); g != nullptr && stream != 0) {
    if (Stream* owner = find(g->stream)) ++owner->host_waited_for;
    return;
  }
  for (Stream& s : streams_)
    if ((stream == 0 || s.id == stream) && !s.groups.empty()) ++s.host_waited_for;
}

void Streams::host_wait_ended(StreamId stream, GroupId group) {
  auto match = std::find_if(host_waits_.rbegin(), host_waits_.rend(),
                            [&](const HostWait& w) { return w.stream == stream && (group == 0 || w.group == group); });
  if (match == host_waits_.rend()) match = host_waits_.rbegin();
  if (match == host_waits_.rend()) return;
  host_waits_.erase(std::next(match).base());
  for (Stream& s : streams_) {
    if (!host_waits_.empty()) {
      // One thread of the host goes on and may launch on what had run dry, while another still waits.
      if (s.at.kind == Kind::idle_check && s.ahead.empty()) s.ahead.push({Kind::idle_check, 0, 0});
      continue;
    }
    // Nobody asks any more, and a compute stream that had run dry is no longer known to be.
    while (s.is_checked()) s.ahead.pop_back();
    if (s.at.kind == Kind::idle_check && role(s) == Role::compute) s.at = {};
  }
}

void Streams::stream_destroyed(StreamId id) {
  const Stream* stream = find(id);
  if (stream == nullptr) return;
  lost_ += stream->ahead.dropped() + stream->groups.dropped();
  streams_.erase(place_of(id));
}

// The stream has passed so many of the marks ahead of it.
void Streams::reach(Stream& stream, std::size_t marks) {
  for (; marks > 0; --marks) {
    stream.at = stream.ahead.front();
    stream.ahead.pop();
    stream.arrived = false;
    if (stream.at.kind != Kind::start) continue;
    if (Group* group = groups_.find(stream.at.group)) group->started = true;
  }
  stream.heard = issued_;
}

void Streams::group_started(GroupId id) {
  Group* group = groups_.find(id);
  if (group == nullptr) return;
  group->started = true;
  Stream* stream = find(group->stream);
  if (stream == nullptr) return;
  for (std::size_t i = 0; i < stream->ahead.size(); ++i)
    if (stream->ahead[i].kind == Kind::start && stream->ahead[i].group == id) return reach(*stream, i + 1);
}

void Streams::group_done(GroupId id) {
  group_started(id);
  Group* group = groups_.find(id);
  if (group == nullptr) return;
  group->done = true;
  Stream* stream = find(group->stream);
  if (stream == nullptr) return;
  stream->heard = issued_;
  while (!stream->groups.empty() && (stream->groups.front() <= id || !groups_.pending(stream->groups.front()))) {
    ++stream->done;
    stream->groups.pop();
  }
}

Group* Streams::first_pending(StreamId id) {
  const Stream* stream = find(id);
  return stream == nullptr || stream->groups.empty() ? nullptr : groups_.find(stream->groups.front());
}

void Streams::idle_check_reached(StreamId id) {
  Stream* stream = find(id);
  if (stream == nullptr || host_waits_.empty()) return;
  for (std::size_t marks = stream->ahead.size(); marks > 0; --marks)
    if (stream->ahead[marks - 1].kind == Kind::idle_check) return reach(*stream, marks);
}

bool Streams::marker_reached(StreamId id, Ticket ticket) {
  Stream* stream = find(id);
  // A stream that was destroyed may still run to its end.
  if (stream == nullptr) return true;
  for (std::size_t i = 0; i < stream->ahead.size(); ++i) {
    if (stream->ahead[i].ticket != ticket || stream->ahead[i].kind != Kind::wait) continue;
    reach(*stream, i + 1);
    return true;
  }
  return stream->at.ticket == ticket;
}

// The stream of the group has got to it, or to an earlier group of its own that is not over either.
bool Streams::at_group(const Group& group) const {
  if (group.started || !group.start_known) return true;
  const Stream* owner = find(group.stream);
  if (owner == nullptr || owner->groups.empty()) return true;
  const Group* first = groups_.find(owner->groups.front());
  return first != nullptr && first->started;
}

Streams::Role Streams::role(const Stream& s) const {
  if (s.waited_for > 2 * s.waits) return Role::communication;
  if (s.waits > 0) return Role::compute;
  if (streams_.size() > 1 && s.issued > 0) {
    if (4 * s.host_waited_for >= s.issued && s.host_waited_for > 0) return Role::communication;
    // Sends that nobody waits for, next to a stream that does other things.
    const bool other = std::any_of(streams_.begin(), streams_.end(), [&](const Stream& o) {
      return o.id != s.id && (o.waits > 0 || (o.issued > 0 && !o.sends_only));
    });
    if (s.sends_only && other) return Role::communication;
  }
  return s.done >= 2 ? Role::compute : Role::unclassified;
}

// Past everything that is known of it, and work may follow.
bool Streams::runs_on(const Stream& s) const {
  if (!s.ahead.empty()) return true;
  if (issued_ - s.heard > patience_) return false;
  return s.at.kind == Kind::start || s.at.kind == Kind::wait || (s.at.kind == Kind::none && s.waits + s.done > 0);
}

bool Streams::others_may_run(const Stream& stream) const {
  return std::any_of(streams_.begin(), streams_.end(),
                     [&](const Stream& s) { return s.id != stream.id && !groups_.pending(s.at.group) && runs_on(s); });
}

bool Streams::opens_bubbles(const Stream& stream, const Group& group) const {
  // A send behind an event wait may be a send stream's or a compute stream's: then nothing else may be running.
  return !group.send_only || stream.waits == 0 || !others_may_run(stream);
}

Streams::State Streams::state(Stream& stream, Idleness& why) const {
  const Role its_role = role(stream);
  const Mark& at = stream.at;
  const Group* group = groups_.find(at.group);
  if (its_role == Role::compute && group != nullptr && !group->done) {
    if (at.kind == Kind::wait) {
      // Once there, it is blocked to the end: between two groups of the other stream nothing changes.
      stream.arrived = stream.arrived || at_group(*group);
      if (!stream.arrived) return State::idle;
      why = {group->id, stream.id, Pattern::event_wait};
      return State::blocked;
    }
    if (!opens_bubbles(stream, *group)) return State::idle;
    why = {group->id, stream.id, Pattern::inline_group};
    return State::blocked;
  }
  if (its_role == Role::compute) return runs_on(stream) ? State::busy : State::idle;
  // Another stream counts only while the host waits for it to run dry.
  return its_role == Role::unclassified && stream.is_checked() ? State::busy : State::idle;
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

// The group that best explains why the host waits; nullptr: nothing is pending that it waits for. Of a stream that the
// host waits for, groups come one after the other, and there may be work between them.
const Group* Streams::awaited(const HostWait& wait) const {
  if (const Group* group = groups_.find(wait.group); group != nullptr && !group->done) {
    const Stream* owner = find(group->stream);
    const Group* first = owner == nullptr ? nullptr : first_to_wait_for(*owner);
    return first == nullptr || first->id > group->id ? group : first;
  }
  const Group* found = nullptr;
  for (const Stream& stream : streams_) {
    if (wait.stream != 0 && wait.stream != stream.id) continue;
    const Group* group = first_to_wait_for(stream);
    if (group == nullptr) continue;
    if (!group->send_only) return group;
    if (found == nullptr) found = group;
  }
  return found;
}

std::optional<GroupId> Streams::host_waits_for() {
  for (HostWait& wait : host_waits_) {
    const Group* group = awaited(wait);
    if (group == nullptr) continue;
    if (wait.arrived != group->id && at_group(*group)) wait.arrived = group->id;
    if (wait.arrived == group->id) return group->id;
  }
  return std::nullopt;
}

std::optional<Idleness> Streams::idleness() {
  std::optional<Idleness> found;
  for (Stream& stream : streams_) {
    Idleness why;
    switch (state(stream, why)) {
      case State::busy:
        return std::nullopt;
      case State::blocked:
        // A wait through an event says what the main job needs next; the first one found is as good as another.
        if (!found || (found->pattern == Pattern::inline_group && why.pattern == Pattern::event_wait)) found = why;
        break;
      case State::idle:
        break;
    }
  }
  if (found || host_waits_.empty()) return found;
  if (const std::optional<GroupId> group = host_waits_for()) return Idleness{*group, 0, Pattern::host_wait};
  return std::nullopt;
}

std::uint64_t Streams::dropped() const {
  std::uint64_t sum = lost_;
  for (const Stream& stream : streams_) sum += stream.ahead.dropped() + stream.groups.dropped();
  return sum;
}

}  // namespace weft
