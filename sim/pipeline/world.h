// A pipeline in virtual time: the hosts, streams and messages of all its ranks, one discrete event after the other.
//
// Each rank's events come out as its shim would note them and its words would tell them, at the time at which they
// happen. Whoever watches may take a rank's GPU for a while (fill work), and what that delays is passed on to the other
// ranks by their messages. Used by `weft simulate`, the benchmark of policies and tests. One thread, no clock; equal
// options give equal events, with fill and without: the length of each piece depends on the seed and its number alone.
#pragma once

#include <cstdint>
#include <deque>
#include <queue>
#include <vector>

#include "detector/event.h"
#include "sim/pipeline/host_program.h"

namespace weft::pipeline {

// Something beside fill work that changes the training for some of its iterations: a straggler, a step, a stall of the
// data loader, a checkpoint.
struct Change {
  int first = 0;      // iteration, from 0
  int count = 1;      // of iterations
  int every = 1;      // of these, only the first and each so-manieth after it
  int place = -1;     // of the pipeline, in all replicas; -1: everywhere
  double factor = 1;  // pieces take so many times as long
  Duration stall{};   // the host waits that long before it begins

  bool is_at(int its_place, int iteration) const {
    const int since = iteration - first;
    return (place < 0 || place == its_place) && since >= 0 && since < count && since % every == 0;
  }
};

struct WorldOptions {
  ScheduleOptions schedule{};
  int replicas = 1;  // of the whole pipeline; their gradients are summed up at the end of an iteration
  int iterations = 20;
  // A microbatch in one stage; backward passes that are not split take both gradients.
  Duration forward{10'000'000};
  Duration input_gradient{10'000'000};
  Duration weight_gradient{10'000'000};
  Duration optimizer{5'000'000};
  double jitter = 0;  // of each piece: the standard deviation of the logarithm of its length
  std::uint64_t message_bytes = 16 << 20;
  std::uint64_t gradient_bytes = 64 << 20;  // of a stage
  Duration latency{20'000};
  double bandwidth = 50e9;  // bytes per second, of each message
  Duration host_call{5'000};
  double drift = 0;  // pieces of an iteration take that much longer than those of the one before, relative
  std::vector<Change> changes{};
  double interference = 0;  // pieces next to fill work take that much longer, relative
  std::uint64_t seed = 1;
  ProgramOptions program{};
};

// A piece. Between the times at which its stream was at it and at which it began, fill work had the GPU.
struct Span {
  TimePoint reached, began, ended;
};

// Of one rank, so far.
struct RankTotals {
  Duration computed{};                    // by its own pieces, without delays by fill work
  Duration delayed{};                     // pieces, by fill work that held the GPU
  std::vector<TimePoint> iteration_ends;  // as its host sees them
};

class World;

// Watches all ranks. Called by the world, in the order of times.
class Watcher {
 public:
  virtual ~Watcher() = default;
  virtual void saw(int rank, const Event& event) = 0;
  // As wanted by World::wake().
  virtual void woken(int rank, TimePoint now) = 0;
  // A piece is over.
  virtual void computed(int rank, const Span& span) = 0;
};

class World {
 public:
  // The watcher outlives the world.
  World(const WorldOptions& options, Watcher& watcher);

  void run();  // to the end of the last iteration
  int ranks() const { return static_cast<int>(ranks_.size()); }
  std::size_t groups_in_iteration(int rank) const { return ranks_[static_cast<std::size_t>(rank)].program->groups; }
  const RankTotals& totals(int rank) const { return ranks_[static_cast<std::size_t>(rank)].totals; }

  // For the watcher, at any of its calls.
  TimePoint now() const { return at(now_); }
  void wake(int rank, TimePoint time);  // each call once; not when all hosts have ended
  // Fill work has the GPU to itself: what computes now goes on afterwards, what comes next begins then.
  void take_gpu(int rank, TimePoint from, TimePoint until);
  // All streams of the rank, as they would answer now.
  void ask(int rank, std::vector<std::pair<StreamId, Answer>>& answers) const;

 private:
  using Time = std::int64_t;
  static TimePoint at(Time time) { return TimePoint{Duration{time}}; }

  enum class What : std::uint8_t { host, compute_ended, operation_ended, wake };
  struct Timer {
    Time time;
    std::uint64_t number;  // of one time the earlier one first
    std::int32_t rank;
    What what;
    GroupId group;
    bool operator<(const Timer& other) const { return time != other.time ? time > other.time : number > other.number; }
  };
  struct Item {
    enum class Kind : std::uint8_t { piece, wait, group, idle_check } kind;
    bool reached = false;
    Ticket ticket = 0, passed = 0;  // wait: its own; group: of the wait ahead of it, 0: there is none that is noted
    GroupId group = 0;              // wait, group
    Time length = 0;                // piece
    std::uint64_t behind = 0;       // group: so many items of the compute stream are over
  };
  struct Stream {
    std::deque<Item> items;
    std::uint64_t enqueued = 0, over = 0;
    Ticket latest = 0, before = 1;  // its last marker, and the first ticket given out after what it has
    Ticket reached = 0;
    bool launched_since_marker = false, noted = true;
  };
  struct Group {
    int operations = 0;  // that are not over
    std::uint16_t stream = 0;
    bool started = false, done = false;
    Ticket started_ticket = 0, done_ticket = 0;
    const Step* step = nullptr;
  };
  struct Arrived {
    std::int32_t rank;
    GroupId group;
  };
  // Messages of one kind between two ranks: the k-th that is sent meets the k-th that is received.
  struct Channel {
    std::deque<Arrived> waiting;
    bool are_senders = false;
  };
  // The k-th sum of one kind of all its members.
  struct Sum {
    std::vector<Arrived> waiting;
  };
  struct Rank {
    int number = 0, place = 0, replica = 0;  // place in its pipeline
    const Program* program = nullptr;
    std::size_t step = 0;
    int iteration = 0;
    double slowness = 1;  // in this iteration
    std::uint64_t pieces = 0;
    std::vector<Stream> streams;
    std::deque<Group> groups;
    GroupId first_group = 1;  // of `groups`
    std::vector<GroupId> posted;
    Ticket last_ticket = 0;
    Time piece_reached = 0, piece_began = -1, piece_ends = 0;  // -1: none runs
    Time held_until = 0, last_fill = -1;
    Time piece_length = 0;
    RankTotals totals;
  };

  Rank& rank(int number) { return ranks_[static_cast<std::size_t>(number)]; }
  void push(Time time, int rank, What what, GroupId group = 0);
  Event& event(EventKind kind, std::size_t stream);
  void tell(Rank& rank) { watcher_.saw(rank.number, event_); }
  static StreamId id_of(std::size_t stream) { return static_cast<StreamId>(stream + 1); }
  Group& group_of(Rank& rank, GroupId id) { return rank.groups[static_cast<std::size_t>(id - rank.first_group)]; }
  bool is_over(const Rank& rank, GroupId id) const;

  void host(Rank& rank);
  void post(Rank& rank, const Step& step);
  void wait_for(Rank& rank, GroupId group);
  void wait_for_compute(Rank& rank, std::size_t stream, Item& item);
  void launch(Rank& rank, Duration length);
  Duration length_of(Rank& rank, const Step& step) const;
  double slowness_of(const Rank& rank) const;
  Duration stall_of(const Rank& rank) const;
  void begin_host_wait(Rank& rank);
  void end_host_wait(Rank& rank);

  void advance(Rank& rank);
  bool advance(Rank& rank, std::size_t stream);
  bool begin(Rank& rank, std::size_t stream, Item& item);
  void begin_piece(Rank& rank, const Item& item);
  void begin_group(Rank& rank, std::size_t stream, Item& item);
  void meet(Channel& channel, bool sends, const Arrived& arrived, std::uint64_t bytes);
  void join(Rank& rank, const Step& step, GroupId group);
  void end_piece(Rank& rank);
  void end_operation(Rank& rank, GroupId group);
  void reach(Rank& rank, std::size_t stream, EventKind kind, Ticket ticket, GroupId group = 0);

  const WorldOptions options_;
  Watcher& watcher_;
  std::vector<Program> programs_;  // one per place in the pipeline
  std::size_t channels_in_pipeline_ = 0;
  std::vector<Rank> ranks_;
  std::vector<Channel> channels_;
  std::vector<Sum> stage_sums_;  // of the gradients of one place, over the replicas
  Sum whole_sum_;                // over all ranks
  std::priority_queue<Timer> timers_;
  std::uint64_t last_timer_ = 0;
  Time now_ = 0;
  std::size_t hosts_at_work_ = 0;
  Event event_{};
};

}  // namespace weft::pipeline
