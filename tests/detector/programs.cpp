// See programs.h.
#include "programs.h"

#include <algorithm>
#include <utility>

namespace weft::testing {

Intervals united(Intervals any) {
  std::erase_if(any, [](const Interval& i) { return i.end <= i.begin; });
  std::sort(any.begin(), any.end(), [](const Interval& a, const Interval& b) { return a.begin < b.begin; });
  Intervals result;
  for (const Interval& i : any) {
    if (!result.empty() && i.begin <= result.back().end)
      result.back().end = std::max(result.back().end, i.end);
    else
      result.push_back(i);
  }
  return result;
}

Intervals without(const Intervals& whole, const Intervals& part) {
  Intervals result;
  for (Interval rest : whole) {
    for (const Interval& hole : part) {
      if (hole.end <= rest.begin || hole.begin >= rest.end) continue;
      if (hole.begin > rest.begin) result.push_back({rest.begin, hole.begin});
      rest.begin = std::min(hole.end, rest.end);
    }
    if (rest.begin < rest.end) result.push_back(rest);
  }
  return result;
}

Intervals RandomProgram::idle_with(const Intervals& said) const {
  Intervals all = groups_;
  all.insert(all.end(), said.begin(), said.end());
  return without(united(all), united(kernels_));
}

std::int64_t length(const Intervals& intervals) {
  std::int64_t sum = 0;
  for (const Interval& i : intervals) sum += i.end - i.begin;
  return sum;
}

ProgramOptions options_of(std::uint32_t seed) {
  ProgramOptions options;
  options.streams = 1 + static_cast<int>(seed % 7);
  options.actions = 10 + static_cast<int>(seed % 61);
  return options;
}

RandomProgram::RandomProgram(const ProgramOptions& options, std::uint32_t seed, Counters& counters)
    : options_(options), next_(counters), random_(seed), queues_(static_cast<std::size_t>(options.queues)) {
  for (int i = 0; i < options.streams; ++i) create();
  if (options.kernels_hold) hook(EventKind::queues_shared, 0);
  if (options.unaskable) streams_[0].unaskable = true;
  if (options.orders)
    mark(streams_[0], 0);  // which stream is the legacy one is known from its first marker or answer on
  for (int i = 0; i < options.actions; ++i) act();
  finish();
}

void RandomProgram::act() {
  if (options_.captures && !capturing_ && alive_.size() > 1 && below(8) == 0) return begin_capture();
  if (capturing_ && below(4) == 0) return end_capture();
  switch (below(20)) {
    case 0:
      return synchronise();
    case 1:
      if (below(4) == 0) replace_stream();
      return;
    case 2:
    case 3:
      next_.time += below(200);  // the host does something else
      return;
    case 4:
    case 5:
    case 6:
    case 7:
      return issue_group();
    case 8:
    case 9:
    case 10:
    case 11:
      return record();
    case 12:
    case 13:
    case 14:
    case 15:
      return wait();
    case 16:
      return options_.copies ? copy() : launch();
    default:
      return launch();
  }
}

std::size_t RandomProgram::create() {
  Stream stream;
  stream.id = next_.stream++;
  stream.created = next_.time;
  if (options_.queues != 0) stream.queue = streams_.size() % queues_.size();
  if (options_.orders)
    stream.order = streams_.empty()           ? StreamOrder::legacy
                   : streams_.size() % 4 == 3 ? StreamOrder::none
                                              : StreamOrder::blocking;
  streams_.push_back(stream);
  alive_.push_back(streams_.size() - 1);
  call(Call::Kind::create, streams_.size() - 1);
  return streams_.size() - 1;
}

Call& RandomProgram::call(Call::Kind kind, std::size_t stream) {
  calls_.push_back({kind, next_.time, stream});
  return calls_.back();
}

std::size_t RandomProgram::any_stream() {
  return alive_[below(static_cast<std::uint32_t>(alive_.size()))];
}

// CUDA makes the stream wait for this by itself.
std::int64_t RandomProgram::end_of_other_kind(const Stream& stream) const {
  std::int64_t end = 0;
  for (const Stream& other : streams_)
    if (stream.order != StreamOrder::none && other.order != StreamOrder::none && other.order != stream.order)
      end = std::max(end, other.end);
  return end;
}

std::int64_t RandomProgram::enqueue(Stream& stream, std::int64_t not_before, std::int64_t length) {
  const std::int64_t ordered = end_of_other_kind(stream);
  const bool is_held_up = length != 0 && ordered > stream.end;
  std::int64_t start = std::max({next_.time, stream.end, ordered});
  if (options_.queues != 0) start = std::max(start, queues_[stream.queue]);
  stream.end = std::max(start, not_before) + length;
  // A kernel leaves its queue at once, and what is behind it on its stream waits elsewhere. A wait stays there, and so
  // does a kernel that has to wait for streams of the other kind.
  if (options_.queues != 0) {
    std::int64_t& queue = queues_[stream.queue];
    queue = std::max({queue, next_.time, length == 0 ? not_before : 0, is_held_up ? ordered : 0});
  }
  note_work(stream);
  changes_.push_back(start);
  changes_.push_back(stream.end);
  return start;
}

void RandomProgram::note_work(Stream& stream) {
  stream.work.push_back({next_.time, stream.end, stream.before, stream.launched_before, stream.launches, stream.launched,
                         stream.latest_at});
}

// It may stay in its queue until it begins.
std::int64_t RandomProgram::enqueue_kernel(Stream& stream, std::int64_t not_before, std::int64_t length) {
  const std::int64_t start = enqueue(stream, not_before, length);
  if (options_.kernels_hold) queues_[stream.queue] = std::max(queues_[stream.queue], start);
  return start;
}

void RandomProgram::launch() {
  launch_on(any_stream());
}

void RandomProgram::launch_on(std::size_t index) {
  Stream& stream = streams_[index];
  if (stream.copies) end_copy(stream);
  if (std::exchange(stream.waits, false)) hook(EventKind::launch_noted, stream.id).ticket = next_.ticket - 1;
  stream.before = stream.launched_before = next_.ticket;
  ++stream.launches;
  stream.launched = true;
  const std::int64_t start = enqueue_kernel(stream, 0, 1 + below(150));
  kernels_.push_back({start, stream.end});
  call(Call::Kind::launch, index).end = stream.end;
  next_.time += below(8);
}

void RandomProgram::copy() {
  const std::size_t index = any_stream();
  Stream& stream = streams_[index];
  if (stream.waits_for_copy) end_copy(stream);  // the copy may hold up the hardware queue
  begin_copy(stream);
  enqueue(stream, 0, 1 + below(150));
  call(Call::Kind::copy, index).end = stream.end;
  next_.time += below(8);
}

// A marker shows the end of what was launched ahead of it. Behind it there is none before the next launch, and it holds
// up no queue.
void RandomProgram::begin_copy(Stream& stream) {
  if (stream.launched) mark(stream, 0);
  stream.copies = true;
}

// A launch behind it may hold up its hardware queue, as behind a wait.
void RandomProgram::end_copy(Stream& stream) {
  mark(stream, stream.end);
}

void RandomProgram::mark(Stream& stream, std::int64_t not_before) {
  Event issued = hook(EventKind::mark_issued, stream.id);
  issued.ticket = next_.ticket++;
  issued.nothing_launched = !std::exchange(stream.launched, false);
  ordered_.back().event = issued;
  enqueue(stream, not_before, 0);
  word(EventKind::wait_reached, issued, issued.ticket, stream.end);
  note_marker(stream, issued.ticket, stream.end);
}

void RandomProgram::note_marker(Stream& stream, Ticket ticket, std::int64_t at) {
  stream.latest = ticket;
  stream.latest_at = at;
  stream.copies = stream.waits_for_copy = stream.waits = false;
  stream.work.back().launched = false;
  stream.work.back().marked_at = at;
}

// Nothing else may be done with the stream meanwhile.
void RandomProgram::begin_capture() {
  const std::size_t place = below(static_cast<std::uint32_t>(alive_.size()));
  capturing_ = alive_[place];
  alive_.erase(alive_.begin() + static_cast<std::ptrdiff_t>(place));
  captures_.push_back({next_.time, next_.time});
  hook(EventKind::capture_begun, streams_[*capturing_].id);
  call(Call::Kind::begin_capture, *capturing_);
  capture_launch(streams_[*capturing_]);
}

// It is counted, and is no work of the stream.
void RandomProgram::capture_launch(Stream& stream) {
  stream.before = stream.launched_before = next_.ticket;
  ++stream.launches;
}

void RandomProgram::end_capture() {
  const std::size_t index = *std::exchange(capturing_, std::nullopt);
  next_.time += 1;
  captures_.back().end = next_.time;
  hook(EventKind::capture_ended, streams_[index].id);
  call(Call::Kind::end_capture, index);
  alive_.push_back(index);
  launch_on(index);
}

bool RandomProgram::is_capturing_at(std::int64_t time) const {
  return std::any_of(captures_.begin(), captures_.end(),
                     [=](const Interval& i) { return i.begin <= time && time < i.end; });
}

StreamOrder RandomProgram::order_of(StreamId id) const {
  return std::find_if(streams_.begin(), streams_.end(), [id](const Stream& s) { return s.id == id; })->order;
}

Event& RandomProgram::hook(EventKind kind, StreamId stream) {
  Event event{};
  event.time = TimePoint(Duration(next_.time));
  event.kind = kind;
  event.stream = stream;
  if (stream != 0) event.order = order_of(stream);
  ordered_.push_back({event, 0});
  changes_.push_back(next_.time);
  return ordered_.back().event;
}

void RandomProgram::word(EventKind kind, const Event& announced, Ticket ticket, std::int64_t time) {
  Event event{};
  event.time = TimePoint(Duration(time));
  event.kind = kind;
  event.stream = announced.stream;
  event.group = announced.group;
  event.ticket = ticket;
  ordered_.push_back({event, 1 + announced.stream * 7919u % 13u});  // of one stream in their order
}

void RandomProgram::issue_group() {
  const std::size_t index = any_stream();
  Stream& stream = streams_[index];
  Event issued = hook(EventKind::group_issued, stream.id);
  issued.group = next_.group++;
  issued.communicator = options_.one_communicator ? 1 : stream.id;
  issued.ticket = next_.ticket++;
  issued.done_ticket = next_.ticket++;
  issued.nothing_launched = !std::exchange(stream.launched, false);
  issued.summary = {};
  issued.summary.signature = below(5);
  issued.summary.send_peer = issued.summary.receive_peer = -1;
  if (below(3) == 0) {
    issued.summary.sends = 1;
    issued.summary.send_peer = 0;
  } else {
    issued.summary.receives = 1;
    issued.summary.receive_peer = 0;
  }
  ordered_.back().event = issued;
  const std::int64_t earlier = options_.one_communicator ? communicator_end_ : 0;  // NCCL works them off one by one
  const std::int64_t start =
      enqueue_kernel(stream, std::max<std::int64_t>(next_.time + below(400), earlier), 1 + below(20));
  communicator_end_ = stream.end;
  if (options_.kernels_hold) queues_[stream.queue] = std::max({queues_[stream.queue], start, earlier});
  groups_.push_back({std::max(start, earlier), stream.end});
  word(EventKind::group_started, issued, issued.ticket, start);
  word(EventKind::group_done, issued, issued.done_ticket, stream.end);
  note_marker(stream, issued.done_ticket, stream.end);
  stream.group_end = stream.end;
  stream.waits = true;
  Call& made = call(Call::Kind::group, index);
  made.receives = issued.summary.receives != 0;
  made.communicator = options_.one_communicator ? 0 : index;
  made.end = stream.end;
  next_.time += below(8);
}

void RandomProgram::record() {
  const std::size_t index = any_stream();
  const Stream& stream = streams_[index];
  const bool stands_for_others = end_of_other_kind(stream) > std::max(next_.time, stream.end) ||
                                 stream.used_until > std::max(next_.time, stream.latest_at);
  if (stands_for_others && stream.order == StreamOrder::legacy) use_legacy();
  if (stands_for_others && !options_.limits) return;
  if (stands_for_others && stream.order != StreamOrder::legacy) enqueue(streams_[index], 0, 0);
  Recorded recorded{index, stream.id, stream.end, 0, 0, stream.copies};
  if (stream.latest != 0 && stream.latest_at > next_.time) {
    recorded.ticket = stream.latest;
    recorded.ticket_at = stream.latest_at;
  }
  recorded_.push_back(recorded);
  call(Call::Kind::record, index).end = stream.end;
  next_.time += below(4);
}

// An event is recorded for which nobody waits. It stands between blocking streams.
void RandomProgram::use_legacy() {
  Stream& legacy = streams_.front();
  hook(EventKind::legacy_used, legacy.id).ticket = next_.ticket - 1;
  enqueue(legacy, 0, 0);
  legacy.used_until = legacy.end;
  next_.time += below(4);
}

void RandomProgram::wait() {
  if (recorded_.empty()) return;
  const std::size_t latest = std::min<std::size_t>(recorded_.size(), 6);
  const std::size_t number = recorded_.size() - 1 - below(static_cast<std::uint32_t>(latest));
  const Recorded recorded = recorded_[number];
  const std::size_t index = any_stream();
  Stream& stream = streams_[index];
  if (index == recorded.stream) return;  // streams run in order anyway
  const bool is_pending = recorded.ticket != 0 && recorded.ticket_at > next_.time;
  const bool is_unseen = !is_pending || (!recorded.copies && stream.waited == recorded.ticket);
  if (is_unseen && stream.order == StreamOrder::legacy)
    hook(EventKind::legacy_used, stream.id).ticket = next_.ticket - 1;
  const bool is_held_up = streams_[recorded.stream].order != StreamOrder::none && recorded.end > next_.time;
  if (is_unseen && stream.order == StreamOrder::none && is_held_up && !options_.limits) return;
  call(Call::Kind::wait, index).record = number;
  const std::size_t made = calls_.size() - 1;
  wait_for(recorded, stream, is_pending, is_unseen);
  calls_[made].end = stream.end;
}

void RandomProgram::wait_for(const Recorded& recorded, Stream& stream, bool is_pending, bool is_unseen) {
  if (recorded.copies && !is_pending && recorded.end > next_.time) {
    begin_copy(stream);
    stream.waits_for_copy = true;
    stream.before = next_.ticket;
    enqueue(stream, 0, std::max<std::int64_t>(recorded.end - std::max(stream.end, next_.time), 0));
    return;
  }
  if (is_unseen) {  // it will be past that place anyway
    stream.before = next_.ticket;
    // The driver need not enqueue a wait for something that is over; the shim does not know, and notes its place.
    if (recorded.end <= next_.time && stream.order == StreamOrder::none) return note_work(stream);
    enqueue(stream, recorded.end, 0);
    if (stream.order != StreamOrder::none) stream.used_until = stream.end;
    return;
  }
  stream.waited = recorded.copies ? 0 : recorded.ticket;
  Event issued = hook(EventKind::wait_issued, stream.id);
  issued.ticket = next_.ticket++;
  issued.done_ticket = next_.ticket++;
  issued.awaited = {recorded.id, recorded.ticket, recorded.copies};
  issued.nothing_launched = !std::exchange(stream.launched, false);
  ordered_.back().event = issued;
  const std::int64_t start = enqueue(stream, recorded.end, 0);
  word(EventKind::wait_reached, issued, issued.ticket, start);
  word(EventKind::wait_passed, issued, issued.done_ticket, stream.end);
  note_marker(stream, issued.done_ticket, stream.end);
  stream.waits = true;
  next_.time += below(6);
}

void RandomProgram::synchronise() {
  const bool device = below(2) == 0 && !capturing_;
  const std::size_t index = any_stream();
  const StreamId id = device ? 0 : streams_[index].id;
  std::int64_t end = next_.time;
  for (const Stream& s : streams_)
    if (device || s.id == id) end = std::max(end, s.end);
  Call& made = call(Call::Kind::synchronise, index);
  made.whole_device = device;
  made.end = end;
  // Of interest only while there is a group that is not over.
  const bool noted = std::any_of(streams_.begin(), streams_.end(),
                                 [this](const Stream& s) { return s.destroyed < 0 && s.group_end > next_.time; });
  if (noted) hook(EventKind::host_wait_begun, id);
  next_.time = end;
  if (noted) hook(EventKind::host_wait_ended, id);
}

// Its work goes on, as CUDA promises.
void RandomProgram::replace_stream() {
  const std::size_t place = below(static_cast<std::uint32_t>(alive_.size()));
  Stream& old = streams_[alive_[place]];
  if (old.unaskable || old.order == StreamOrder::legacy) return;
  // Its end would have no marker, and the event counts as dropped.
  const Stream& first = streams_.front();
  if (old.order == StreamOrder::blocking && first.latest_at > next_.time && old.before <= first.latest) return;
  destroy(old);
  alive_.erase(alive_.begin() + static_cast<std::ptrdiff_t>(place));
  create();
}

void RandomProgram::destroy(Stream& stream) {
  stream.destroyed = next_.time;
  call(Call::Kind::destroy, static_cast<std::size_t>(&stream - streams_.data()));
  Event gone = hook(EventKind::stream_destroyed, stream.id);
  const bool is_dry = !capturing_ && stream.end <= next_.time;
  if (!stream.launched || is_dry) return;
  gone.ticket = next_.ticket++;  // nobody can ask a stream that is gone
  ordered_.back().event = gone;
  const std::int64_t reached = enqueue(stream, 0, 0);
  word(EventKind::wait_passed, gone, gone.ticket, reached);
}

void RandomProgram::finish() {
  if (capturing_) end_capture();
  for (const Stream& stream : streams_) next_.time = std::max(next_.time, stream.end);
  next_.time += 10;
  for (const std::size_t index : alive_) destroy(streams_[index]);
  changes_.push_back(next_.time);
  next_.time += 10;
  std::stable_sort(ordered_.begin(), ordered_.end(), [](const Ordered& a, const Ordered& b) {
    return a.event.time != b.event.time ? a.event.time < b.event.time : a.order < b.order;
  });
  for (const Ordered& o : ordered_) {
    events_.push_back(o.event);
    changes_.push_back(o.event.time.time_since_epoch().count());
  }
  std::sort(changes_.begin(), changes_.end());
  changes_.erase(std::unique(changes_.begin(), changes_.end()), changes_.end());
}

std::vector<RandomProgram::AnswerOf> RandomProgram::answers_at(std::int64_t time) const {
  std::vector<AnswerOf> answers;
  const bool nobody_may_ask = is_capturing_at(time);
  for (const Stream& stream : streams_) {
    if (stream.created > time || (stream.destroyed >= 0 && stream.destroyed <= time)) continue;
    bool busy = false, still = true;
    Ticket before = 1, launched_before = 0;
    std::uint32_t launches = 1;
    for (const Work& work : stream.work) {
      if (work.issued > time) break;
      busy = busy || work.end > time;
      before = work.before;
      launched_before = work.launched_before;
      launches = work.launches;
      still = !work.launched && work.marked_at <= time;
    }
    if (still)
      answers.push_back({stream.id, {StreamAnswer::dry, 0, launches}});
    else if (stream.unaskable || nobody_may_ask)
      answers.push_back({stream.id, {StreamAnswer::unknown}});
    else if (busy)
      answers.push_back({stream.id, {StreamAnswer::busy, before, 0, stream.order}});
    else
      answers.push_back({stream.id, {StreamAnswer::dry, launched_before, launches}});
  }
  return answers;
}

}  // namespace weft::testing
