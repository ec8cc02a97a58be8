// The state machine of the collectives.
// Called on the engine's thread under the endpoint's mutex. Must not block or call the driver.
#include "collective.h"

#include <limits>
#include <utility>

namespace simgpu::nccl {
namespace {

constexpr uint64_t alignment = 64;  // of a collective's begin in a ring: no element crosses the ring's end

uint64_t padded(uint64_t bytes) {
  return (bytes + alignment - 1) / alignment * alignment;
}

bool reduces(CollectiveKind kind) {
  return kind == CollectiveKind::all_reduce || kind == CollectiveKind::reduce || kind == CollectiveKind::reduce_scatter;
}

uint64_t signature_of(const Collective& collective) {
  const auto reduction = reduces(collective.kind) ? static_cast<uint64_t>(collective.operation.reduction) : 0;
  uint64_t hash = 14695981039346656037u;
  for (const uint64_t word :
       {static_cast<uint64_t>(collective.kind), collective.count, static_cast<uint64_t>(collective.type), reduction,
        static_cast<uint64_t>(collective.root)}) {
    hash = (hash ^ word) * 1099511628211u;
  }
  return hash;
}

}  // namespace

CollectiveStream::CollectiveStream(Segment* segment, int self, const LinkModel* model, std::vector<int> world_ranks)
    : segment_(segment),
      self_(self),
      ranks_(segment->ranks()),
      model_(model),
      world_ranks_(std::move(world_ranks)),
      base_(static_cast<size_t>(ranks_)),
      inputs_(static_cast<size_t>(ranks_)) {}

uint64_t CollectiveStream::contribution(const Collective& collective, int source) const {
  const uint64_t bytes = collective.count * size_of(collective.type);
  switch (collective.kind) {
    case CollectiveKind::broadcast:
      return source == collective.root ? bytes : 0;
    case CollectiveKind::reduce_scatter:
      return bytes * static_cast<uint64_t>(ranks_);
    case CollectiveKind::all_reduce:
    case CollectiveKind::reduce:
    case CollectiveKind::all_gather:
      break;
  }
  return bytes;
}

CollectiveStream::Share CollectiveStream::share(const Collective& collective, int source) const {
  const uint64_t bytes = collective.count * size_of(collective.type);
  switch (collective.kind) {
    case CollectiveKind::reduce:
      return {0, self_ == collective.root ? bytes : 0};
    case CollectiveKind::broadcast:
      return {0, source == collective.root ? bytes : 0};
    case CollectiveKind::reduce_scatter:
      return {bytes * static_cast<uint64_t>(self_), bytes};
    case CollectiveKind::all_reduce:
    case CollectiveKind::all_gather:
      break;
  }
  return {0, bytes};
}

void CollectiveStream::touch_all(Pass& pass) const {
  for (int rank = 0; rank < ranks_; ++rank) {
    if (rank != self_) pass.touch(rank);
  }
  pass.advanced = true;
}

bool CollectiveStream::publish(Collective& collective, Instant start, Pass& pass) {
  const uint64_t sequence = next_;
  for (int rank = 0; rank < ranks_; ++rank) {
    if (sequence > message_slots && segment_->rank(rank).finished.load() < sequence - message_slots) return false;
  }
  collective.sequence = sequence;
  ++next_;
  collective.written = 0;
  collective.read.assign(static_cast<size_t>(ranks_), 0);
  for (int source = 0; source < ranks_; ++source) {
    const Share mine = share(collective, source);
    const uint64_t skipped = mine.bytes > 0 ? mine.first : padded(contribution(collective, source));
    segment_->consumed(self_, source).store(base_[static_cast<size_t>(source)] + skipped);
  }
  CollectiveNote& note = segment_->rank(self_).notes[sequence % message_slots];
  note.signature = signature_of(collective);
  note.start = start;
  note.sequence.store(sequence);
  touch_all(pass);
  return true;
}

// A rank has come to this collective, and to the same one.
bool CollectiveStream::known(const Collective& collective, int rank, Pass& pass) const {
  const CollectiveNote& note = segment_->rank(rank).notes[collective.sequence % message_slots];
  if (note.sequence.load() != collective.sequence) return false;
  if (note.signature == signature_of(collective)) return true;
  pass.fail(Fault::collective_mismatch, rank);
  return false;
}

Instant CollectiveStream::start_of(const Collective& collective, int rank) const {
  return segment_->rank(rank).notes[collective.sequence % message_slots].start;
}

nanoseconds CollectiveStream::duration(const Collective& collective) const {
  const double bytes = static_cast<double>(collective.count * size_of(collective.type));
  const int others = ranks_ - 1;
  if (others == 0) return nanoseconds(0);
  switch (collective.kind) {
    case CollectiveKind::all_reduce:
      return model_->ring(world_ranks_, 2 * others, 2 * bytes * others / ranks_);
    case CollectiveKind::all_gather:
    case CollectiveKind::reduce_scatter:
      return model_->ring(world_ranks_, others, bytes * others);
    case CollectiveKind::reduce:
    case CollectiveKind::broadcast:
      break;
  }
  return model_->ring(world_ranks_, others, bytes);
}

// A rank that only gives, or only takes, does not wait for all the others when the data fits the ring.
bool CollectiveStream::fix_end(Collective& collective, Instant start, Pass& pass) {
  const nanoseconds time = duration(collective);
  const bool fits = contribution(collective, collective.root) <= segment_->fifo_bytes();
  const bool root = self_ == collective.root;
  const bool gives =
      (collective.kind == CollectiveKind::broadcast && root) || (collective.kind == CollectiveKind::reduce && !root);
  if (fits && gives) {
    collective.end = start + time.count();
  } else if (fits && collective.kind == CollectiveKind::broadcast) {
    if (!known(collective, collective.root, pass)) return false;
    collective.end = std::max(start_of(collective, collective.root) + time.count(), start + model_->latency().count());
  } else {
    Instant last = start;
    for (int rank = 0; rank < ranks_; ++rank) {
      if (!known(collective, rank, pass)) return false;
      last = std::max(last, start_of(collective, rank));
    }
    collective.end = last + time.count();
  }
  collective.timed = true;
  pass.advanced = true;
  return true;
}

void CollectiveStream::write(Collective& collective, Pass& pass) {
  const uint64_t total = contribution(collective, self_);
  if (collective.written == total) return;
  RankRecord& record = segment_->rank(self_);
  const uint64_t position = base_[static_cast<size_t>(self_)] + collective.written;
  uint64_t slowest = std::numeric_limits<uint64_t>::max();
  for (int reader = 0; reader < ranks_; ++reader) {
    slowest = std::min(slowest, segment_->consumed(reader, self_).load());
  }
  const uint64_t ahead = position > slowest ? position - slowest : 0;
  uint64_t chunk =
      std::min({total - collective.written, segment_->fifo_bytes() - ahead, static_cast<uint64_t>(pass.budget)});
  const char* from = static_cast<const char*>(collective.send) + collective.written;
  char* ring = segment_->collective_ring(self_);
  if (collective.operation.reduction == Reduction::scaled_sum && reduces(collective.kind)) {
    const uint64_t size = segment_->fifo_bytes();
    chunk = std::min(chunk, size - position % size);
    chunk -= chunk % size_of(collective.type);
    const void* scalar = collective.operation.device_scalar;
    if (scalar == nullptr) scalar = collective.operation.scalar;
    scale(ring + position % size, from, chunk / size_of(collective.type), collective.type, scalar);
  } else {
    ring_put(ring, segment_->fifo_bytes(), position, from, chunk);
  }
  if (chunk == 0) return;
  collective.written += chunk;
  pass.budget -= chunk;
  record.written.store(position + chunk);
  touch_all(pass);
}

bool CollectiveStream::read_reduced(Collective& collective, Pass& pass) {
  const Share mine = share(collective, self_);
  uint64_t& done = collective.read[0];
  if (done == mine.bytes) return true;
  const uint64_t size = segment_->fifo_bytes();
  uint64_t chunk = std::min(mine.bytes - done, static_cast<uint64_t>(pass.budget));
  for (int source = 0; source < ranks_; ++source) {
    const uint64_t position = base_[static_cast<size_t>(source)] + mine.first + done;
    const uint64_t written = segment_->rank(source).written.load();
    chunk = std::min({chunk, written > position ? written - position : 0, size - position % size});
    inputs_[static_cast<size_t>(source)] = segment_->collective_ring(source) + position % size;
  }
  chunk -= chunk % size_of(collective.type);
  if (chunk == 0) return false;
  reduce(static_cast<char*>(collective.receive) + done, inputs_.data(), ranks_, chunk / size_of(collective.type),
         collective.type, collective.operation.reduction);
  done += chunk;
  pass.budget -= chunk;
  // Data behind this rank's share is not read here: the writers need not wait for it.
  const uint64_t past = done == mine.bytes ? padded(contribution(collective, self_)) : mine.first + done;
  for (int source = 0; source < ranks_; ++source) {
    segment_->consumed(self_, source).store(base_[static_cast<size_t>(source)] + past);
  }
  touch_all(pass);
  return done == mine.bytes;
}

bool CollectiveStream::read_from(Collective& collective, int source, Pass& pass) {
  const Share mine = share(collective, source);
  uint64_t& done = collective.read[static_cast<size_t>(source)];
  if (done == mine.bytes) return true;
  const uint64_t position = base_[static_cast<size_t>(source)] + done;
  const uint64_t written = segment_->rank(source).written.load();
  const uint64_t there = written > position ? written - position : 0;
  const uint64_t chunk = std::min({mine.bytes - done, there, static_cast<uint64_t>(pass.budget)});
  if (chunk == 0) return false;
  const uint64_t place = collective.kind == CollectiveKind::all_gather ? mine.bytes * static_cast<uint64_t>(source) : 0;
  ring_get(segment_->collective_ring(source), segment_->fifo_bytes(), position,
           static_cast<char*>(collective.receive) + place + done, chunk);
  done += chunk;
  pass.budget -= chunk;
  segment_->consumed(self_, source).store(position + chunk);
  pass.touch(source);
  return done == mine.bytes;
}

bool CollectiveStream::read(Collective& collective, Pass& pass) {
  if (reduces(collective.kind)) return read_reduced(collective, pass);
  bool all = true;
  for (int source = 0; source < ranks_; ++source) {
    if (!read_from(collective, source, pass)) all = false;
  }
  return all;
}

void CollectiveStream::leave(Collective& collective, Pass& pass) {
  for (int source = 0; source < ranks_; ++source) {
    uint64_t& base = base_[static_cast<size_t>(source)];
    base += padded(contribution(collective, source));
    segment_->consumed(self_, source).store(base);
  }
  RankRecord& record = segment_->rank(self_);
  record.written.store(base_[static_cast<size_t>(self_)]);
  record.finished.store(collective.sequence);
  touch_all(pass);
}

bool CollectiveStream::advance(Collective& collective, Instant start, Pass& pass) {
  if (collective.sequence == 0 && !publish(collective, start, pass)) return false;
  const bool timed = collective.timed || fix_end(collective, start, pass);
  write(collective, pass);
  const bool complete = read(collective, pass);
  if (!timed || !complete || collective.written < contribution(collective, self_)) return false;
  leave(collective, pass);
  return true;
}

}  // namespace simgpu::nccl
