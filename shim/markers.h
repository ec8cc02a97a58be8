// Markers: a stream of the main job writes a ticket into a word of pinned host memory when it gets to that place; or it
// records an event there, and the dispatcher writes the word when that has happened (seam/marker_words.h).
//
// Enqueued by hooks on the main job's threads; the words are read by hooks and by the dispatcher. Never from a thread
// of NCCL, never on a stream that is capturing (the caller asks first).
#pragma once

#include "shim/routing/real.h"
#include "shim/seam/core_interface.h"

namespace weft {

struct Stream;

// The core hands the words over; null words take them back. The calling thread has the device's context current.
void set_marker_words(int device, const MarkerWords& words) noexcept;

// The core has prepared the device: its groups are noted.
bool has_marker_words(int device) noexcept;

// It had words in the present context. The core keeps them when the last communicator is closed, until the context
// goes.
bool may_have_words(int device) noexcept;
// They go now. False: there were none.
bool words_end(int device) noexcept;

// Markers may be enqueued there.
bool may_mark(int device) noexcept;

// The context the words were handed over in: the main job's primary context of the device.
CUcontext context_of(int device) noexcept;

// A ticket whose word is free again; 0: none (nothing may be enqueued, or markers as old as a whole lap have not run).
Ticket reserve_ticket(int device) noexcept;

// For what may never be over. False: as many of these as can be are outstanding, another one must not be marked.
bool may_park_ticket(int device) noexcept;
void park_ticket(int device, Ticket ticket) noexcept;

// The one that was given out last on this device.
const std::atomic<Ticket>& newest_ticket(int device) noexcept;

// Makes the stream write the ticket, or record its event. False: the driver refused.
bool enqueue_marker(const Stream& stream, Ticket ticket) noexcept;

// The marker ran (or the host has written its word).
bool reached(int device, Ticket ticket) noexcept;

// In the stream's place: for a marker that was announced and can never be enqueued.
void write_ticket_from_host(int device, Ticket ticket) noexcept;

}  // namespace weft
