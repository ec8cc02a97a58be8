// The arguments of weft-fill-probe: NAME=VALUE, each once.
//
// Written by the core's trial and by weft try, read by the probe. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace weft {

struct ProbeRequest {
  std::uint64_t device = 0;
  std::string uuid;             // of that device; "": whichever it is
  std::string path, arguments;  // of the job
  std::string input, results, weights;
  std::uint64_t memory = 0;
  std::uint64_t max_blocks = 0;  // 0: all multiprocessors but the reserved ones
  std::uint64_t reserved = 0;
  std::uint64_t slice_cap = 0;  // nanoseconds
  std::uint64_t limit = 0;      // seconds
  std::uint64_t units = 0;      // for weft try; 0: it is the trial of a training
  std::string confine, stream;  // names of Confine, FillStream
  std::string one_queue;        // of OneQueue; "": the machine is not asked
};

std::vector<std::string> arguments_of(const ProbeRequest& request);
// Nothing: they are not those of a request.
std::optional<ProbeRequest> probe_request(int count, const char* const* arguments);

}  // namespace weft
