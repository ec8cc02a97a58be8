// The input of the detector, in the order in which it happened: the calls that the shim's hooks saw (…_issued,
// host_wait_…, …), what the main job says of itself (said_…), later the words in pinned memory that were written
// (…_started, …_reached, …_passed, …_done), and what streams answered that were asked.
//
// Written by: hooks on the main job's threads (through the ring, see shim/seam/ring.h), and by the dispatcher thread
// when it sees a word change or has asked; read by the detector. Fixed size, trivially copyable: it travels through the
// ring as it is. The kinds are listed in detector/event_kinds.def. Nothing here may include CUDA, a clock, a thread or
// a file.
#pragma once

#include <cstdint>
#include <type_traits>

#include "detector/time.h"

namespace weft {

using StreamId = std::uint32_t;        // the shim's number for a stream of the main job; 0: none
using GroupId = std::uint64_t;         // counts the groups of a process from 1; 0: none
using CommunicatorId = std::uint32_t;  // counts the communicators of a process from 1; 0: none
// A stream-ordered marker: the stream will write this number into word[ticket % words]. Counts from 1; 0: none.
using Ticket = std::uint32_t;

enum class EventKind : std::uint8_t {
  none = 0,
#define EVENT(kind, number) kind = number,
#include "detector/event_kinds.def"
#undef EVENT
};

// An annotation: not seen, but said by the main job.
constexpr bool is_said(EventKind kind) noexcept {
  return kind >= EventKind::said_iteration_begun && kind <= EventKind::said_bubble_ended;
}

// The legacy default stream and the blocking ones (the per-thread default streams are some) wait for each other without
// a call that says so: each operation for all that was enqueued before it on streams of the other kind.
enum class StreamOrder : std::uint8_t { none, legacy, blocking };

// Whether a stream has work left, as far as it was asked.
enum class StreamAnswer : std::uint8_t { none, dry, busy, unknown };
struct Answer {
  StreamAnswer says = StreamAnswer::none;
  // All launches seen on it were made before this was given out; 0: not known. busy: and all waits, which may stand there.
  Ticket launched_before = 0;
  std::uint32_t launched = 0;  // dry: another number after each launch seen on it; 0: not known
  StreamOrder order = StreamOrder::none;
  friend bool operator==(const Answer&, const Answer&) = default;
};

// A group whose operations are not seen from outside: a replayed graph that holds them, and perhaps compute as well, or
// a kernel of an NCCL whose calls are not seen.
enum class Captured : std::uint8_t { none, graph, unseen_kernel };

// The operations of a group, for the detector. A group holds point-to-point operations, collectives, or both.
struct GroupSummary {
  std::uint64_t signature;       // equal for groups that do the same: communicator, operations, peers, sizes, in order
  std::uint64_t sent_bytes;      // by its sends
  std::uint64_t received_bytes;  // by its receives
  std::uint64_t collective_bytes;
  std::int32_t send_peer;     // rank in the communicator of the first send, -1: no send
  std::int32_t receive_peer;  // likewise for the first receive
  std::uint16_t sends;
  std::uint16_t receives;
  std::uint16_t collectives;
  Captured captured;
  std::uint8_t reduces;  // not 0: one of the collectives adds numbers up, or may do so
};

// The operations that a group may hold. `wait_signals` is for the signals of any number of ranks.
enum class Operation : std::uint8_t {
  send,
  receive,
  all_reduce,
  reduce,
  broadcast,
  reduce_scatter,
  all_gather,
  all_to_all,
  gather,
  scatter,
  put,
  wait_signals
};

// One operation of a group, for the trace; the detector does not look at it.
struct IssuedOperation {
  std::uint64_t bytes;
  // Counts from 1 the sends to this peer on this communicator, the receives from it, or the communicator's collectives;
  // 0: not known.
  std::uint64_t sequence;
  std::int32_t peer;  // rank in the communicator; the root of a collective that has one, else -1
  Operation kind;
  bool present;
  std::uint8_t reserved[2];
};

// The place on a stream that an event stands for: just behind the group or the wait whose last marker is `ticket`.
struct AwaitedPlace {
  constexpr AwaitedPlace() = default;
  constexpr AwaitedPlace(StreamId of, Ticket at, bool copy = false) : stream(of), ticket(at), copies(copy) {}

  StreamId stream;  // 0: none of this device; every_stream
  Ticket ticket;
  bool copies;  // and behind a copy that comes next there, and has no marker
};
// The event was recorded on a whole context: it stands for everything with this ticket or an earlier one, on each
// stream.
inline constexpr StreamId every_stream = (1U << 24) - 1;

// wait_issued: whether the wait is that of a graph, whose launch stands between the two markers.
enum class InGraph : std::uint8_t {
  no,
  at_its_head,  // all that the graph does comes behind it, and it waits for nothing else that is under way
  somewhere
};

// An annotation of the main job.
struct Saying {
  std::int64_t number;  // of the iteration, stage or microbatch
  std::int32_t chunk;   // of the model, with the stage; -1: it has no chunks
  std::uint32_t reserved;
  std::uint64_t thread;  // whose it is: the same number, the same thread
};

struct Event {
  TimePoint time;
  EventKind kind;
  // group_issued, wait_issued, mark_issued: no compute was launched on the stream between its last mark and this one,
  // for sure.
  bool nothing_launched;
  bool more_follow;     // answers of streams: another one of the same look comes next
  InGraph in_graph;     // wait_issued only
  std::int16_t device;  // CUDA ordinal
  StreamOrder order;    // where marks are issued, and of answers
  StreamId stream;
  CommunicatorId communicator;
  GroupId group;
  Ticket ticket;
  Ticket done_ticket;
  union {
    GroupSummary summary;           // group_issued only
    AwaitedPlace awaited;           // wait_issued, context_waits
    IssuedOperation operations[2];  // operations_issued only
    Saying saying;                  // said_... only
  };
};

static_assert(std::is_trivially_copyable_v<Event> && std::is_standard_layout_v<Event>);
static_assert(sizeof(Event) == 88);

}  // namespace weft
