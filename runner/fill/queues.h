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
#include "runner/options/options.h"

namespace weft {

// CUDA_DEVICE_MAX_CONNECTIONS as the driver takes it. The driver reads it when CUDA starts, Weft at the first
// communicator: a change between the two is not known of.
std::uint32_t hardware_queues(const Variables& variables);

// How the streams of the main job say how far they have come: by stream-ordered writes; by events that are recorded; or
// not at all, and then no bubble can be measured.
//
// A program that asks for one queue wants its kernels to run side by side in the order of their launches. Nothing
// public says whether a write behind a running kernel holds the queue until that is over. An event does not, or every
// training with PyTorch would wait for itself there: its process group records one behind each kernel of NCCL. With
// blocking launches the host waits in every call, and idle time has none of the patterns that bubbles are known by.
enum class Marks : std::uint8_t { writes, events, none };
struct Marking {
  Marks marks = Marks::writes;
  bool one_queue = false;    // perhaps all streams share one
  const char* because = "";  // of other marks than writes; a string literal
};

// A process may have changed a variable since it began, before CUDA read it or after: either value counts.
Marking marking_for(const Environments& environments);

// Why there can be no filling next to so many streams of the main job; "": they fit.
std::string too_many_streams(std::uint32_t in_use, std::uint32_t queues);

class QueueLap {
 public:
  explicit QueueLap(const Driver& driver) : driver_(driver) {}
  QueueLap(const QueueLap&) = delete;
  QueueLap& operator=(const QueueLap&) = delete;

  // A lap of streams of the lowest priority. The one that is returned is the last one whose queue later streams get to;
  // `made`: streams that were made before in the context, without its default stream. Throws SetUpError.
  CUstream make(std::uint32_t queues, std::uint32_t made);
  // Others made so many streams on our behalf: completes their lap.
  void complete(std::uint32_t queues, std::uint32_t made);
  void destroy() noexcept;

 private:
  void add(std::uint32_t count);

  const Driver& driver_;
  std::vector<CUstream> streams_;
};

}  // namespace weft
