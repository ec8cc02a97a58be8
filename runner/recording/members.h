// Every struct that a Session is given, with all its members by name: one that has grown does not compile here, even
// where the new member fits between two others. It gets a line in fields.h as well, and recording_version (format.h)
// rises.
//
// Included by fields.h; nothing here is ever called. Record is not listed, as its members stand in no aggregate: those
// of its kinds do.
#pragma once

#include <cstddef>

#include "detector/event.h"
#include "runner/policy/session.h"
#include "runner/recording/record_hash.h"
#include "trace/record.h"

namespace weft {

#define MEMBERS(Type, ...)                            \
  inline void has_members(const Type& all) {          \
    [[maybe_unused]] const auto& [__VA_ARGS__] = all; \
  }
MEMBERS(SessionOptions, device, poll, spin, planner, slowdown_budget, fills, records_groups, dark, detector)
MEMBERS(PlannerOptions, price, between_slices, launching, behind_another, lateness, surely_late, most_in_flight,
        hangs_after)
MEMBERS(DetectorOptions, longest_period, most_groups, history, warm_up_iterations, one_queue, goes_dark,
        checks_kept)  // the session sets `goes_dark` from its own `dark`, and the replay `checks_kept`
MEMBERS(FillView, ready, candidates, in_flight, fillable, nothing_enqueued, awaits_work, may_wait)
MEMBERS(Candidates, alone, count)
MEMBERS(InFlight, slices, expected_end, first_ends, oldest_launched, oldest_alone)
MEMBERS(Pending, wanted, slices, markers)
MEMBERS(Decision, launch, waits, candidate, again, refusal, bubble)  // `waits` is only for whoever asks
MEMBERS(GroupSummary, signature, sent_bytes, received_bytes, collective_bytes, send_peer, receive_peer, sends, receives,
        collectives, captured, reduces)
MEMBERS(AwaitedPlace, stream, ticket, copies)
MEMBERS(IssuedOperation, bytes, sequence, peer, kind, present, reserved)
MEMBERS(Saying, number, chunk, reserved, thread)
MEMBERS(SliceRecord, job, unit, number, bubble, launched, finished, alone, unit_done, correct)
MEMBERS(MoveRecord, job, way, bytes, bubble, launched, finished, alone)
MEMBERS(JobRecord, job, name, event, why, memory, terms, variant, held)
MEMBERS(JobTerms, priority, weight, deadline, units)
MEMBERS(MemoryRecord, cap, reserved, used, device_free, device_total, event)
MEMBERS(CommunicatorRecord, communicator, rank, ranks, event, id, name)
MEMBERS(ClockRecord, monotonic, wall_clock, width)
MEMBERS(RecordHash, kind, fields)
#undef MEMBERS

// An event's union has no name, so its members cannot be named either: they are counted.
struct AnyMember {
  template <class Type>
  operator Type() const;
};
template <class Aggregate, class... Values>
constexpr std::size_t members_of() {
  if constexpr (requires { Aggregate{Values{}..., AnyMember{}}; })
    return members_of<Aggregate, Values..., AnyMember>();
  else
    return sizeof...(Values);
}
// time, kind, nothing_launched, more_follow, in_graph, device, order, stream, communicator, group, ticket, done_ticket,
// and the union.
static_assert(members_of<Event>() == 13);

}  // namespace weft
