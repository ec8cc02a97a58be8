// How many markers may be outstanding on a stream: a marker takes an entry of the stream's hardware queue, of which
// there are about a thousand. A host that launches far ahead of a receive, and only then does what ends it, is not to
// stand because Weft has taken the entries that it needs.
//
// And none while the core wants to see what watching costs: in a dark iteration only the groups that end it get some.
//
// Hooks of groups and waits, any thread, just before they enqueue the two markers around one: a few loads. Nothing here
// locks or waits. Two threads at once on one stream may get a few markers more.
#pragma once

#include "shim/main_job/streams.h"

namespace weft {

// Pairs of markers. Every 16th pair is remembered, and seven of these: 112 pairs find room in any case, and no more
// than 127 are outstanding, which is a quarter of the entries. A training with tensor parallelism has four kernels or
// more for each group or wait, so they fill the queue first.
inline constexpr std::uint32_t marks_to_milestone = 16;
inline constexpr std::uint32_t room_for_marks = 112;

// See ShimServices; new words end it.
void withhold_markers(int device, bool withheld, std::uint64_t but_of) noexcept;

bool are_withheld(const Stream& stream) noexcept;

// Its device has no words: true.
bool has_room_for_marks(const Stream& stream) noexcept;
// False: the group or wait gets no markers, which is noted.
bool has_room_or_notes(Stream& stream) noexcept;
bool has_room_or_notes(Stream& stream, const GroupSummary& group, CommunicatorId communicator) noexcept;

// It gets none: notes marks_held_back, or copy_held_back.
void hold_back(Stream& stream, EventKind as) noexcept;

// The latest group or wait of the stream, or a copy since, got none for want of room.
bool is_held_back(const Stream& stream) noexcept;

// A pair of markers goes onto the stream; `last` is the later one.
void count_marks(Stream& stream, Ticket last) noexcept;

// The stream has gone: its place is another one's.
void forget_marks(Stream& stream) noexcept;

}  // namespace weft
