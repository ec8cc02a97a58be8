// See replica.h. Each call of a host is an event, and so is each end; whatever they let go on does so at once.
#include "sim/pipeline/replica.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <stdexcept>
#include <string>
#include <utility>

#include "sim/pipeline/communicators.h"

namespace weft::pipeline {
namespace {

// A number that depends on these alone (splitmix64).
std::uint64_t mixed(std::uint64_t value) {
  value += 0x9e3779b97f4a7c15;
  value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9;
  value = (value ^ (value >> 27)) * 0x94d049bb133111eb;
  return value ^ (value >> 31);
}
double uniform(std::uint64_t value) {
  return (static_cast<double>(value >> 11) + 0.5) * 0x1p-53;
}
double normal(std::uint64_t value) {
  return std::sqrt(-2 * std::log(uniform(mixed(value)))) * std::cos(2 * std::numbers::pi * uniform(mixed(value + 1)));
}

}  // namespace

Replica::Replica(const WorldOptions& options, const Programs& programs, int first, Watcher& watcher)
    : options_(options), programs_(programs), watcher_(watcher), first_(first) {
  const std::size_t places = programs.of_place.size();
  if (options.activations.bytes.size() != 1 && options.activations.bytes.size() != places)
    throw std::invalid_argument("activation bytes: one size, or one for each of the " + std::to_string(places) +
                                " ranks");
  channels_.resize(programs.channels);
  sums_.resize(places + 1);
  sums_.back().members = places;
  ranks_.resize(places);
  hosts_at_work_ = places;
  for (std::size_t place = 0; place < places; ++place) {
    Rank& made = ranks_[place];
    made.number = first + static_cast<int>(place);
    made.place = static_cast<int>(place);
    made.kinds = &programs.of_place[place];
    made.streams.resize(programs.streams[place]);
    begin_iteration(made);
    push((std::chrono::milliseconds(1) + stall_of(made)).count(), made.number, What::host);
  }
}

bool Replica::run(Time limit) {
  stops_ = false;
  while (!timers_.empty() && timers_.top().time <= limit && !stops_) {
    const Timer timer = timers_.top();
    timers_.pop();
    now_ = timer.time;
    Rank& of = rank(timer.rank);
    switch (timer.what) {
      case What::host:
        host(of);
        break;
      case What::compute_ended:
        end_piece(of, timer.group);
        break;
      case What::operation_ended:
        end_operation(of, timer.group);
        break;
      case What::copy_ended:
        end_copy(of, static_cast<std::size_t>(timer.group));
        break;
      case What::wake:
        watcher_.woken(timer.rank, now());
        break;
      case What::kernel_ready:
        begin_kernel(of);
        break;
      case What::kernel_ended:
        end_kernel(of, timer.group);
        break;
    }
  }
  return !stops_;
}

void Replica::push(Time time, int rank, What what, GroupId group) {
  timers_.push({time, ++last_timer_, rank, what, group});
}

void Replica::wake(int rank, TimePoint time) {
  if (hosts_at_work_ != 0) push(std::max(time.time_since_epoch().count(), now_), rank, What::wake);
}

std::size_t Replica::groups_in_iteration(int number) const {
  std::size_t most = 0;
  for (const Program& program : *ranks_[index_of(number)].kinds) most = std::max(most, program.groups);
  return most;
}

Event& Replica::event(EventKind kind, std::size_t stream) {
  event_ = {};
  event_.time = now();
  event_.kind = kind;
  event_.stream = id_of(stream);
  return event_;
}

void Replica::host(Rank& rank) {
  const Step& step = rank.program->steps[rank.step];
  switch (step.kind) {
    case Step::Kind::post:
    case Step::Kind::stage_sum:
      post(rank, step);
      break;
    case Step::Kind::whole_sum:
    case Step::Kind::loss_sum:
      post(rank, step);
      wait_for(rank, rank.posted[step.posted]);
      break;
    case Step::Kind::wait:
      wait_for(rank, rank.posted[step.posted]);
      break;
    case Step::Kind::launch:
    case Step::Kind::optimizer:
      launch(rank, step);
      break;
    case Step::Kind::offload:
      copy(rank, step, to_host);
      break;
    case Step::Kind::reload:
      copy(rank, step, back);
      break;
    case Step::Kind::wait_for_copy:
      wait_for_copy(rank, compute, step.posted, back);
      break;
    case Step::Kind::end:
      begin_host_wait(rank);
      return advance(rank);
  }
  ++rank.step;
  push(now_ + options_.host_call.count(), rank.number, What::host);
  advance(rank);
}

bool Replica::is_over(const Rank& rank, GroupId id) const {
  return id < rank.first_group || rank.groups[static_cast<std::size_t>(id - rank.first_group)].done;
}

void Replica::post(Rank& rank, const Step& step) {
  Stream& stream = rank.streams[step.stream];
  Item item{.kind = Item::Kind::group};
  const bool sums = step.kind != Step::Kind::post;
  if (sums || step.send.channel >= 0) wait_for_compute(rank, step.stream, item);
  Group group;
  group.stream = static_cast<std::uint16_t>(step.stream);
  group.step = &step;
  group.operations = sums ? 1 : (step.send.channel >= 0) + (step.receive.channel >= 0);
  group.started_ticket = ++rank.last_ticket;
  group.done_ticket = ++rank.last_ticket;
  item.group = rank.posted[step.posted] = rank.first_group + rank.groups.size();
  Event& issued = event(EventKind::group_issued, step.stream);
  issued.nothing_launched = true;
  issued.group = item.group;
  issued.communicator = communicator_of(programs_, step);
  issued.ticket = group.started_ticket;
  issued.done_ticket = group.done_ticket;
  GroupSummary& summary = issued.summary;
  summary.signature = step.stream * 4 + (step.send.channel >= 0 ? 1 : 0) + (step.receive.channel >= 0 ? 2 : 0) +
                      (step.kind == Step::Kind::whole_sum ? 1u << 20 : 0) +
                      (step.kind == Step::Kind::loss_sum ? 1u << 21 : 0);
  summary.send_peer = peer_of(programs_, step.send, rank.place);
  summary.receive_peer = peer_of(programs_, step.receive, rank.place);
  summary.sends = step.send.channel >= 0;
  summary.receives = step.receive.channel >= 0;
  summary.sent_bytes = summary.sends * options_.message_bytes;
  summary.received_bytes = summary.receives * options_.message_bytes;
  summary.collectives = summary.reduces = sums;
  if (sums) summary.collective_bytes = step.kind == Step::Kind::stage_sum ? options_.gradient_bytes : 8;
  rank.groups.push_back(group);
  stream.latest = group.done_ticket;
  stream.before = rank.last_ticket + 1;
  ++stream.enqueued;
  stream.items.push_back(item);
  tell(rank);
  if (options_.tells_operations) tell_operations(rank, step, item.group);
}

void Replica::tell_operations(Rank& rank, const Step& step, GroupId group) {
  const GroupSummary summary = event_.summary;
  const CommunicatorId communicator = event_.communicator;
  Event& told = event(EventKind::operations_issued, step.stream);
  told.group = group;
  told.communicator = communicator;
  std::size_t count = 0;
  const auto add = [&](Operation kind, int peer, std::uint64_t bytes) {
    const int of = kind == Operation::send ? peer + static_cast<int>(ranks_.size()) : peer;
    told.operations[count++] = {bytes, ++rank.told[{communicator, of}], peer, kind, true, {}};
  };
  if (summary.sends != 0) add(Operation::send, summary.send_peer, summary.sent_bytes);
  if (summary.receives != 0) add(Operation::receive, summary.receive_peer, summary.received_bytes);
  if (summary.collectives != 0) add(Operation::all_reduce, -1, summary.collective_bytes);
  tell(rank);
}

// The stream waits for all that the compute stream has. The shim notes that where communication may hold it up.
void Replica::wait_for_compute(Rank& rank, std::size_t stream, Item& item) {
  const Stream& other = rank.streams[compute];
  item.behind = other.enqueued;
  if (other.latest == 0 || other.reached >= other.latest) return;
  item.ticket = ++rank.last_ticket;
  item.passed = ++rank.last_ticket;
  Event& issued = event(EventKind::wait_issued, stream);
  issued.nothing_launched = true;
  issued.awaited = {id_of(compute), other.latest};
  issued.ticket = item.ticket;
  issued.done_ticket = item.passed;
  tell(rank);
}

void Replica::wait_for(Rank& rank, GroupId group) {
  if (is_over(rank, group)) return;
  const Group& awaited = group_of(rank, group);
  add_wait(rank, compute, {.kind = Item::Kind::wait, .group = group}, {id_of(awaited.stream), awaited.done_ticket});
}

// Between two markers.
void Replica::add_wait(Rank& rank, std::size_t number, Item item, const AwaitedPlace& awaited) {
  Stream& stream = rank.streams[number];
  item.ticket = ++rank.last_ticket;
  item.passed = stream.latest = ++rank.last_ticket;
  Event& issued = event(EventKind::wait_issued, number);
  issued.nothing_launched = !std::exchange(stream.launched_since_marker, false);
  issued.awaited = awaited;
  issued.ticket = item.ticket;
  issued.done_ticket = item.passed;
  stream.before = rank.last_ticket + 1;
  stream.noted = false;
  stream.latest_is = NoCompute::none;
  ++stream.enqueued;
  stream.items.push_back(item);
  tell(rank);
}

void Replica::launch(Rank& rank, const Step& step) {
  Stream& stream = rank.streams[compute];
  if (stream.latest_is != NoCompute::none) {
    mark(rank, compute);
    stream.noted = true;
  } else if (!std::exchange(stream.noted, true)) {
    event(EventKind::launch_noted, compute).ticket = rank.last_ticket;
    tell(rank);
  }
  stream.launched_since_marker = true;
  stream.before = rank.last_ticket + 1;
  const Duration length = length_of(rank, step);
  const int kernels = options_.kernels_of_piece;
  Item piece{.kind = Item::Kind::piece};
  set_memory(rank, step, piece);
  stream.enqueued += static_cast<std::uint64_t>(kernels);
  for (int i = 0; i < kernels; ++i) {
    Item kernel{.kind = Item::Kind::piece, .length = length.count() * (i + 1) / kernels - length.count() * i / kernels};
    if (i == 0) kernel.takes = piece.takes;
    if (i + 1 == kernels) kernel.gives_back = piece.gives_back;
    stream.items.push_back(kernel);
  }
}

// An evaluation keeps nothing for a backward pass.
void Replica::set_memory(const Rank& rank, const Step& step, Item& piece) const {
  if (step.kind != Step::Kind::launch || !rank.program->trains) return;
  const auto all = static_cast<std::int64_t>(options_.activations.of_place(static_cast<std::size_t>(rank.place)));
  const auto kept = std::llround(static_cast<double>(all) * options_.activations.kept_for_weights);
  switch (step.piece.work) {
    case Work::forward:
      piece.takes = all;
      break;
    case Work::backward:
      piece.gives_back = all;
      break;
    case Work::input_gradient:
      piece.gives_back = all - kept;
      break;
    case Work::weight_gradient:
      piece.gives_back = kept;
      break;
  }
}

void Replica::add_activations(Rank& rank, std::int64_t bytes) {
  rank.activations += bytes;
  rank.totals.most_activations =
      std::max(rank.totals.most_activations, static_cast<std::uint64_t>(std::max<std::int64_t>(0, rank.activations)));
}

Duration Replica::length_of(Rank& rank, const Step& step) const {
  Duration length = options_.optimizer;
  if (step.kind == Step::Kind::launch) {
    const Work work = step.piece.work;
    length = work == Work::forward           ? options_.forward
             : work == Work::input_gradient  ? options_.input_gradient
             : work == Work::weight_gradient ? options_.weight_gradient
                                             : options_.input_gradient + options_.weight_gradient;
  }
  const std::uint64_t number = rank.pieces++;
  double times = rank.slowness;
  if (options_.jitter != 0) {
    const double by = normal(mixed(options_.seed) ^ mixed(static_cast<std::uint64_t>(rank.number) << 32 | number));
    times *= std::exp(options_.jitter * by);
  }
  return Duration{std::llround(static_cast<double>(length.count()) * times)};
}

double Replica::slowness_of(const Rank& rank) const {
  double times = std::pow(1 + options_.drift, rank.iteration);
  for (const Change& change : options_.changes)
    if (change.is_at(rank.place, rank.iteration)) times *= change.factor;
  return times;
}

Duration Replica::stall_of(const Rank& rank) const {
  Duration longest{};
  for (const Change& change : options_.changes)
    if (change.is_at(rank.place, rank.iteration)) longest = std::max(longest, change.stall);
  return longest;
}

void Replica::begin_iteration(Rank& rank) {
  rank.program = &(*rank.kinds)[options_.kinds.kind_of(rank.iteration)];
  rank.posted.assign(rank.program->groups, 0);
  rank.copied.assign(rank.program->copies, {});
  rank.slowness = slowness_of(rank);
}

void Replica::begin_host_wait(Rank& rank) {
  rank.streams[compute].items.push_back({.kind = Item::Kind::idle_check});
  ++rank.streams[compute].enqueued;
  event(EventKind::host_wait_begun, compute);
  tell(rank);
}

void Replica::end_host_wait(Rank& rank) {
  event(EventKind::host_wait_ended, compute);
  tell(rank);
  rank.totals.iteration_ends.push_back(now());
  rank.step = 0;
  if (++rank.iteration == options_.iterations) {
    --hosts_at_work_;
    return;
  }
  begin_iteration(rank);
  push(now_ + (options_.host_call + stall_of(rank)).count(), rank.number, What::host);
}

void Replica::advance(Rank& rank) {
  for (bool progress = true; progress;) {
    progress = false;
    for (std::size_t stream = 0; stream < rank.streams.size(); ++stream) progress = advance(rank, stream) || progress;
  }
}

// True: something has begun or is over.
bool Replica::advance(Rank& rank, std::size_t stream) {
  Stream& of = rank.streams[stream];
  bool progress = false;
  while (!of.items.empty() && begin(rank, stream, of.items.front())) {
    of.items.pop_front();
    ++of.over;
    progress = true;
  }
  return progress;
}

// The stream has got to this item. True: it is over.
bool Replica::begin(Rank& rank, std::size_t stream, Item& item) {
  switch (item.kind) {
    case Item::Kind::piece:
      if (!std::exchange(item.reached, true)) begin_piece(rank, item);
      return false;  // end_piece() takes it away
    case Item::Kind::wait:
      if (!std::exchange(item.reached, true)) reach(rank, stream, EventKind::wait_reached, item.ticket);
      if (!is_over(rank, item.group)) return false;
      reach(rank, stream, EventKind::wait_passed, item.passed);
      return true;
    case Item::Kind::group:
      if (!is_over(rank, item.group)) begin_group(rank, stream, item);
      return is_over(rank, item.group);
    case Item::Kind::idle_check:
      end_host_wait(rank);
      return true;
    default:
      return begin_of_copies(rank, stream, item);
  }
  return false;
}

void Replica::reach(Rank& rank, std::size_t stream, EventKind kind, Ticket ticket, GroupId group) {
  rank.streams[stream].reached = ticket;
  Event& reached = event(kind, stream);
  reached.ticket = ticket;
  reached.group = group;
  tell(rank);
}

void Replica::begin_piece(Rank& rank, const Item& item) {
  add_activations(rank, item.takes);
  rank.piece_reached = now_;
  count_kernels(rank);
  rank.piece_began = std::max(now_, rank.held_until);
  rank.totals.delayed += Duration{rank.piece_began - now_};
  rank.piece_length = item.length;
  const bool is_next_to_fill = rank.last_fill >= 0 && rank.piece_began - rank.last_fill < item.length;
  if (is_next_to_fill) rank.piece_length += std::llround(static_cast<double>(item.length) * options_.interference);
  rank.piece_ends = rank.piece_began + rank.piece_length;
  share_with_piece(rank);
  push(rank.piece_ends, rank.number, What::compute_ended, ++rank.piece_timer);
}

void Replica::end_piece(Rank& rank, std::uint64_t timer) {
  if (timer != rank.piece_timer) return;
  if (now_ < rank.piece_ends) return push(rank.piece_ends, rank.number, What::compute_ended, timer);  // it was held up
  rank.totals.computed += Duration{rank.piece_length};
  Span span{at(rank.piece_reached), at(rank.piece_began), now()};
  leave_piece(rank, span);
  watcher_.computed(rank.number, span);
  rank.piece_began = -1;
  add_activations(rank, -rank.streams[compute].items.front().gives_back);
  rank.streams[compute].items.pop_front();
  ++rank.streams[compute].over;
  begin_kernel(rank);
  advance(rank);
}

void Replica::take_gpu(int number, TimePoint from, TimePoint until) {
  Rank& of = rank(number);
  const Time began = from.time_since_epoch().count(), ended = until.time_since_epoch().count();
  of.last_fill = std::max(of.last_fill, ended);
  const bool computes = of.piece_began >= 0 && of.piece_ends > began;
  if (!computes) {
    of.held_until = std::max(of.held_until, ended);
    return;
  }
  of.piece_ends += ended - began;
  of.totals.delayed += Duration{ended - began};
}

void Replica::begin_group(Rank& rank, std::size_t stream, Item& item) {
  Group& group = group_of(rank, item.group);
  if (group.started) return;
  if (item.ticket != 0 && !std::exchange(item.reached, true)) reach(rank, stream, EventKind::wait_reached, item.ticket);
  if (rank.streams[compute].over < item.behind) return;
  group.started = true;
  if (item.passed != 0) reach(rank, stream, EventKind::wait_passed, item.passed);
  reach(rank, stream, EventKind::group_started, group.started_ticket, item.group);
  const Step& step = *group.step;
  if (step.kind != Step::Kind::post) return join(rank, step, item.group);
  const auto meet_on = [&](const Message& message, bool sends) {
    if (message.channel < 0) return;
    meet(channels_[static_cast<std::size_t>(message.channel)], sends, {rank.number, item.group},
         options_.message_bytes);
  };
  meet_on(step.send, true);
  meet_on(step.receive, false);
}

void Replica::meet(Channel& channel, bool sends, const Arrived& arrived, std::uint64_t bytes) {
  if (channel.waiting.empty() || channel.are_senders == sends) {
    channel.are_senders = sends;
    channel.waiting.push_back(arrived);
    return;
  }
  const Arrived other = channel.waiting.front();
  channel.waiting.pop_front();
  const Time end =
      now_ + options_.latency.count() + std::llround(static_cast<double>(bytes) / options_.bandwidth * 1e9);
  push(end, arrived.rank, What::operation_ended, arrived.group);
  push(end, other.rank, What::operation_ended, other.group);
}

void Replica::join(Rank& rank, const Step& step, GroupId group) {
  const bool whole = step.kind != Step::Kind::stage_sum;
  const std::size_t index = whole ? sums_.size() - 1 : static_cast<std::size_t>(rank.place);
  Sum& sum = sums_[index];
  sum.waiting.push_back({rank.number, group});
  if (sum.waiting.size() < sum.members) return;
  // A ring moves each byte twice; one alone has nothing to move.
  if (options_.replicas == 1) return end_sum(index, now_ + options_.latency.count());
  sum.arrived = now_;
  stops_ = true;
}

void Replica::end_sum(std::size_t index, Time time) {
  Sum& sum = sums_[index];
  for (const Arrived& each : sum.waiting) push(time, each.rank, What::operation_ended, each.group);
  sum.waiting.clear();
  sum.arrived.reset();
}

void Replica::end_operation(Rank& rank, GroupId id) {
  Group& group = group_of(rank, id);
  if (--group.operations > 0) return;
  group.done = true;
  reach(rank, group.stream, EventKind::group_done, group.done_ticket, id);
  while (!rank.groups.empty() && rank.groups.front().done) {
    rank.groups.pop_front();
    ++rank.first_group;
  }
  advance(rank);
}

void Replica::ask(int number, std::vector<std::pair<StreamId, Answer>>& answers) const {
  answers.clear();
  const Rank& of = ranks_[index_of(number)];
  for (std::size_t stream = 0; stream < of.streams.size(); ++stream) {
    const Stream& each = of.streams[stream];
    // Copies may be left, but nothing to compute: the shim knows that without a question.
    const bool only_copies = each.copies && each.latest != 0 && each.reached >= each.latest;
    if (only_copies) {
      answers.emplace_back(id_of(stream), Answer{StreamAnswer::dry, 0});
      continue;
    }
    const bool busy = each.over < each.enqueued;
    answers.emplace_back(id_of(stream), Answer{busy ? StreamAnswer::busy : StreamAnswer::dry, each.before});
  }
}

}  // namespace weft::pipeline
