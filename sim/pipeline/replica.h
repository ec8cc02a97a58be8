// One pipeline of a world in virtual time: the hosts, streams and messages of its ranks, one discrete event after the
// other.
//
// Used by the world, on one thread at a time. Nothing but sums of gradients joins it to the other pipelines: it runs on
// its own until one of those is its turn, and the world says when it ends.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <limits>
#include <map>
#include <optional>
#include <queue>
#include <utility>
#include <vector>

#include "sim/pipeline/watcher.h"
#include "sim/pipeline/world_options.h"

namespace weft::pipeline {

class Replica {
 public:
  using Time = std::int64_t;  // ns since the begin
  static constexpr Time never = std::numeric_limits<Time>::max();

  // Of `ranks` are those from `first` on. The programs, of the places of a pipeline, outlive this, as the watcher does.
  Replica(const WorldOptions& options, const Programs& programs, int first, Watcher& watcher);

  // Runs to this time and no farther, or to the next sum that it takes part in. False: it has stopped there.
  bool run(Time limit);
  Time next_time() const { return timers_.empty() ? never : timers_.top().time; }

  // Sums, by place in the pipeline; the last one is of all places together. When all of this pipeline's ranks that take
  // part were there; nothing: they are not, or it is over.
  std::size_t sums() const { return sums_.size(); }
  std::optional<Time> arrived(std::size_t sum) const { return sums_[sum].arrived; }
  // All pipelines were there.
  void end_sum(std::size_t sum, Time time);

  const RankTotals& totals(int rank) const { return ranks_[index_of(rank)].totals; }
  std::size_t groups_in_iteration(int rank) const;  // of the kind of iteration that has most

  // See World.
  TimePoint now() const { return at(now_); }
  void wake(int rank, TimePoint time);
  void take_gpu(int rank, TimePoint from, TimePoint until);
  void share_gpu(int rank, TimePoint from, Duration alone);
  void ask(int rank, std::vector<std::pair<StreamId, Answer>>& answers) const;

 private:
  static TimePoint at(Time time) { return TimePoint{Duration{time}}; }

  enum class What : std::uint8_t { host, compute_ended, operation_ended, copy_ended, wake, kernel_ready, kernel_ended };
  struct Timer {
    Time time;
    std::uint64_t number;  // of one time the earlier one first
    std::int32_t rank;
    What what;
    GroupId
        group;  // copy_ended: stream; or which timer of this kind of the rank: a later one has replaced those before it
    bool operator<(const Timer& other) const { return time != other.time ? time > other.time : number > other.number; }
  };
  struct Item {
    enum class Kind : std::uint8_t { piece, wait, group, idle_check, wait_for_compute, wait_for_copy, copy, mark } kind;
    bool reached = false;
    Ticket ticket = 0, passed = 0;  // waits: their own; group: of the wait ahead of it; 0: there is none that is noted
    GroupId group = 0;              // wait, group; copies: number of the activations
    Time length = 0;                // piece, copy
    std::uint64_t behind = 0;       // group, wait_for_compute: so many items of the compute stream are over
    std::int64_t takes = 0, gives_back = 0;  // bytes of activations, at its begin and at its end
  };
  // The latest that a stream got, as far as that does not compute: see shim/main_job/copies.h.
  enum class NoCompute : std::uint8_t { none, copy, wait_for_copy };
  struct Stream {
    std::deque<Item> items;
    std::uint64_t enqueued = 0, over = 0;
    Ticket latest = 0, before = 1;  // its last marker, and the first ticket given out after what it has
    Ticket reached = 0;
    bool launched_since_marker = false, noted = true;
    // Of copies only, but for `latest_is`, which is the compute stream's as well.
    bool copies = false;
    NoCompute latest_is = NoCompute::none;
    Ticket waited = 0;  // its latest wait is for what the compute stream had up to this marker
  };
  // Activations on their way to the host (0) and back (1).
  struct Copied {
    std::array<bool, 2> over{};
    std::array<Ticket, 2> behind{};  // the marker that was the latest of the copy's stream; 0: it was reached
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
  struct Sum {
    std::vector<Arrived> waiting;
    std::size_t members = 1;
    std::optional<Time> arrived;
  };
  // Fill work that shares the GPU: kernels one after the other.
  struct Kernels {
    struct Waiting {
      Time from, alone;
    };
    std::deque<Waiting> waiting;
    bool runs = false;  // one does
    Time ends = 0, counted = 0;
    std::uint64_t timer = 0;
    Time filled_before = 0, filled_beside = 0;  // see Span; up to `counted`
  };
  struct Rank {
    int number = 0, place = 0;  // place in the pipeline
    const std::vector<Program>* kinds = nullptr;
    const Program* program = nullptr;  // of this iteration
    std::size_t step = 0;
    int iteration = 0;
    double slowness = 1;  // in this iteration
    std::uint64_t pieces = 0;
    std::vector<Stream> streams;
    std::deque<Group> groups;
    GroupId first_group = 1;  // of `groups`
    std::vector<GroupId> posted;
    std::vector<Copied> copied;
    std::array<std::size_t, 2> copy_streams{};
    Time waits_for_copy_since = 0;
    std::int64_t activations = 0;  // bytes
    Ticket last_ticket = 0;
    std::map<std::pair<CommunicatorId, int>, std::uint64_t> told;  // operations, by peer, of sends behind all peers
    Time piece_reached = 0, piece_began = -1, piece_ends = 0;      // -1: none runs
    Time held_until = 0, last_fill = -1;
    Time piece_length = 0;
    std::uint64_t piece_timer = 0;
    Kernels kernels;
    RankTotals totals;
  };

  std::size_t index_of(int rank) const { return static_cast<std::size_t>(rank - first_); }
  Rank& rank(int number) { return ranks_[index_of(number)]; }
  void push(Time time, int rank, What what, GroupId group = 0);
  Event& event(EventKind kind, std::size_t stream);
  void tell(Rank& rank) { watcher_.saw(rank.number, event_); }
  static constexpr std::size_t compute = 0;            // stream
  static constexpr std::size_t to_host = 0, back = 1;  // ways of a copy
  static StreamId id_of(std::size_t stream) { return static_cast<StreamId>(stream + 1); }
  Group& group_of(Rank& rank, GroupId id) { return rank.groups[static_cast<std::size_t>(id - rank.first_group)]; }
  bool is_over(const Rank& rank, GroupId id) const;

  void host(Rank& rank);
  void post(Rank& rank, const Step& step);
  void tell_operations(Rank& rank, const Step& step, GroupId group);
  void wait_for(Rank& rank, GroupId group);
  void add_wait(Rank& rank, std::size_t stream, Item item, const AwaitedPlace& awaited);
  void wait_for_compute(Rank& rank, std::size_t stream, Item& item);
  void begin_iteration(Rank& rank);
  void launch(Rank& rank, const Step& step);
  void set_memory(const Rank& rank, const Step& step, Item& piece) const;
  void add_activations(Rank& rank, std::int64_t bytes);
  Duration length_of(Rank& rank, const Step& step) const;
  double slowness_of(const Rank& rank) const;
  Duration stall_of(const Rank& rank) const;
  void begin_host_wait(Rank& rank);
  void end_host_wait(Rank& rank);

  void advance(Rank& rank);
  bool advance(Rank& rank, std::size_t stream);
  bool begin(Rank& rank, std::size_t stream, Item& item);
  void begin_piece(Rank& rank, const Item& item);

  // replica_copies.cpp
  void copy(Rank& rank, const Step& step, std::size_t way);
  void wait_for_copy(Rank& rank, std::size_t stream, std::size_t number, std::size_t way);
  void mark(Rank& rank, std::size_t stream);
  bool begin_of_copies(Rank& rank, std::size_t stream, Item& item);
  void begin_copy(Rank& rank, std::size_t stream, const Item& item);
  void end_copy(Rank& rank, std::size_t stream);

  void begin_group(Rank& rank, std::size_t stream, Item& item);
  void meet(Channel& channel, bool sends, const Arrived& arrived, std::uint64_t bytes);
  void join(Rank& rank, const Step& step, GroupId group);
  void end_piece(Rank& rank, std::uint64_t timer);
  // Of kernels that share the GPU, in sharing.cpp.
  void begin_kernel(Rank& rank);
  void end_kernel(Rank& rank, std::uint64_t timer);
  void count_kernels(Rank& rank);
  void share_with_piece(Rank& rank);
  void leave_piece(Rank& rank, Span& span);
  Time rescaled(Time end, double times) const;
  void end_operation(Rank& rank, GroupId group);
  void reach(Rank& rank, std::size_t stream, EventKind kind, Ticket ticket, GroupId group = 0);

  const WorldOptions& options_;
  const Programs& programs_;
  Watcher& watcher_;
  const int first_;
  std::vector<Rank> ranks_;
  std::vector<Channel> channels_;
  std::vector<Sum> sums_;
  bool stops_ = false;  // at a sum
  std::priority_queue<Timer> timers_;
  std::uint64_t last_timer_ = 0;
  Time now_ = 0;
  std::size_t hosts_at_work_ = 0;
  Event event_{};
};

}  // namespace weft::pipeline
