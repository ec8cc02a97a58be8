// One fill job, tried alone by weft-fill-probe, as the trial before a training does; and its report.
//
// Used by weft try. A process of its own runs the job, so that whatever it does ends there.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>

#include "detector/time.h"
#include "runner/options/fill_plan.h"
#include "runner/options/options.h"

namespace weft::cli {

struct TryRequest {
  std::string path, arguments;  // of the job
  JobFiles files;               // that it reads; results are written nowhere
  int device = 0;
  std::uint64_t units = 3;
  Duration limit = std::chrono::seconds(60);  // rounded up to whole seconds
};

struct TriedJob {
  std::string fault;              // one line; "": it is sound
  nlohmann::ordered_json report;  // of runner/fill/fill_probe/report.h; null: it did not get so far
};

// Throws std::runtime_error when the probe cannot be started.
TriedJob try_job(const std::filesystem::path& probe, const TryRequest& request, const Options& options);

}  // namespace weft::cli
