// Streams that may share one hardware queue: which mark work may be held up behind; see streams.h and README.md.
//
// The queue runs in the order of enqueuing, of which the tickets tell. A wait that is not over holds it up, and so does a
// kernel behind a group that is not over. Whether the marks themselves do is found out from the marks that are reached.
#include "detector/streams.h"

namespace weft {
namespace {

// Tickets go round.
bool is_later(Ticket ticket, Ticket than) {
  return static_cast<std::int32_t>(ticket - than) > 0;
}

}  // namespace

// A mark enqueued behind the end of a group that still runs was reached. Of one look the end may be told last.
void Streams::look_for_proof(Ticket reached) {
  if (ends_pass_) return;
  for (const Stream& stream : streams_) {
    const Group* group = stream.at.kind == Kind::start ? groups_.find(stream.at.group) : nullptr;
    if (group != nullptr && !group->done && is_later(reached, group->done_ticket)) proof_ = group->id;
  }
}

void Streams::time_goes_on() {
  if (proof_ == 0) return;
  ends_pass_ = groups_.pending(proof_);
  proof_ = 0;
}

std::optional<Ticket> Streams::holds_queue_from(const Stream& stream) const {
  const Position where = position(stream);
  if (where == Position::waiting) {
    bool runs = false;
    root_of(stream, runs);
    if (runs) return std::nullopt;  // it waits for work that was enqueued before it
    return stream.at.ticket;
  }
  const Group* group = where == Position::in_group ? groups_.find(stream.at.group) : nullptr;
  if (group == nullptr) return std::nullopt;
  const Mark* next = stream.ahead.empty() ? nullptr : &stream.ahead.front();
  if (ends_pass_ && next != nullptr && next->nothing_before) return next->ticket;
  // The first mark of a stream never has nothing before it.
  const bool has_launches = stream.launched > 1;
  if (ends_pass_ && next == nullptr && !has_launches) return std::nullopt;
  return group->done_ticket;
}

// The first one holds up the others as well.
void Streams::look_for_holder() {
  holder_.reset();
  if (!one_queue_) return;
  std::optional<Ticket> first;
  for (const Stream& stream : streams_) {
    const std::optional<Ticket> from = holds_queue_from(stream);
    if (from && (!first || is_later(*first, *from))) first = from;
  }
  holder_ = first;
}

bool Streams::may_be_held_up(const Mark& next) const {
  return holder_ && is_later(next.ticket, *holder_);
}

}  // namespace weft
