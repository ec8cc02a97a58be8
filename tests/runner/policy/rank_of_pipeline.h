// The events of one rank of a pipeline in virtual time, and a fill stream to decide about: for the test that a Session
// allocates nothing, and for its benchmark. One thread, no clock.
#pragma once

#include <chrono>
#include <cstdint>
#include <utility>
#include <vector>

#include "runner/policy/session.h"
#include "sim/pipeline/world.h"

namespace weft::testing {

// Of the rank in the middle, without fill work: 120 iterations of twice as many microbatches as stages.
inline std::vector<Event> events_of_rank(pipeline::Schedule schedule, int stages) {
  struct Listener final : pipeline::Watcher {
    explicit Listener(int its_rank) : wanted(its_rank) {}
    void saw(int rank, const Event& event) override {
      if (rank == wanted) events.push_back(event);
    }
    void woken(int, TimePoint) override {}
    void computed(int, const pipeline::Span&) override {}
    int wanted;
    std::vector<Event> events;
  };
  pipeline::WorldOptions options;
  options.schedule = {schedule, stages, 2 * stages};
  options.iterations = 120;
  options.jitter = 0.05;
  Listener listener(stages / 2);
  pipeline::World world(options, listener);
  world.run();
  return std::move(listener.events);
}

struct NoSink final : RecordSink {
  void push(const Record&) noexcept override {}
};

// Slices of three lengths may come next, with none or one in flight.
inline FillView fill_view(TimePoint now, std::uint32_t in_flight) {
  using std::chrono::microseconds;
  FillView made;
  made.ready = in_flight < 2;
  made.candidates.alone = {microseconds(25), microseconds(75), microseconds(300)};
  made.candidates.count = 3;
  made.in_flight.slices = in_flight;
  if (in_flight == 0) return made;
  made.in_flight.oldest_launched = now - microseconds(100);
  made.in_flight.oldest_alone = microseconds(300);
  made.in_flight.first_ends = made.in_flight.expected_end = now + microseconds(200);
  return made;
}

}  // namespace weft::testing
