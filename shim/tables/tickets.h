// TicketWords: the tickets of one device and the words they are written into, without a stream or a driver.
//
// The protocol of the words is in seam/marker_words.h. Any thread, in hooks: no lock, nothing that waits. begin() and
// end() are called by the core at set-up and when a context goes. Tested alone in tests/shim/tickets_test.cpp.
#pragma once

#include <atomic>
#include <cstdint>

#include "shim/seam/marker_words.h"

namespace weft {

// Zeroed memory has no words.
struct TicketWords {
  // Of reserve(), each lost to another thread that took a ticket meanwhile. After these a hook gives up: with so many
  // threads at once there is no marker, and the caller counts it as lost.
  static constexpr int attempts = 64;

  // Takes new words. Tickets go on where they were, so whatever was given out before counts as reached: its words are
  // gone, and so is the context of its streams.
  void begin(const MarkerWords& words) noexcept {
    const Ticket newest = last.load(std::memory_order_acquire);
    for (std::uint32_t index = 0; index < words.count && newest != 0; ++index) {
      words.host[index].store(newest - ((newest - index) & (words.count - 1)), std::memory_order_relaxed);
    }
    address.store(words.device, std::memory_order_relaxed);
    events.store(words.events, std::memory_order_relaxed);
    count.store(words.count, std::memory_order_relaxed);
    host.store(words.host, std::memory_order_release);
  }
  void end() noexcept { host.store(nullptr, std::memory_order_release); }
  bool present() const noexcept { return host.load(std::memory_order_acquire) != nullptr; }
  // Streams may be made to write them, or to record events in their place.
  bool writable() const noexcept { return present() && (address.load(std::memory_order_relaxed) != 0 || by_events()); }
  bool by_events() const noexcept { return events.load(std::memory_order_relaxed) != nullptr; }

  // A ticket whose word is free again; 0: none (no words, or markers as old as a whole lap have not run, or all
  // attempts were in vain).
  Ticket reserve() noexcept {
    MarkerWord* words = host.load(std::memory_order_acquire);
    if (words == nullptr) return 0;
    Ticket newest = last.load(std::memory_order_relaxed);
    for (int attempt = 0; attempt < attempts; ++attempt) {
      const bool around = newest + 1 == 0;  // ticket 0 is none, but it has its turn at its word
      if (around && !is_free(words, 0)) return 0;
      const Ticket ticket = around ? 1 : newest + 1;
      if (!is_free(words, ticket)) return 0;
      if (!last.compare_exchange_weak(newest, ticket, std::memory_order_acq_rel)) continue;
      if (around) words[0].store(0, std::memory_order_release);
      return ticket;
    }
    return 0;
  }

  // The stream has written the ticket or a later one of the same word, or the host has in its place. Also true where
  // there is nothing to wait for: without words, and for ticket 0.
  bool reached(Ticket ticket) const noexcept {
    const MarkerWord* words = host.load(std::memory_order_acquire);
    return words == nullptr || ticket == 0 || is_written(words, count.load(std::memory_order_relaxed), ticket);
  }

  // Writes the word from the host in the stream's place, for a ticket that was reserved and whose marker will never be
  // enqueued: the word would stay taken, and the wait for the ticket would never end.
  void write_from_host(Ticket ticket) noexcept {
    MarkerWord* words = host.load(std::memory_order_acquire);
    if (words != nullptr && ticket != 0) words[index_of(ticket)].store(ticket, std::memory_order_release);
  }

  std::uint64_t address_of(Ticket ticket) const noexcept {
    return address.load(std::memory_order_relaxed) + index_of(ticket) * sizeof(std::uint32_t);
  }

  // While by_events(). Each ticket is recorded by one thread, so its event is used by one at a time.
  MarkerEvent& event_of(Ticket ticket) const noexcept {
    return events.load(std::memory_order_relaxed)[index_of(ticket)];
  }

  std::uint32_t index_of(Ticket ticket) const noexcept {
    return word_of(ticket, count.load(std::memory_order_relaxed));
  }
  // The ticket of the lap before has been written.
  bool is_free(const MarkerWord* words, Ticket ticket) const noexcept {
    const std::uint32_t lap = count.load(std::memory_order_relaxed);
    return is_written(words, lap, ticket - lap);
  }

  std::atomic<MarkerWord*> host;
  std::atomic<std::uint64_t> address;  // CUdeviceptr of the same words
  std::atomic<std::uint32_t> count;    // a power of two
  std::atomic<MarkerEvent*> events;
  std::atomic<Ticket> last;
};

}  // namespace weft
