// The detector of one device: events in, bubbles, iterations and forecasts out.
//
// Called by the dispatcher thread of the device (or by a replay, or by a test), one thread at a time. Pure: no clock,
// no thread, no I/O, no CUDA. Time is what the events say. Memory use is bounded: by DetectorOptions, and by the fixed
// sizes of the tables of groups, streams, rhythms and closed bubbles. A loss in those of groups and streams is an
// anomaly, and counted: see dropped().
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "detector/bubble.h"
#include "detector/event.h"

namespace weft {

struct DetectorOptions {
  std::size_t longest_period = 65536;  // groups in one iteration, at most
  std::size_t most_groups = 16384;     // that are remembered, a power of two; more that are not over are a loss
  std::size_t history = 16;            // earlier lengths kept per slot, 64 at most
  std::size_t warm_up_iterations = 1;  // first iterations of a rhythm that no forecast is taken from
  bool one_queue = false;              // all streams may share one hardware queue, see README.md
  // Whether an iteration goes dark, by its turn: nothing in it is watched but its end. Nothing: none does.
  bool (*goes_dark)(std::uint64_t turn) = nullptr;
  // For tests: what is kept from one event to the next is found anew as well, and BrokenInvariant is thrown where it
  // differs.
  bool checks_kept = false;
};

class Detector {
 public:
  explicit Detector(const DetectorOptions& options = {});
  ~Detector();
  Detector(const Detector&) = delete;
  Detector& operator=(const Detector&) = delete;

  // Takes the next event and says what it led to, oldest first. Events of one source come in order; a word's event may
  // be up to one poll later than it happened. A bubble's opening is reported once an event of a later time has come:
  // what opens and closes at one time is not reported. (open_bubble() says it at once.) The span is valid until the
  // next call.
  std::span<const Finding> observe(const Event& event);

  // The bubble that is open now, if any.
  std::optional<Bubble> open_bubble() const;

  // Whether compute runs depends on streams that no mark says anything of. While this is true, every stream of the
  // device, those that the detector has not heard of too, is to be asked at each look: an event stream_dry, stream_busy
  // or stream_unknown where the answer is another one than answer_of() has, with launched_before as its ticket. Stream
  // 0 stands for those that cannot be named: unknown, or nothing.
  bool wants_answers() const;
  // The latest answer of this stream that still counts; nothing: it need not be asked.
  std::optional<Answer> answer_of(StreamId stream) const;
  // Appends the streams, of those that the detector knows, that have to be asked.
  void to_ask(std::vector<StreamId>& streams) const;

  // A look is over: all words that were written before its time have been given. In between, words may come in any
  // order. The answers of the look come next.
  void looked(TimePoint time);

  // Of the stream, as of the latest verdict: all that it has left may stand behind a blocked one in its hardware queue.
  bool is_doubtful(StreamId stream) const;

  Enqueued enqueued_while_host_waits() const;

  // Groups were issued, outside of graphs, that are not known to be over.
  bool has_groups_under_way() const;

  // A stream capture is open in this process: nothing may be launched.
  bool capture_is_open() const;

  // When the next bubble is expected to open, from the latest iteration; nothing while no rhythm is known.
  // May lie in the past: the bubble is late, and may open at any moment.
  std::optional<TimePoint> next_expected_bubble() const;

  // The iteration of one of the latest groups, as far as it is known by now; 0: it is not.
  std::uint64_t iteration_of(GroupId group) const;
  // The slot of one of the latest groups, likewise.
  SlotKey slot_of(GroupId group) const;
  // The iteration that runs on the GPU is dark: no bubble is open, no stream is to be asked.
  bool is_dark() const;
  // The turn of the iteration that runs on the GPU, see Iteration; 0: not known.
  std::uint64_t running_turn() const;
  // Since when the present dark time has not been reported; nothing: it is not dark.
  std::optional<TimePoint> dark_since() const;
  // When the iteration that runs on the GPU will be over if it lasts as long as the one before; nothing: not known.
  std::optional<TimePoint> expected_end() const;
  // From now on all iterations are dark.
  void stay_dark();
  // The host issues a dark iteration: nothing is to be marked but groups of this likeness (group_shape.h), by which its
  // end is known. Nothing: everything is to be marked.
  std::optional<std::uint64_t> marks_only() const;
  // The framework says that there is a bubble. While it does, streams are asked whether one is.
  bool bubble_is_said() const;
  // Annotations that contradict others. They are not believed; each kind is noted once.
  std::uint64_t refused_annotations() const;

  // Events that could not be used: of groups or markers that are not known, or that the bounded tables had no room for.
  std::uint64_t dropped() const;

 private:
  class Implementation;
  std::unique_ptr<Implementation> implementation_;
};

}  // namespace weft
