// See job_lengths.h.
#include "cli/job_lengths.h"

#include <numeric>
#include <optional>
#include <stdexcept>
#include <string_view>

#include "runner/options/quantity.h"

namespace weft::cli {
namespace {

constexpr std::size_t most_kernels = 100'000;

struct Row {
  std::uint32_t count = 1;
  Duration length{};
};

std::optional<Row> parse_row(std::string_view text) {
  Row row;
  const std::size_t times = text.find('x');
  if (times != std::string_view::npos) {
    const std::optional<std::uint32_t> count = parse_count(text.substr(0, times));
    if (!count || *count == 0) return std::nullopt;
    row.count = *count;
    text.remove_prefix(times + 1);
  }
  const std::optional<Duration> length = parse_duration(text);
  if (!length || *length <= Duration{}) return std::nullopt;
  row.length = *length;
  return row;
}

}  // namespace

Duration JobLengths::unit() const {
  return std::accumulate(kernels.begin(), kernels.end(), Duration{});
}

JobLengths parse_job_lengths(const std::string& text) {
  const std::size_t equals = text.find('=');
  JobLengths job;
  job.name = text.substr(0, equals);
  std::string_view rest(text);
  if (equals != std::string::npos) rest.remove_prefix(equals + 1);
  while (true) {
    const std::size_t comma = rest.find(',');
    const std::optional<Row> row = parse_row(rest.substr(0, comma));
    if (!row)
      throw std::invalid_argument("'" + text +
                                  "' does not say how long a job's kernels are; 400x25us, gemm=64x25us,2x1.5ms do");
    if (job.kernels.size() + row->count > most_kernels)
      throw std::invalid_argument("'" + text + "' has more than " + std::to_string(most_kernels) + " kernels");
    job.kernels.insert(job.kernels.end(), row->count, row->length);
    if (comma == std::string_view::npos) return job;
    rest.remove_prefix(comma + 1);
  }
}

}  // namespace weft::cli
