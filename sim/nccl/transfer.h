// Point-to-point messages: the two ends of a link. Each end belongs to one rank and keeps the order of its messages.
// Times are logical. A message that fits the ring goes when its sender has started and the ring has room; a larger one
// when both ends have started and everything before it has been received. README.md has the formulas.
// Called on the engine's thread under the endpoint's mutex. Must not block or call the driver.
#ifndef SIMGPU_NCCL_TRANSFER_H
#define SIMGPU_NCCL_TRANSFER_H

#include <array>
#include <deque>
#include <vector>

#include "link_model.h"
#include "pass.h"
#include "segment.h"

namespace simgpu::nccl {

// One ncclSend or ncclRecv of a kernel; or a put or signal, and the wait for one: there the message says how many bytes
// go where. Below the line: the state of the run.
struct Transfer {
  int peer = 0;
  void* buffer = nullptr;
  uint64_t bytes = 0;
  LinkKind kind = LinkKind::two_sided;
  uint64_t window = 0;  // of a put, else 0
  uint64_t offset = 0;
  // ---
  uint64_t sequence = 0;
  uint64_t done = 0;
  bool timed = false;
  Instant end = 0;
};

// The memory of one rank that others may put into. Numbers are the same on all ranks, because windows are registered by
// all in the same order; 0 is none.
class Windows {
 public:
  uint64_t add(void* memory, uint64_t bytes);
  void remove(uint64_t number);
  // Null when there is no such window, or when it is too small.
  void* find(uint64_t number, uint64_t offset, uint64_t bytes) const;
  bool covers(const void* memory, uint64_t bytes) const;

 private:
  struct Window {
    char* memory = nullptr;
    uint64_t bytes = 0;
  };
  std::vector<Window> windows_;
};

// Knowledge of both ends of one link.
struct LinkPlace {
  Link* link = nullptr;
  char* ring = nullptr;
  uint64_t fifo_bytes = 0;
  const LinkModel* model = nullptr;
  int source_world_rank = 0;
  int destination_world_rank = 0;
  const Windows* windows = nullptr;  // of the receiver's rank
};

class Sender {
 public:
  explicit Sender(const LinkPlace& place) : place_(place) {}
  // True when the transfer is over at transfer.end.
  bool advance(Transfer& transfer, Instant start, Pass& pass);

 private:
  bool publish(Transfer& transfer, Instant start, Pass& pass);
  bool fix_end(Transfer& transfer, Instant start, Pass& pass);
  uint64_t room_needs(uint64_t sequence) const;
  bool eager(const Transfer& transfer) const { return transfer.bytes <= place_.fifo_bytes; }
  Message& slot(uint64_t sequence) const { return place_.link->messages[sequence % message_slots]; }

  LinkPlace place_;
  uint64_t next_ = 1;
  Instant link_free_ = 0;
  std::array<uint64_t, message_slots> offset_after_{};  // of the ring, by slot
};

class Receiver {
 public:
  explicit Receiver(const LinkPlace& place) : place_(place) {}
  // Tells the sender that this receive has started, if there is a slot for it yet.
  void post(Transfer& transfer, Instant start, Pass& pass);
  bool advance(Transfer& transfer, Instant start, Pass& pass);

 private:
  bool find_place(Transfer& transfer, const Message& message, Pass& pass) const;
  Message& slot(uint64_t sequence) const { return place_.link->messages[sequence % message_slots]; }

  LinkPlace place_;
  uint64_t next_ = 1;
  uint64_t received_ = 0;
};

}  // namespace simgpu::nccl

#endif
