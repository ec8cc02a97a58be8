// Streams that share one hardware queue: the places behind groups that hold it up; see streams.h and README.md.
//
// The queue runs in the order of enqueuing, of which the tickets tell. A wait that is not over holds it up, as it does
// anywhere, and so does a kernel behind a group that is not over. Whether the marks themselves do is found out from the
// marks that are reached.
#include <utility>

#include "detector/streams.h"

namespace weft {

// A mark enqueued behind the end of a group that still runs was reached. Of one look the end may be told last.
void Streams::look_for_proof(Ticket reached) {
  if (ends_pass_ || proof_ != 0) return;
  for (const Stream& stream : streams_) {
    const Group* group = stream.at.kind == Kind::start ? groups_.find(stream.at.group) : nullptr;
    if (group != nullptr && !group->done && is_before(group->done_ticket, reached)) proof_ = group->id;
  }
  proof_is_older_ = false;
}

// It counts if the group still runs after the next look.
void Streams::look_at_proof() {
  if (proof_ == 0 || (groups_.pending(proof_) && !std::exchange(proof_is_older_, true))) return;
  ends_pass_ = ends_pass_ || groups_.pending(proof_);
  proof_ = 0;
}

// Nothing enqueued behind this ticket may run before the group is over that the stream is in; nothing: none.
std::optional<Ticket> Streams::place_behind_group(const Stream& stream) const {
  if (!one_queue_) return queues_are_shared_ ? waiting_kernel(stream) : std::nullopt;
  if (stream.where != Position::in_group) return std::nullopt;
  const Group* group = groups_.find(stream.at.group);
  const Mark* next = stream.ahead.empty() ? nullptr : &stream.ahead.front();
  if (ends_pass_ && next != nullptr && next->nothing_before) return next->ticket;
  // The first mark of a stream never has nothing before it.
  const bool has_launches = stream.launched > 1;
  if (ends_pass_ && next == nullptr && !has_launches) return std::nullopt;
  return group->done_ticket;
}

// A group behind a group, or behind a wait, is a kernel behind a running one. A wait behind a group of its own stream
// is one that nobody has asked the machine about.
Enqueued Streams::enqueued_while_host_waits() const {
  if (host_waits_.empty()) return Enqueued::more;
  Enqueued found = Enqueued::groups;
  for (const Stream& stream : streams_) {
    const Position where = position(stream);
    const bool is_dry = current_answer(stream).says == StreamAnswer::dry;
    if (where == Position::behind && !is_dry && holder_of(stream) != nullptr) return Enqueued::more;
    if (where == Position::behind) continue;  // dry, or it is no idle time
    if (where == Position::in_group && stream.ahead.empty()) continue;
    if (where == Position::in_group || where == Position::running || where == Position::ordered) return Enqueued::more;
    for (std::size_t i = 0; i < stream.ahead.size(); ++i)
      if (stream.ahead[i].kind == Kind::start || !stream.ahead[i].nothing_before) return Enqueued::more;
    found = Enqueued::waits;
  }
  return found;
}

}  // namespace weft
