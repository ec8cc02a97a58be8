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
      if (!is_free(words, ticket)) {
        const Parked parked = look_at_parked(words, ticket);
        if (parked == Parked::none) return 0;
        if (parked == Parked::lasts && last.compare_exchange_weak(newest, ticket, std::memory_order_acq_rel))
          newest = ticket;
        if (parked == Parked::lasts) continue;
      }
      if (!last.compare_exchange_weak(newest, ticket, std::memory_order_acq_rel)) continue;
      if (around) words[0].store(0, std::memory_order_release);
      return ticket;
    }
    return 0;
  }

  // This ticket may stay outstanding for ever, as behind a wait for a word in memory: the others pass over its word.
  // False: there are as many of these as can be.
  bool may_park() const noexcept { return free_place() < most_parked; }
  void park(Ticket ticket) noexcept {
    if (const int place = free_place(); place < most_parked)
      parked_tickets[place].store(ticket, std::memory_order_relaxed);
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

  static constexpr int most_parked = 16;
  // A place whose ticket is written, and whose word no ticket has passed over: it would never be free again.
  int free_place() const noexcept {
    const auto is_done = [this](Ticket ticket) {
      const std::uint32_t lap = count.load(std::memory_order_relaxed);
      return ticket == 0 || (reached(ticket) && last.load(std::memory_order_relaxed) - ticket < lap);
    };
    int place = 0;
    while (place < most_parked && !is_done(parked_tickets[place].load(std::memory_order_relaxed))) ++place;
    return place;
  }
  enum class Parked : std::uint8_t { none, lasts, over };
  // Of the word of this ticket, which is not free. Over: it is now.
  Parked look_at_parked(MarkerWord* words, Ticket ticket) noexcept {
    for (std::atomic<Ticket>& place : parked_tickets) {
      const Ticket parked = place.load(std::memory_order_relaxed);
      if (parked == 0 || index_of(parked) != index_of(ticket)) continue;
      if (!is_written(words, count.load(std::memory_order_relaxed), parked)) return Parked::lasts;
      words[index_of(ticket)].store(ticket - count.load(std::memory_order_relaxed), std::memory_order_release);
      place.store(0, std::memory_order_relaxed);
      return Parked::over;
    }
    return Parked::none;
  }

  std::atomic<Ticket> parked_tickets[most_parked];
  std::atomic<MarkerWord*> host;
  std::atomic<std::uint64_t> address;  // CUdeviceptr of the same words
  std::atomic<std::uint32_t> count;    // a power of two
  std::atomic<MarkerEvent*> events;
  std::atomic<Ticket> last;
};

}  // namespace weft
