// Pipelines in virtual time: the event stream that each rank's detector would see, with its exact bubbles.
//
// Used by the detector's tests and its benchmark. Independent of the detector: the bubbles come from the times of the
// compute streams themselves. One compute stream per rank; groups run on it, or on communication streams.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "detector/event.h"

namespace weft::testing {

enum class Schedule { gpipe, one_f_one_b, interleaved };
enum class Wait { event, in_stream, host };

struct PipelineOptions {
  Schedule schedule = Schedule::one_f_one_b;
  Wait wait = Wait::event;
  int stages = 4;
  int microbatches = 8;
  int chunks = 1;  // per rank; 2 and more with Schedule::interleaved only
  int iterations = 8;
  int startup_groups = 0;  // collectives before the first iteration, each of its own size
  bool all_reduce = true;  // at the end of an iteration
  // Different in each iteration; of a list iteration i (from 0) takes the entry i modulo its length.
  std::vector<int> microbatch_counts;             // empty: `microbatches`
  std::vector<std::uint64_t> message_bytes;       // of every send and receive; empty: 4096
  std::vector<std::uint64_t> sums;                // bytes of each collective at the end; empty: one of 8
  int skip_step_every = 0;                        // in such an iteration only the first of `sums` is there; 0: never
  int evaluate_every = 0;                         // such an iteration only goes forward; 0: never
  std::vector<std::uint64_t> evaluation_sums;     // its collectives
  std::vector<std::uint64_t> in_microbatch_sums;  // of a rank with others, in each forward and backward
  std::uint64_t embedding_sum = 0;                // between the first and the last stage, behind `sums`; 0: none
  bool eager = false;                             // sends do not wait for their receiver
  Duration forward{10'000'000};
  Duration backward{20'000'000};
  Duration latency{50'000};
  Duration host_call{5'000};
  double jitter = 0;  // of compute, relative
  std::uint32_t seed = 1;
};

// Whether this iteration, from 0, only goes forward.
bool is_evaluation(const PipelineOptions& options, int iteration);

struct TrueBubble {
  TimePoint opened{};
  TimePoint closed{};
  GroupId group = 0;
  int iteration = 0;  // from 1
  friend bool operator==(const TrueBubble&, const TrueBubble&) = default;
};

// From when it was issued to its end.
struct StreamWork {
  TimePoint issued{};
  TimePoint ended{};
  Ticket before = 0;  // the first one given out later
};

struct Timeline {
  std::vector<Event> events;
  std::map<StreamId, std::vector<StreamWork>> work;  // of a stream in its order
  std::vector<TrueBubble> bubbles;
  std::uint32_t groups_per_iteration = 0;
  std::vector<TimePoint> iteration_ends;  // of the last group
};

std::vector<Timeline> simulate(const PipelineOptions& options);

// The streams with unfinished work at this time, among those with any work at all.
std::vector<std::pair<StreamId, Answer>> answers_at(const Timeline& timeline, TimePoint time);

template <class Watched, class Take>
void watch_at(const Timeline& timeline, const std::vector<TimePoint>& looks, Watched& detector, Take take) {
  std::size_t next = 0;
  for (const TimePoint time : looks) {
    for (; next < timeline.events.size() && timeline.events[next].time <= time; ++next)
      take(detector.observe(timeline.events[next]));
    detector.looked(time);
    if (!detector.wants_answers()) continue;
    for (const auto& [stream, answer] : answers_at(timeline, time)) {
      const std::optional<Answer> known = detector.answer_of(stream);
      if (!known || *known == answer) continue;
      Event event{};
      event.time = time;
      event.kind = answer.says == StreamAnswer::dry ? EventKind::stream_dry : EventKind::stream_busy;
      event.stream = stream;
      event.ticket = answer.launched_before;
      take(detector.observe(event));
    }
  }
}

// Gives a detector all of it as a dispatcher does: at each time the events, then the answers of the streams, if the
// detector wants them. Calls take(span of findings) for each.
template <class Watched, class Take>
void watch(const Timeline& timeline, Watched& detector, Take take) {
  std::vector<TimePoint> looks;
  for (const Event& event : timeline.events) looks.push_back(event.time);
  for (const auto& [stream, all] : timeline.work)
    for (const StreamWork& work : all) {
      looks.push_back(work.issued);
      looks.push_back(work.ended);
    }
  std::sort(looks.begin(), looks.end());
  looks.erase(std::unique(looks.begin(), looks.end()), looks.end());
  watch_at(timeline, looks, detector, take);
}

}  // namespace weft::testing
