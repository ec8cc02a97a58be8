// See pipelines.h. Hosts and streams are actors that advance as far as the times they depend on are known.
#include "sim/pipeline/pipelines.h"

#include <algorithm>
#include <map>
#include <memory>
#include <random>
#include <tuple>

#include "sim/pipeline/program.h"

namespace weft::testing {
namespace {

using Time = std::int64_t;
constexpr Time unknown = -1;

// One direction between two ranks: message i of the sender meets message i of the receiver.
struct Channel {
  std::vector<Time> send_started, receive_started;
};

struct Operation {
  Channel* channel;
  std::size_t number;
  bool send;
};

struct TrueGroup {
  GroupId id = 0;
  StreamId stream = 0;
  Time issued = unknown, started = unknown, ended = unknown;
  std::vector<Operation> operations;
  int collective = -1;
  GroupSummary summary{};
  int iteration = 0;
};

struct Item {
  enum class Kind { compute, group, wait, idle_check } kind;
  Time issued;
  Time length = 0;              // compute
  TrueGroup* group = nullptr;   // group, wait
  const Item* after = nullptr;  // a group that sends starts after this item of the compute stream
  Time started = unknown, ended = unknown;
};

struct HostWaiting {
  StreamId stream;
  Time begun, ended;
  const Item* idle_check;
  std::size_t groups;  // issued before it
  int iteration;
};

struct Queue {
  std::vector<std::unique_ptr<Item>> items;
  std::size_t next = 0;
};

class World;

struct Rank {
  int number = 0;
  std::unique_ptr<Program> program;
  std::size_t step = 0;
  int iteration = 0;
  Time host = 0;
  std::map<StreamId, Queue> streams;
  std::vector<std::unique_ptr<TrueGroup>> groups;
  std::vector<HostWaiting> host_waits;
  std::vector<TrueGroup*> exchanges;
  const Item* syncing = nullptr;  // the idle check that the host waits for
  std::minstd_rand random;
  std::vector<Time> iteration_ends;
};

class World {
 public:
  explicit World(const PipelineOptions& options) : o_(options), ranks_(static_cast<std::size_t>(options.stages)) {
    int number = 0;
    for (Rank& r : ranks_) {
      r.number = number++;
      r.program = std::make_unique<Program>(o_, r.number, 0);
      r.random.seed(o_.seed * 1000 + static_cast<std::uint32_t>(r.number));
      r.host = 1'000'000;
      for (int i = 0; i < o_.startup_groups; ++i) all_reduce(r, 1000 + static_cast<std::uint64_t>(i));
    }
  }

  void run() {
    for (bool progress = true; progress;) {
      progress = false;
      for (Rank& r : ranks_) {
        while (host_step(r)) progress = true;
        for (auto& [id, queue] : r.streams)
          while (stream_step(queue)) progress = true;
      }
    }
  }

  Timeline timeline(const Rank& r) const;
  const std::vector<Rank>& ranks() const { return ranks_; }

 private:
  StreamId on(StreamId stream) const { return o_.wait == Wait::in_stream ? StreamId{compute_stream} : stream; }

  Item* push(Rank& r, StreamId stream, Item item) {
    auto& items = r.streams[stream].items;
    items.push_back(std::make_unique<Item>(item));
    return items.back().get();
  }
  const Item* last(Rank& r, StreamId stream) {
    auto& items = r.streams[stream].items;
    return items.empty() ? nullptr : items.back().get();
  }

  TrueGroup* new_group(Rank& r, StreamId stream, bool after_compute) {
    r.groups.push_back(std::make_unique<TrueGroup>());
    TrueGroup* g = r.groups.back().get();
    g->id = r.groups.size();
    g->stream = stream;
    g->issued = r.host;
    g->iteration = r.iteration + 1;
    g->summary.send_peer = g->summary.receive_peer = -1;
    Item item{Item::Kind::group, r.host};
    item.group = g;
    if (after_compute && stream != compute_stream) item.after = last(r, compute_stream);
    push(r, stream, item);
    return g;
  }

  void add_operation(Rank& r, TrueGroup* g, Direction d, bool send, std::uint64_t bytes, std::uint64_t& signature) {
    const int step = (d == Direction::forward) == send ? 1 : o_.stages - 1;
    const int peer = (r.number + step) % o_.stages;
    const auto key = send ? std::tuple{r.number, peer, d} : std::tuple{peer, r.number, d};
    Channel& c = channels_[key];
    auto& times = send ? c.send_started : c.receive_started;
    g->operations.push_back({&c, times.size(), send});
    times.push_back(unknown);
    (send ? g->summary.sends : g->summary.receives) = 1;
    (send ? g->summary.sent_bytes : g->summary.received_bytes) = bytes;
    (send ? g->summary.send_peer : g->summary.receive_peer) = peer;
    signature = signature * 1000 +
                static_cast<std::uint64_t>(peer * 4 + (send ? 2 : 0) + (d == Direction::forward ? 1 : 0) + 1) +
                (bytes - 4096) * 1000003;
  }

  // The other ranks of it are not among these, and in step with this one: none is waited for.
  TrueGroup* sum_aside(Rank& r, std::uint64_t bytes) {
    TrueGroup* g = new_group(r, on(shared), true);
    g->summary.collectives = g->summary.reduces = 1;
    g->summary.collective_bytes = bytes;
    g->summary.signature = 77 + bytes;
    return g;
  }

  void all_reduce(Rank& r, std::uint64_t bytes) {
    TrueGroup* g = sum_aside(r, bytes);
    const auto number = static_cast<std::size_t>(
        std::count_if(r.groups.begin(), r.groups.end(), [](const auto& other) { return other->collective >= 0; }));
    g->collective = static_cast<int>(number);
    if (collectives_.size() <= number) collectives_.resize(number + 1, std::vector<Time>(ranks_.size(), unknown));
    r.host += o_.host_call.count();
    if (g->stream != compute_stream) wait_for(r, g);
  }

  void wait_for(Rank& r, TrueGroup* g) {
    Item item{Item::Kind::wait, r.host};
    item.group = g;
    push(r, compute_stream, item);
    r.host += o_.host_call.count();
  }

  void synchronise(Rank& r, StreamId stream) {
    r.syncing = push(r, compute_stream, {Item::Kind::idle_check, r.host});
    r.host_waits.push_back({stream, r.host, unknown, r.syncing, r.groups.size(), r.iteration + 1});
  }

  bool host_step(Rank& r) {
    if (r.syncing != nullptr) {
      if (r.syncing->ended == unknown) return false;
      Time end = std::max(r.host, r.syncing->ended);
      if (r.host_waits.back().stream == 0)
        for (const auto& g : r.groups) {
          if (g->ended == unknown) return false;
          end = std::max(end, g->ended);
        }
      r.host = r.host_waits.back().ended = end;
      r.syncing = nullptr;
      return true;
    }
    if (r.iteration == o_.iterations) return false;
    const Step& s = r.program->steps[r.step++];
    r.host += o_.host_call.count();
    switch (s.kind) {
      case Step::Kind::compute: {
        Item item{Item::Kind::compute, r.host};
        const double length =
            static_cast<double>((s.direction == Direction::forward ? o_.forward : o_.backward).count());
        item.length =
            static_cast<Time>(length * (1 + o_.jitter * std::uniform_real_distribution<double>(0, 1)(r.random)));
        push(r, compute_stream, item);
        break;
      }
      case Step::Kind::exchange: {
        TrueGroup* g = new_group(r, on(s.stream), s.send);
        std::uint64_t signature = s.stream;
        if (s.send) add_operation(r, g, s.direction, true, s.bytes, signature);
        if (s.receive) add_operation(r, g, s.receive_direction, false, s.bytes, signature);
        g->summary.signature = signature;
        r.exchanges.push_back(g);
        break;
      }
      case Step::Kind::wait:
        if (o_.wait == Wait::event) wait_for(r, r.exchanges[static_cast<std::size_t>(s.exchange)]);
        if (o_.wait == Wait::host) synchronise(r, 0);
        break;
      case Step::Kind::all_reduce:
        all_reduce(r, s.bytes);
        break;
      case Step::Kind::sum_aside:
        sum_aside(r, s.bytes);
        break;
      case Step::Kind::end:
        synchronise(r, compute_stream);
        r.exchanges.clear();
        r.step = 0;
        r.program = std::make_unique<Program>(o_, r.number, ++r.iteration);
        break;
    }
    return true;
  }

  bool stream_step(Queue& queue) {
    if (queue.next == queue.items.size()) return false;
    Item& item = *queue.items[queue.next];
    if (item.started == unknown) {
      Time start = item.issued;
      if (queue.next > 0) start = std::max(start, queue.items[queue.next - 1]->ended);
      if (item.after != nullptr) {
        if (item.after->ended == unknown) return false;
        start = std::max(start, item.after->ended);
      }
      item.started = start;
      if (item.kind == Item::Kind::group) group_started(*item.group, start);
      return true;
    }
    item.ended = end_of(item);
    if (item.ended == unknown) return false;
    ++queue.next;
    return true;
  }

  void group_started(TrueGroup& g, Time time) {
    g.started = time;
    for (const Operation& op : g.operations)
      (op.send ? op.channel->send_started : op.channel->receive_started)[op.number] = time;
    if (g.collective < 0) return;
    std::vector<Time>& starts = collectives_[static_cast<std::size_t>(g.collective)];
    *std::find(starts.begin(), starts.end(), unknown) = time;
  }

  Time end_of(const Item& item) const {
    switch (item.kind) {
      case Item::Kind::compute:
        return item.started + item.length;
      case Item::Kind::idle_check:
        return item.started;
      case Item::Kind::wait:
        return item.group->ended == unknown ? unknown : std::max(item.started, item.group->ended);
      case Item::Kind::group:
        return item.group->ended = end_of(*item.group);
    }
    return unknown;
  }

  Time end_of(const TrueGroup& g) const {
    const Time latency = o_.latency.count();
    const bool aside = g.collective < 0 && g.operations.empty();
    Time end = g.started + (aside ? latency : 0);
    if (g.collective >= 0)
      for (const Time start : collectives_[static_cast<std::size_t>(g.collective)]) {
        if (start == unknown) return unknown;
        end = std::max(end, start + latency);
      }
    for (const Operation& op : g.operations) {
      const auto at = [&](const std::vector<Time>& times) {
        return op.number < times.size() ? times[op.number] : unknown;
      };
      const Time sent = at(op.channel->send_started), received = at(op.channel->receive_started);
      if (sent == unknown || (received == unknown && !(o_.eager && op.send))) return unknown;
      if (o_.eager)
        end = std::max(end, op.send ? sent + latency : std::max(received, sent + latency));
      else
        end = std::max(end, std::max(sent, received) + latency);
    }
    return end;
  }

  PipelineOptions o_;
  std::vector<Rank> ranks_;
  std::map<std::tuple<int, int, Direction>, Channel> channels_;
  std::vector<std::vector<Time>> collectives_;
};

TimePoint at(Time time) {
  return TimePoint{Duration{time}};
}

// Events of one time in the order in which they may be seen: hooks, ends, then what is reached. Those of one stream are
// in its order: on a communication stream a wait stands ahead of a group, on the compute stream behind what it follows.
int rank_of(const Event& event) {
  switch (event.kind) {
    case EventKind::wait_issued:
      return -1;
    case EventKind::group_done:
      return 1;
    case EventKind::wait_reached:
      return event.stream == compute_stream ? 5 : 2;
    case EventKind::host_wait_ended:
    case EventKind::wait_passed:
      return 3;
    case EventKind::group_started:
      return 4;
    default:
      return 0;
  }
}

class Writer {
 public:
  Event& add(Time time, EventKind kind, StreamId stream, GroupId group) {
    Event e{};
    e.time = at(time);
    e.kind = kind;
    e.stream = stream;
    e.group = group;
    events.push_back(e);
    return events.back();
  }
  void finish() {
    std::stable_sort(events.begin(), events.end(), [](const Event& a, const Event& b) {
      return std::tuple{a.time, rank_of(a)} < std::tuple{b.time, rank_of(b)};
    });
    number_in_order();
  }
  // Tickets are given out in the order of the calls.
  void number_in_order() {
    std::vector<Ticket> numbers(ticket + 1);
    Ticket last = 0;
    for (Event& event : events) {
      if (event.kind == EventKind::group_issued || event.kind == EventKind::wait_issued) {
        numbers[event.ticket] = ++last;
        numbers[event.done_ticket] = ++last;
        given.push_back({event.time, last});
        event.done_ticket = numbers[event.done_ticket];
      }
      event.ticket = numbers[event.ticket];
      if (event.kind == EventKind::wait_issued) event.awaited.ticket = numbers[event.awaited.ticket];
    }
  }
  Ticket next_at(TimePoint time) const {
    const auto later =
        std::upper_bound(given.begin(), given.end(), time, [](TimePoint t, const Given& g) { return t < g.time; });
    return later == given.begin() ? 1 : std::prev(later)->last + 1;
  }

  struct Given {
    TimePoint time;
    Ticket last;
  };
  std::vector<Given> given;
  std::vector<Event> events;
  Ticket ticket = 0;
};

bool any_pending(const Rank& r, std::size_t groups, Time time) {
  return std::any_of(r.groups.begin(), r.groups.begin() + static_cast<std::ptrdiff_t>(groups),
                     [&](const auto& g) { return g->ended > time; });
}

// The marker behind a group or a noted wait of the compute stream, which events recorded later stand for.
struct Place {
  const Item* item;
  Ticket ticket;
};

// A wait of a stream for what another had issued up to some place, with a marker on either side.
void write_wait(Writer& w, Time issued, StreamId stream, AwaitedPlace awaited, Time reached, Time passed) {
  Event& event = w.add(issued, EventKind::wait_issued, stream, 0);
  event.awaited = awaited;
  event.ticket = ++w.ticket;
  const Ticket behind = ++w.ticket;
  event.done_ticket = behind;
  w.add(reached, EventKind::wait_reached, stream, 0).ticket = behind - 1;
  w.add(passed, EventKind::wait_passed, stream, 0).ticket = behind;
}

// A group on a communication stream that waits for an item of the compute stream: the shim notes that where
// communication may hold the compute stream up before it.
void write_wait_for_compute(Writer& w, const std::vector<std::unique_ptr<Item>>& compute,
                            const std::vector<Place>& places, const Item& item, Time reached) {
  Place latest{};
  std::size_t next = 0;
  for (const auto& earlier : compute) {
    if (next < places.size() && places[next].item == earlier.get()) latest = places[next++];
    if (earlier.get() == item.after) break;
  }
  if (latest.item == nullptr || latest.item->ended <= item.issued) return;
  write_wait(w, item.issued, item.group->stream, {compute_stream, latest.ticket}, reached, item.started);
}

void write_group(Writer& w, const TrueGroup& g, std::map<GroupId, Ticket>& done) {
  Event& issued = w.add(g.issued, EventKind::group_issued, g.stream, g.id);
  issued.communicator = g.stream;
  issued.ticket = ++w.ticket;
  issued.done_ticket = done[g.id] = ++w.ticket;
  issued.summary = g.summary;
  w.add(g.started, EventKind::group_started, g.stream, g.id);
  w.add(g.ended, EventKind::group_done, g.stream, g.id);
}

// Waits and host waits of the compute stream, and what lies between.
std::vector<Place> write_compute(Writer& w, const std::vector<std::unique_ptr<Item>>& items,
                                 std::map<GroupId, Ticket>& done) {
  std::vector<Place> places;
  for (const auto& item : items) {
    if (item->kind == Item::Kind::group) places.push_back({item.get(), done[item->group->id]});
    // The shim notes no wait for a group that is over.
    if (item->kind != Item::Kind::wait || item->group->ended <= item->issued) continue;
    write_wait(w, item->issued, compute_stream, {item->group->stream, done[item->group->id]}, item->started,
               item->ended);
    places.push_back({item.get(), w.ticket});
  }
  return places;
}

Timeline World::timeline(const Rank& r) const {
  Timeline t;
  Writer w;
  std::vector<TrueBubble> bubbles;
  const auto bubble = [&](Time from, Time to, const TrueGroup& g, int iteration) {
    if (to > from) bubbles.push_back({at(from), at(to), g.id, iteration});
  };
  std::map<GroupId, Ticket> done;
  for (const auto& g : r.groups) {
    write_group(w, *g, done);
    if (g->iteration == 2) ++t.groups_per_iteration;
    if (g->stream == compute_stream) bubble(g->started, g->ended, *g, g->iteration);
    if (static_cast<std::size_t>(g->iteration) > t.iteration_ends.size()) t.iteration_ends.emplace_back();
    t.iteration_ends.back() = at(g->ended);
  }
  const auto& compute = r.streams.at(compute_stream).items;
  const std::vector<Place> places = write_compute(w, compute, done);
  for (const auto& item : compute)
    if (item->kind == Item::Kind::wait && item->group->ended > item->issued)
      bubble(item->started, item->group->ended, *item->group, item->group->iteration);
  for (const auto& [id, queue] : r.streams) {
    Time free = 0;
    for (const auto& item : queue.items) {
      t.work[id].push_back({at(item->issued), at(item->ended), item->kind == Item::Kind::compute ? 1u : 0u});
      if (item->after != nullptr) write_wait_for_compute(w, compute, places, *item, std::max(free, item->issued));
      free = item->ended;
    }
  }
  for (const HostWaiting& wait : r.host_waits) {
    if (!any_pending(r, wait.groups, wait.begun)) continue;
    w.add(wait.begun, EventKind::host_wait_begun, wait.stream, 0);
    w.add(wait.ended, EventKind::host_wait_ended, wait.stream, 0);
    if (wait.stream != 0) continue;
    const TrueGroup& latest = *r.groups[wait.groups - 1];
    Time end = 0;
    for (std::size_t i = 0; i < wait.groups; ++i) end = std::max(end, r.groups[i]->ended);
    bubble(std::max(wait.begun, wait.idle_check->started), end, latest, wait.iteration);
  }
  w.finish();
  for (auto& [id, all] : t.work) {
    Ticket before = 1;
    for (StreamWork& work : all) work.before = before = work.before != 0 ? w.next_at(work.issued) : before;
  }
  std::sort(bubbles.begin(), bubbles.end(), [](const auto& a, const auto& b) { return a.opened < b.opened; });
  t.events = std::move(w.events);
  t.bubbles = std::move(bubbles);
  return t;
}

}  // namespace

bool is_evaluation(const PipelineOptions& options, int iteration) {
  return options.evaluate_every != 0 && (iteration + 1) % options.evaluate_every == 0;
}

std::vector<Timeline> simulate(const PipelineOptions& options) {
  World world(options);
  world.run();
  std::vector<Timeline> result;
  for (const Rank& r : world.ranks()) result.push_back(world.timeline(r));
  return result;
}

std::vector<std::pair<StreamId, Answer>> answers_at(const Timeline& timeline, TimePoint time) {
  std::vector<std::pair<StreamId, Answer>> answers;
  for (const auto& [stream, work] : timeline.work) {
    const auto later =
        std::upper_bound(work.begin(), work.end(), time, [](TimePoint t, const StreamWork& w) { return t < w.issued; });
    const bool busy = later != work.begin() && std::prev(later)->ended > time;
    const Ticket before = later != work.begin() ? std::prev(later)->before : 1;
    answers.emplace_back(stream, Answer{busy ? StreamAnswer::busy : StreamAnswer::dry, before});
  }
  return answers;
}

}  // namespace weft::testing
