// Groups that were announced: each by its number, the last one of each stream, and those whose end is still to be
// marked.
//
// Any thread, in hooks: tables of fixed size, no lock. Old groups are forgotten. Groups still open are in groups.h.
#pragma once

#include <atomic>
#include <cstdint>

#include "detector/event.h"

namespace weft {

struct Stream;

// The next group of the process, on this stream; `started` is written when the stream has got to it, `done` when it is
// over. 0: its end stays unknown, and it is never pending.
GroupId log_group(Stream& stream, Ticket started, Ticket done) noexcept;

// A group of the device that is not over, 0: none.
GroupId pending_group(int device) noexcept;

// The stream is about to be forgotten.
void forget_groups_on(Stream& stream) noexcept;

// Groups of one communicator that NCCL launches on a thread of its own (ncclInProgress): their done markers are still
// to be enqueued. Zeroed memory has none.
class UnfinishedGroups {
 public:
  bool any() const noexcept;
  // One more than fits is counted as lost and taken for over at once.
  void add(GroupId group) noexcept;
  // NCCL has launched them: their ends are marked. A stream that is gone, another thread's own or capturing gets no
  // marker; then the group is over now. So it is where `launched` is false.
  void finish_all(bool launched) noexcept;

 private:
  // One would do: a program has to wait until NCCL has launched a group before it calls it again, and before each group
  // NCCL is asked. The others are for threads that do not.
  static constexpr int most = 4;
  std::atomic<GroupId> groups_[most];
};

}  // namespace weft
