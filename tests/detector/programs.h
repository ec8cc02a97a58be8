// Random legal programs in virtual time: streams, kernels, copies, NCCL groups, events, host waits, captures. Each is
// known exactly: when compute ran, when a group was resident, and the events that hooks and words would have given.
//
// For random_programs_test, and for that of the shim, which makes the same calls under the real hooks. Of the detector
// it shares the types of events and answers (detector/event.h), and no function: every end is computed when the work is
// issued, because CUDA lets work depend only on work that was issued before. The part of the shim, which waits are
// noted, is modelled from its description in shim/README.md, and held against the shim.
#pragma once

#include <cstdint>
#include <optional>
#include <random>
#include <vector>

#include "detector/event.h"

namespace weft::testing {

struct Interval {
  std::int64_t begin, end;
  friend bool operator==(const Interval&, const Interval&) = default;
};
using Intervals = std::vector<Interval>;  // sorted, disjoint, not empty
Intervals united(Intervals any);
Intervals without(const Intervals& whole, const Intervals& part);
std::int64_t length(const Intervals& intervals);

struct ProgramOptions {
  int streams = 4;
  int actions = 40;
  bool unaskable = false;         // one stream answers nobody, as a per-thread default stream
  int queues = 0;                 // in hardware, which the streams share; 0: one for each
  bool kernels_hold = false;      // their queue up, behind what is on their stream
  bool captures = false;          // now and then a stream captures a kernel, and launches that graph
  bool copies = false;            // between host and device
  bool one_communicator = false;  // in place of one for each stream
  bool orders = false;            // one stream is the legacy one, most others are blocking
  bool limits = false;            // with these also what the detector is known to miss, see its README.md
};

// Of the program with this seed, unless it is about something else: few streams and many, short programs and long ones.
ProgramOptions options_of(std::uint32_t seed);

// A call of the program. Streams and records are counted from 0, each in the order of its calls.
struct Call {
  enum class Kind : std::uint8_t {
    create,
    destroy,
    launch,
    copy,
    group,
    record,
    wait,
    begin_capture,
    end_capture,
    synchronise
  };
  Kind kind{};
  std::int64_t time = 0;
  std::size_t stream = 0;
  std::size_t record = 0;      // of a wait
  bool receives = false;       // of a group, which sends else
  std::size_t communicator{};  // of a group: the only one, or that of the stream
  bool whole_device = false;   // of a synchronisation
  std::int64_t end = 0;        // of all that the stream has then, or of the host's wait
};

// Not from words or answers.
constexpr bool is_from_hook(EventKind kind) {
  return kind < EventKind::group_started || kind == EventKind::mark_issued || kind == EventKind::launch_noted ||
         kind == EventKind::copy_held_back || kind == EventKind::legacy_used;
}

class RandomProgram {
 public:
  // Ids, tickets and times go on from what an earlier program used: the same detector may see one after the other.
  struct Counters {
    StreamId stream = 1;
    Ticket ticket = 1;
    GroupId group = 1;
    std::int64_t time = 1000;
  };

  RandomProgram(const ProgramOptions& options, std::uint32_t seed, Counters& counters);

  // In the order of their times; of one time, what hooks saw is first, and what words say stands stream by stream in no
  // certain order.
  const std::vector<Event>& events() const { return events_; }
  const std::vector<Call>& calls() const { return calls_; }
  // The times at which anything changed, the beginning and end of work included.
  const std::vector<std::int64_t>& changes() const { return changes_; }
  // Compute stands still while a group is resident.
  Intervals idle() const { return without(united(groups_), united(kernels_)); }
  // Also where the program says that it has nothing to compute.
  Intervals idle_with(const Intervals& said) const;

  struct AnswerOf {
    StreamId stream;
    Answer answer;
  };
  // Every stream that can be listed at this time.
  std::vector<AnswerOf> answers_at(std::int64_t time) const;

 private:
  struct Work {
    std::int64_t issued, end;
    Ticket before, launched_before;
    std::uint32_t launches;      // of the stream, so far
    bool launched = false;       // since its last marker,
    std::int64_t marked_at = 0;  // which is written then
  };
  struct Stream {
    StreamId id = 0;
    StreamOrder order = StreamOrder::none;
    std::size_t queue = 0;
    std::int64_t end = 0;         // of all work issued so far
    Ticket latest = 0;            // the marker behind the last group or noted wait
    std::int64_t latest_at = 0;   // when that is written
    Ticket waited = 0;            // the place that its last noted wait was for
    std::int64_t group_end = 0;   // of its last group
    std::int64_t used_until = 0;  // by something without a mark, which CUDA orders
    std::int64_t created = 0, destroyed = -1;
    bool unaskable = false;
    Ticket before = 1;  // the first one given out after all it has without a marker was enqueued,
    Ticket launched_before = 0;  // and after the last launch; 0: there was none
    std::uint32_t launches = 1;
    bool launched = false;  // since the last marker
    bool copies = false;    // its latest is a copy, or a wait for one
    bool waits_for_copy = false;
    bool waits = false;  // its latest is a group, or a wait with markers
    std::vector<Work> work;
  };
  struct Recorded {
    std::size_t stream;
    StreamId id;
    std::int64_t end;  // of what was issued before
    Ticket ticket;     // of the place
    std::int64_t ticket_at;
    bool copies;
  };

  std::uint32_t below(std::uint32_t limit) {
    return std::uniform_int_distribution<std::uint32_t>(0, limit - 1)(random_);
  }
  void act();
  void launch();
  void launch_on(std::size_t index);
  void copy();
  void begin_copy(Stream& stream);
  void end_copy(Stream& stream);
  void mark(Stream& stream, std::int64_t not_before);
  void note_work(Stream& stream);
  void note_marker(Stream& stream, Ticket ticket, std::int64_t at);
  void issue_group();
  void record();
  void use_legacy();
  void wait();
  void wait_for(const Recorded& recorded, Stream& stream, bool is_pending, bool is_unseen);
  void synchronise();
  void replace_stream();
  void destroy(Stream& stream);
  void begin_capture();
  void capture_launch(Stream& stream);
  void end_capture();
  Call& call(Call::Kind kind, std::size_t stream);
  bool is_capturing_at(std::int64_t time) const;
  std::size_t create();
  std::size_t any_stream();
  std::int64_t end_of_other_kind(const Stream& stream) const;
  std::int64_t enqueue(Stream& stream, std::int64_t not_before, std::int64_t length);
  std::int64_t enqueue_kernel(Stream& stream, std::int64_t not_before, std::int64_t length);
  StreamOrder order_of(StreamId id) const;
  Event& hook(EventKind kind, StreamId stream);
  void word(EventKind kind, const Event& announced, Ticket ticket, std::int64_t time);
  void finish();

  struct Ordered {
    Event event;
    std::uint32_t order;  // among those of one time
  };

  ProgramOptions options_;
  Counters& next_;
  std::minstd_rand random_;
  std::vector<Stream> streams_;
  std::vector<std::int64_t> queues_;  // until when the last that was put into each holds it up
  std::vector<std::size_t> alive_;
  std::vector<Recorded> recorded_;
  std::optional<std::size_t> capturing_;  // is not among those alive meanwhile
  Intervals captures_;
  std::vector<Call> calls_;
  std::vector<Ordered> ordered_;
  std::vector<Event> events_;
  std::vector<std::int64_t> changes_;
  std::int64_t communicator_end_ = 0;  // of the latest group
  Intervals kernels_, groups_;
};

}  // namespace weft::testing
