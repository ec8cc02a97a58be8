// simgpu-truth: the ground truth of a run on the simulated GPU as one JSON object, one entry for each log.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <exception>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "truth/truth.h"

namespace {

using nlohmann::ordered_json;

struct Request {
  std::int64_t from = 0, to = 0, shortest = 0;
  bool from_given = false, to_given = false, intervals = false, as_told = false, by_waits = false;
  std::vector<std::string> files;
};

ordered_json entry(const std::string& path, const Request& request) {
  const simgpu::Times times = request.as_told ? simgpu::Times::told : simgpu::Times::modelled;
  const simgpu::TruthLog log = simgpu::read_truth_log(path, times);
  simgpu::Interval window = simgpu::communication_window(log).value_or(simgpu::Interval{});
  if (request.from_given) window.begin = request.from;
  if (request.to_given) window.end = request.to;
  window.end = std::max(window.begin, window.end);
  const simgpu::Truth truth =
      simgpu::truth_of(log, window, request.shortest,
                       request.by_waits ? simgpu::Idle::behind_communication : simgpu::Idle::beside_communication);
  const std::int64_t length = window.end - window.begin;
  const std::int64_t idle = simgpu::length(truth.idle);
  ordered_json result{{"file", path},
                      {"process", log.process},
                      {"device", log.device},
                      {"from", window.begin},
                      {"to", window.end},
                      {"window", length},
                      {"idle", idle},
                      {"idle_share", length > 0 ? static_cast<double>(idle) / static_cast<double>(length) : 0.0},
                      {"idle_intervals", truth.idle.size()},
                      {"any_idle", truth.any_idle},
                      {"compute", truth.compute},
                      {"fill", truth.fill},
                      {"fill_in_idle", truth.fill_in_idle},
                      {"fill_beside_compute", truth.fill_beside_compute},
                      {"fill_kernels", log.fill_kernels},
                      {"fill_hazards", log.fill_hazards}};
  if (request.intervals) {
    result["intervals"] = ordered_json::array();
    for (const simgpu::Interval& idle_time : truth.idle)
      result["intervals"].push_back({idle_time.begin, idle_time.end});
  }
  return result;
}

}  // namespace

int main(int count, char** values) {
  Request request;
  CLI::App app(
      "When the main job's compute was idle on the simulated GPU, from its logs (SIMGPU_LOG). Times: nanoseconds.",
      "simgpu-truth");
  const auto from = app.add_option("--from", request.from, "Start of the window; else the first NCCL kernel's.");
  const auto to = app.add_option("--to", request.to, "End of the window; else the last NCCL kernel's.");
  app.add_option("--shortest", request.shortest, "Idle intervals shorter than this are left out.");
  app.add_flag("--intervals", request.intervals, "Also each idle interval, as [begin, end].");
  app.add_flag("--as-told", request.as_told,
               "Kernels start and end when the simulated GPU got to it, not at the times of its model.");
  app.add_flag("--by-waits", request.by_waits,
               "Idle is also who waits for communication that something else in its hardware queue holds up.");
  app.add_option("FILE", request.files, "Logs: gpu<device>.<process>.jsonl")->required();
  CLI11_PARSE(app, count, values);
  request.from_given = !from->empty();
  request.to_given = !to->empty();
  try {
    ordered_json result{{"logs", ordered_json::array()}};
    for (const std::string& path : request.files) result["logs"].push_back(entry(path, request));
    std::printf("%s\n", result.dump(2).c_str());
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "simgpu-truth: %s\n", error.what());
    return 1;
  }
}
