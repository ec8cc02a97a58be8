// The state machines of the two ends of a link.
// Called on the engine's thread under the endpoint's mutex. Must not block or call the driver.
#include "transfer.h"

namespace simgpu::nccl {

uint64_t Windows::add(void* memory, uint64_t bytes) {
  windows_.push_back({static_cast<char*>(memory), bytes});
  return windows_.size();
}

void Windows::remove(uint64_t number) {
  if (number > 0 && number <= windows_.size()) windows_[number - 1] = {};
}

void* Windows::find(uint64_t number, uint64_t offset, uint64_t bytes) const {
  if (number == 0 || number > windows_.size()) return nullptr;
  const Window& window = windows_[number - 1];
  if (window.memory == nullptr || offset > window.bytes || bytes > window.bytes - offset) return nullptr;
  return window.memory + offset;
}

bool Windows::covers(const void* memory, uint64_t bytes) const {
  const auto* const first = static_cast<const char*>(memory);
  for (const Window& window : windows_) {
    if (window.memory == nullptr || first < window.memory || first > window.memory + window.bytes) continue;
    if (bytes <= window.bytes - static_cast<uint64_t>(first - window.memory)) return true;
  }
  return false;
}

bool Sender::publish(Transfer& transfer, Instant start, Pass& pass) {
  const uint64_t sequence = next_;
  if (sequence > message_slots && slot(sequence).received.load() != sequence - message_slots) return false;
  transfer.sequence = sequence;
  offset_after_[sequence % message_slots] =
      (sequence > 1 ? offset_after_[(sequence - 1) % message_slots] : 0) + transfer.bytes;
  ++next_;
  Message& message = slot(sequence);
  message.bytes = transfer.bytes;
  message.window = transfer.window;
  message.offset = transfer.offset;
  message.send_start = start;
  message.sent.store(sequence);
  pass.touch(transfer.peer);
  return true;
}

// The last message that must have left the ring before this one fits into it; 0 when there is room at once.
uint64_t Sender::room_needs(uint64_t sequence) const {
  const uint64_t after = offset_after_[sequence % message_slots];
  const uint64_t oldest = sequence > message_slots ? sequence - message_slots + 1 : 1;
  for (uint64_t earlier = sequence - 1; earlier >= oldest; --earlier) {
    if (after - offset_after_[earlier % message_slots] + slot(earlier).bytes > place_.fifo_bytes) return earlier;
  }
  return 0;
}

// When the message is through, as soon as everything that this depends on is known.
bool Sender::fix_end(Transfer& transfer, Instant start, Pass& pass) {
  Message& message = slot(transfer.sequence);
  Instant begin = std::max(start, link_free_);
  uint64_t before = transfer.sequence - 1;
  if (eager(transfer)) {
    before = room_needs(transfer.sequence);
  } else {
    if (message.posted.load() != transfer.sequence) return false;
    if (transfer.kind == LinkKind::two_sided && message.capacity != transfer.bytes) {
      pass.fail(Fault::size_mismatch, transfer.peer);
      return false;
    }
    begin = std::max(begin, message.receive_start);
  }
  if (before > 0) {
    if (slot(before).received.load() != before) return false;
    begin = std::max(begin, slot(before).receive_end);
  }
  transfer.end =
      begin + place_.model->transfer(place_.source_world_rank, place_.destination_world_rank, transfer.bytes).count();
  link_free_ = transfer.end;
  transfer.timed = true;
  message.end = transfer.end;
  pass.advanced = true;
  return true;
}

bool Sender::advance(Transfer& transfer, Instant start, Pass& pass) {
  if (transfer.sequence == 0 && !publish(transfer, start, pass)) return false;
  if (!transfer.timed && !fix_end(transfer, start, pass)) return false;
  Message& message = slot(transfer.sequence);
  Link& link = *place_.link;
  if (!eager(transfer) && message.timed.load() != transfer.sequence) message.timed.store(transfer.sequence);
  const uint64_t written = link.written.load(std::memory_order_relaxed);
  const uint64_t room = place_.fifo_bytes - (written - link.consumed.load());
  const size_t chunk = std::min({transfer.bytes - transfer.done, room, static_cast<uint64_t>(pass.budget)});
  if (chunk > 0) {
    ring_put(place_.ring, place_.fifo_bytes, written, static_cast<const char*>(transfer.buffer) + transfer.done, chunk);
    link.written.store(written + chunk);
    transfer.done += chunk;
    pass.budget -= chunk;
    pass.touch(transfer.peer);
  }
  if (transfer.done < transfer.bytes) return false;
  message.timed.store(transfer.sequence);
  pass.touch(transfer.peer);
  return true;
}

void Receiver::post(Transfer& transfer, Instant start, Pass& pass) {
  if (transfer.sequence != 0 || next_ - received_ > message_slots) return;
  transfer.sequence = next_++;
  Message& message = slot(transfer.sequence);
  message.capacity = transfer.bytes;
  message.receive_start = start;
  message.posted.store(transfer.sequence);
  pass.touch(transfer.peer);
}

// The message has to fit the receive; one of a put says itself where it goes.
bool Receiver::find_place(Transfer& transfer, const Message& message, Pass& pass) const {
  if (transfer.kind == LinkKind::two_sided) {
    if (message.bytes != transfer.bytes) pass.fail(Fault::size_mismatch, transfer.peer);
    return message.bytes == transfer.bytes;
  }
  transfer.bytes = message.bytes;
  if (message.bytes == 0) return true;
  void* const begin = place_.windows->find(message.window, message.offset, message.bytes);
  if (begin == nullptr) pass.fail(Fault::no_window, transfer.peer);
  transfer.buffer = begin;
  return begin != nullptr;
}

bool Receiver::advance(Transfer& transfer, Instant start, Pass& pass) {
  post(transfer, start, pass);
  if (transfer.sequence == 0) return false;
  Message& message = slot(transfer.sequence);
  if (message.sent.load() != transfer.sequence) return false;
  if (!find_place(transfer, message, pass)) return false;
  if (message.timed.load() != transfer.sequence) return false;
  Link& link = *place_.link;
  const uint64_t consumed = link.consumed.load(std::memory_order_relaxed);
  const uint64_t there = link.written.load() - consumed;
  const size_t chunk = std::min({transfer.bytes - transfer.done, there, static_cast<uint64_t>(pass.budget)});
  if (chunk > 0) {
    ring_get(place_.ring, place_.fifo_bytes, consumed, static_cast<char*>(transfer.buffer) + transfer.done, chunk);
    transfer.done += chunk;
    pass.budget -= chunk;
    pass.touch(transfer.peer);
  }
  const bool over = transfer.done == transfer.bytes;
  if (over) {
    const bool eager = transfer.bytes <= place_.fifo_bytes;
    transfer.end = eager ? std::max(message.end, start + place_.model->latency().count()) : message.end;
    message.receive_end = transfer.end;
    received_ = transfer.sequence;
    message.received.store(transfer.sequence);
    pass.touch(transfer.peer);
  }
  if (chunk > 0) link.consumed.store(consumed + chunk);
  return over;
}

}  // namespace simgpu::nccl
