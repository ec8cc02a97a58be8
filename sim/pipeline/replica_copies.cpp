// Copies of activations to the host and back, on a stream for each way: there is one copy engine for each. The detector
// is told of them as the shim would note them, see shim/main_job/copies.h and event_recorded() there: a marker
// only where one is missing ahead, and waits for a copy by the marker ahead of that.
#include <cmath>
#include <utility>

#include "sim/pipeline/replica.h"

namespace weft::pipeline {

// Behind all that the compute stream has, and on the way back behind the other copy.
void Replica::copy(Rank& rank, const Step& step, std::size_t way) {
  Stream& stream = rank.streams[step.stream];
  const Stream& other = rank.streams[compute];
  // Nobody has counted its launches before its first marker.
  if (!std::exchange(stream.copies, true)) stream.launched_since_marker = true;
  rank.copy_streams[way] = step.stream;
  Item wait{.kind = Item::Kind::wait_for_compute, .behind = other.enqueued};
  const bool is_ahead = other.latest != 0 && other.reached < other.latest;
  if (is_ahead && std::exchange(stream.waited, other.latest) != other.latest) {
    add_wait(rank, step.stream, wait, {id_of(compute), other.latest});
  } else {
    ++stream.enqueued;
    stream.items.push_back(wait);
  }
  if (way == back) wait_for_copy(rank, step.stream, step.posted, to_host);
  if (stream.latest == 0 || stream.latest_is == NoCompute::wait_for_copy) mark(rank, step.stream);
  stream.latest_is = NoCompute::copy;
  const std::uint64_t bytes = options_.activations.of_place(static_cast<std::size_t>(rank.place));
  ++stream.enqueued;
  stream.items.push_back(
      {.kind = Item::Kind::copy,
       .group = step.posted,
       .length = std::llround(static_cast<double>(bytes) / options_.activations.offload_bandwidth * 1e9),
       .takes = way == back ? static_cast<std::int64_t>(bytes) : 0,
       .gives_back = way == to_host ? static_cast<std::int64_t>(bytes) : 0});
  rank.copied[step.posted].behind[way] = stream.reached < stream.latest ? stream.latest : 0;
}

// Where the marker ahead of the copy was reached none tells when that is over: the wait itself counts as a copy.
void Replica::wait_for_copy(Rank& rank, std::size_t number, std::size_t activations, std::size_t way) {
  const Copied& copied = rank.copied[activations];
  if (copied.over[way]) return;
  Stream& stream = rank.streams[number];
  const std::size_t copies_on = rank.copy_streams[way];
  const Item wait{.kind = Item::Kind::wait_for_copy, .group = activations};
  if (copied.behind[way] > rank.streams[copies_on].reached)
    return add_wait(rank, number, wait, {id_of(copies_on), copied.behind[way], true});
  if (stream.latest == 0 || stream.launched_since_marker) mark(rank, number);
  stream.latest_is = NoCompute::wait_for_copy;
  ++stream.enqueued;
  stream.items.push_back(wait);
}

void Replica::mark(Rank& rank, std::size_t number) {
  Stream& stream = rank.streams[number];
  const Item item{.kind = Item::Kind::mark, .ticket = ++rank.last_ticket};
  Event& issued = event(EventKind::mark_issued, number);
  issued.nothing_launched = !std::exchange(stream.launched_since_marker, false);
  issued.ticket = stream.latest = item.ticket;
  stream.before = rank.last_ticket + 1;
  stream.latest_is = NoCompute::none;
  ++stream.enqueued;
  stream.items.push_back(item);
  tell(rank);
}

// As begin(), of the items that copies need.
bool Replica::begin_of_copies(Rank& rank, std::size_t stream, Item& item) {
  const bool is_new = !std::exchange(item.reached, true);
  if (item.kind == Item::Kind::mark) return reach(rank, stream, EventKind::wait_passed, item.ticket), true;
  if (item.kind == Item::Kind::copy) {
    if (is_new) begin_copy(rank, stream, item);
    return false;  // end_copy() takes it away
  }
  const bool is_compute = stream == compute;
  if (is_new && is_compute) rank.waits_for_copy_since = now_;
  if (is_new && item.ticket != 0) reach(rank, stream, EventKind::wait_reached, item.ticket);
  const bool is_over = item.kind == Item::Kind::wait_for_compute
                           ? rank.streams[compute].over >= item.behind
                           : rank.copied[item.group].over[is_compute ? back : to_host];
  if (!is_over) return false;
  if (is_compute) rank.totals.waited_for_copies += Duration{now_ - rank.waits_for_copy_since};
  if (item.passed != 0) reach(rank, stream, EventKind::wait_passed, item.passed);
  return true;
}

void Replica::begin_copy(Rank& rank, std::size_t stream, const Item& item) {
  add_activations(rank, item.takes);
  push(now_ + item.length, rank.number, What::copy_ended, stream);
}

void Replica::end_copy(Rank& rank, std::size_t number) {
  Stream& stream = rank.streams[number];
  const Item item = stream.items.front();
  rank.copied[item.group].over[number == rank.copy_streams[back] ? back : to_host] = true;
  add_activations(rank, -item.gives_back);
  stream.items.pop_front();
  ++stream.over;
  advance(rank);
}

}  // namespace weft::pipeline
