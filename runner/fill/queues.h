// Hardware queues: how many there are, whether the streams of the main job and of Weft fit, and how Weft makes streams
// without changing which of the main job's streams share a queue.
//
// Streams take turns at the queues when they are made; those that share one hold each other up. A program with more
// streams than queues may depend on which ones share: one stream more, and it waits for itself and never ends. So Weft
// makes as many streams as there are queues, a lap, after which the next stream gets the queue that it would have got
// anyway. Called on a thread of the main job at set-up, too_many_streams() also by the dispatcher; nothing here waits.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "runner/core/driver.h"
#include "runner/options/marking.h"

namespace weft {

// Why there can be no filling next to so many streams of the main job; "": they fit.
std::string too_many_streams(std::uint32_t in_use, std::uint32_t queues);

class QueueLap {
 public:
  explicit QueueLap(const Driver& driver) : driver_(driver) {}
  QueueLap(const QueueLap&) = delete;
  QueueLap& operator=(const QueueLap&) = delete;

  // A lap of streams of the lowest priority, or the highest. The one that is returned is the last one whose queue later
  // streams get to; `made`: streams that were made before in the context, without its default stream. Throws
  // SetUpError.
  enum class Priority : std::uint8_t { lowest, highest };
  CUstream make(std::uint32_t queues, std::uint32_t made, Priority priority = Priority::lowest);
  // Others made so many streams on our behalf: completes their lap.
  void complete(std::uint32_t queues, std::uint32_t made);
  void destroy() noexcept;

 private:
  void add(std::uint32_t count, Priority priority);

  const Driver& driver_;
  std::vector<CUstream> streams_;
};

}  // namespace weft
