// Collectives: every rank puts its contribution into a ring of its own that all ranks read, and computes its own
// result. The data moves in chunks as the slowest reader allows; logical times follow from the starts of all ranks.
// Called on the engine's thread under the endpoint's mutex. Must not block or call the driver.
#ifndef SIMGPU_NCCL_COLLECTIVE_H
#define SIMGPU_NCCL_COLLECTIVE_H

#include <vector>

#include "element.h"
#include "link_model.h"
#include "pass.h"
#include "segment.h"

namespace simgpu::nccl {

enum class CollectiveKind { all_reduce, reduce, broadcast, all_gather, reduce_scatter };

// One collective call of a kernel. `count` is what NCCL's call had. Below the line: the state of the run.
struct Collective {
  CollectiveKind kind = CollectiveKind::all_reduce;
  const void* send = nullptr;
  void* receive = nullptr;
  uint64_t count = 0;
  ncclDataType_t type = ncclFloat32;
  Operation operation;
  int root = 0;
  // ---
  uint64_t sequence = 0;
  uint64_t written = 0;
  std::vector<uint64_t> read;  // by source rank: bytes of this rank's share taken; reductions use the first only
  bool timed = false;
  Instant end = 0;
};

class CollectiveStream {
 public:
  CollectiveStream(Segment* segment, int self, const LinkModel* model, std::vector<int> world_ranks);
  // True when the collective is over for this rank, at collective.end.
  bool advance(Collective& collective, Instant start, Pass& pass);

 private:
  struct Share {  // of one source's contribution: what this rank reads
    uint64_t first = 0;
    uint64_t bytes = 0;
  };
  uint64_t contribution(const Collective& collective, int source) const;
  Share share(const Collective& collective, int source) const;
  bool publish(Collective& collective, Instant start, Pass& pass);
  bool known(const Collective& collective, int rank, Pass& pass) const;
  Instant start_of(const Collective& collective, int rank) const;
  bool fix_end(Collective& collective, Instant start, Pass& pass);
  nanoseconds duration(const Collective& collective) const;
  void write(Collective& collective, Pass& pass);
  bool read(Collective& collective, Pass& pass);
  bool read_reduced(Collective& collective, Pass& pass);
  bool read_from(Collective& collective, int source, Pass& pass);
  void leave(Collective& collective, Pass& pass);
  void touch_all(Pass& pass) const;

  Segment* segment_;
  int self_;
  int ranks_;
  const LinkModel* model_;
  std::vector<int> world_ranks_;
  uint64_t next_ = 1;
  std::vector<uint64_t> base_;       // by rank: where the current collective begins in its ring
  std::vector<const void*> inputs_;  // scratch of read_reduced
};

}  // namespace simgpu::nccl

#endif
