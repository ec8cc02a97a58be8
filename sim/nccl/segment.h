// The memory that the ranks of one communicator share: rank records, links between ranks, collective streams, data
// rings. It is a memfd of the process that made the id, reached through /proc/<pid>/fd/<n>, so nothing outlives the
// processes. Host threads create and open it and exchange values through it; the engine's threads read and write the
// rest. Everything in it starts as zero and is used by processes at once: only lock-free atomics and what they publish.
#ifndef SIMGPU_NCCL_SEGMENT_H
#define SIMGPU_NCCL_SEGMENT_H

#include <nccl.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>

namespace simgpu::nccl {

constexpr uint64_t message_slots = 64;  // messages in flight on one link; collectives a rank may be ahead
constexpr size_t exchange_bytes = 64;   // of one rank in one host exchange

// One message of a link, at slot sequence % message_slots. Sequence numbers start at 1; a field group is valid when its
// atomic holds the sequence number.
struct Message {
  std::atomic<uint64_t> sent;  // by the sender
  uint64_t bytes;
  uint64_t window;  // of a put: where its bytes go, by the number of the window; 0: a signal, or no one-sided message
  uint64_t offset;  // in the window
  int64_t send_start;
  std::atomic<uint64_t>
      timed;  // by the sender: `end` is known and, for a message that fits the ring, all data is there
  int64_t end;
  alignas(64) std::atomic<uint64_t> posted;  // by the receiver
  uint64_t capacity;
  int64_t receive_start;
  std::atomic<uint64_t> received;  // by the receiver: the data has left the ring
  int64_t receive_end;
};

// One direction between two ranks: of sends and receives, or of puts and signals.
enum class LinkKind { two_sided, one_sided };
constexpr int link_kinds = 2;
struct Link {
  std::atomic<uint32_t> sender_connected;
  std::atomic<uint32_t> receiver_connected;
  alignas(64) std::atomic<uint64_t> written;   // bytes ever put into the ring
  alignas(64) std::atomic<uint64_t> consumed;  // bytes ever taken out
  Message messages[message_slots];
};

// One rank's start of one collective, at slot sequence % message_slots.
struct CollectiveNote {
  std::atomic<uint64_t> sequence;
  uint64_t signature;
  int64_t start;
};

struct RankRecord {
  alignas(64) std::atomic<uint32_t> joined;
  std::atomic<uint32_t> closed;  // destroyed or aborted: its death is no error
  int32_t process;
  int32_t doorbell;
  int32_t device;
  int32_t world_rank;
  alignas(64) std::atomic<uint32_t> waiting;  // its kernel has nothing to do until somebody rings
  alignas(64) std::atomic<uint64_t> exchanged;
  char exchange[2][exchange_bytes];
  alignas(64) std::atomic<uint64_t> written;  // bytes ever put into its collective ring
  std::atomic<uint64_t> finished;             // its last finished collective
  CollectiveNote notes[message_slots];
};

struct SegmentHeader {
  uint64_t nonce;
  uint64_t fifo_bytes;
  std::atomic<uint32_t> ranks;    // set by the first rank that joins
  std::atomic<uint32_t> changes;  // futex: anything a host thread may wait for
};

// Where a segment is found; fits into a ncclUniqueId.
struct Address {
  uint64_t magic;
  int32_t process;
  int32_t descriptor;
  uint64_t nonce;
};

class Segment {
 public:
  // Makes an empty segment, held open by this process until release(). errno on failure.
  static bool create(uint64_t fifo_bytes, Address* address);
  static void release(const Address& address);
  static bool valid(const Address& address);

  // Maps it for a communicator of this many ranks; null (and a message in *error) when it is not there any more.
  static std::unique_ptr<Segment> open(const Address& address, int ranks, const char** error);
  ~Segment();
  Segment(const Segment&) = delete;
  Segment& operator=(const Segment&) = delete;

  int ranks() const { return ranks_; }
  uint64_t fifo_bytes() const { return fifo_bytes_; }
  RankRecord& rank(int index) const { return ranks_base_[index]; }
  Link& link(int source, int destination, LinkKind kind = LinkKind::two_sided) const {
    return links_[number(source, destination, kind)];
  }
  std::atomic<uint64_t>& consumed(int reader, int source) const { return consumed_[reader * ranks_ + source]; }
  char* link_ring(int source, int destination, LinkKind kind) const;
  char* collective_ring(int source) const;

  // Host side. notify() after a change; wait() until `ready`, asking `give_up` from time to time: anything but
  // ncclSuccess from it ends the wait.
  void notify() const;
  ncclResult_t wait(const std::function<bool()>& ready, const std::function<ncclResult_t()>& give_up) const;
  // Every rank calls it in the same order; all[r * exchange_bytes] is then what rank r gave.
  ncclResult_t exchange(int self, const void* mine, size_t bytes, char* all,
                        const std::function<ncclResult_t()>& give_up);

 private:
  int number(int source, int destination, LinkKind kind) const {
    return (static_cast<int>(kind) * ranks_ + source) * ranks_ + destination;
  }
  Segment(char* base, size_t bytes, int ranks, uint64_t fifo_bytes);

  char* base_;
  size_t bytes_;
  int ranks_;
  uint64_t fifo_bytes_;
  RankRecord* ranks_base_;
  Link* links_;
  std::atomic<uint64_t>* consumed_;
  char* rings_;
  uint64_t exchanges_ = 0;
};

}  // namespace simgpu::nccl

#endif
