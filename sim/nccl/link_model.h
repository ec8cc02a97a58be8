// How long transfers take: latency and bandwidth of the links between ranks, from the environment.
//   SIMGPU_NCCL_LATENCY    one message, in microseconds or with a unit (10us)
//   SIMGPU_NCCL_BANDWIDTH  of one directed link between two ranks, bytes per second (1e9)
//   SIMGPU_NCCL_FIFO       bytes that a sender may be ahead of its receiver, per directed link (1048576)
//   SIMGPU_FAULTS          link=SRC>DST:FACTOR makes one directed link slower (ranks of the first communicator)
//   SIMGPU_TIME_SCALE      multiplies all times
// Pure arithmetic after the first read; any thread.
#ifndef SIMGPU_NCCL_LINK_MODEL_H
#define SIMGPU_NCCL_LINK_MODEL_H

#include <chrono>
#include <cstdint>
#include <string_view>
#include <vector>

#include "simgpu/constants.h"

namespace simgpu::nccl {

using std::chrono::nanoseconds;

class LinkModel {
 public:
  struct SlowLink {
    int source;
    int destination;
    double factor;
  };

  LinkModel() = default;
  LinkModel(nanoseconds latency, double bytes_per_second, uint64_t fifo_bytes, double time_scale,
            std::vector<SlowLink> slow_links);

  // The model the environment asks for, read once. Values that cannot be read are reported once and left at their
  // default.
  static const LinkModel& from_environment();

  nanoseconds latency() const { return latency_; }
  uint64_t fifo_bytes() const { return fifo_bytes_; }
  // One message on the directed link between two world ranks.
  nanoseconds transfer(int source, int destination, uint64_t bytes) const;
  // A ring collective in which each link carries `steps` messages and `bytes` altogether.
  nanoseconds ring(const std::vector<int>& world_ranks, int steps, double bytes) const;

 private:
  double factor(int source, int destination) const;
  nanoseconds time(double messages, double bytes, double slower) const;

  nanoseconds latency_{constants::nccl_latency};
  double bytes_per_second_ = constants::nccl_bandwidth;
  uint64_t fifo_bytes_ = constants::nccl_fifo;
  double time_scale_ = 1;
  std::vector<SlowLink> slow_links_;
};

// The link= entries of a SIMGPU_FAULTS value; everything else in it is the driver's.
std::vector<LinkModel::SlowLink> parse_slow_links(std::string_view faults);

}  // namespace simgpu::nccl

#endif
