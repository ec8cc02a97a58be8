// The numbers of a rank in Prometheus's text format, as node exporter's textfile collector reads it.
//
// Used by `weft export --prometheus` and tests. Pure. All samples of a metric stand together, below its HELP and TYPE,
// which are the same in all files. A number that is not known has no sample. No sample has a time: the collector
// refuses those.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "trace/metrics/rank_metrics.h"

namespace weft {

enum class Metric : std::uint8_t {
#define METRIC(name, type, help) name,
#include "trace/metrics/metrics.def"
#undef METRIC
};
struct MetricInfo {
  const char* name;  // with "weft_" in front
  const char* type;
  const char* help;
};
inline constexpr std::array metric_infos{
#define METRIC(name, type, help) MetricInfo{"weft_" #name, #type, help},
#include "trace/metrics/metrics.def"
#undef METRIC
};

// They stand at each sample.
struct RankLabels {
  std::string run;
  std::string rank;                   // as `weft summary` names it
  std::int32_t gpu = 0;               // CUDA ordinal in the process
  std::optional<std::int32_t> stage;  // nothing: it is not known
};

// `now`: since 1970.
std::string metrics_text(const RankMetrics& metrics, const SkippedLines& skipped, const RankLabels& labels,
                         Duration now);

}  // namespace weft
