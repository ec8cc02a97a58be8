// See job_lengths.h.
#include "cli/job_lengths.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <numeric>
#include <optional>
#include <stdexcept>
#include <string_view>

#include "runner/options/quantity.h"
#include "runner/policy/variants.h"

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

std::vector<Duration> parse_kernels(std::string_view text, const std::string& whole) {
  std::vector<Duration> kernels;
  while (true) {
    const std::size_t comma = text.find(',');
    const std::optional<Row> row = parse_row(text.substr(0, comma));
    if (!row)
      throw std::invalid_argument("'" + whole +
                                  "' does not say how long a job's kernels are; 400x25us, gemm=64x25us,2x1.5ms do");
    if (kernels.size() + row->count > most_kernels)
      throw std::invalid_argument("'" + whole + "' has more than " + std::to_string(most_kernels) + " kernels");
    kernels.insert(kernels.end(), row->count, row->length);
    if (comma == std::string_view::npos) return kernels;
    text.remove_prefix(comma + 1);
  }
}

void add_variant(JobLengths& job, const std::string& text) {
  job.smaller.push_back({text, parse_kernels(text, text), 0});
  if (job.smaller.size() < most_variants) return;
  throw std::invalid_argument("a job has at most " + std::to_string(most_variants) + " variants, the first included");
}

bool set_term(JobLengths& job, std::string_view name, const std::string& value) {
  JobTerms& terms = job.terms;
  if (name == "memory") {
    const std::optional<std::uint64_t> memory = parse_bytes(value);
    (job.smaller.empty() ? job.memory : job.smaller.back().memory) = memory.value_or(0);
    return memory.has_value();
  }
  if (name == "variant") return add_variant(job, value), true;
  if (name == "weight") return CLI::detail::lexical_cast(value, terms.weight) && terms.weight > 0 && terms.weight < 1e9;
  if (name == "priority") return CLI::detail::lexical_cast(value, terms.priority);
  if (name == "units")
    return !value.starts_with('-') && CLI::detail::lexical_cast(value, terms.units) && terms.units > 0;
  if (name == "arrives") return (job.arrives = parse_duration(value)).has_value();
  if (name != "deadline") return false;
  const std::optional<Duration> deadline = parse_duration(value);
  terms.deadline = deadline.value_or(Duration{});
  return deadline && *deadline > Duration{};
}

}  // namespace

Duration JobLengths::unit() const {
  return std::accumulate(kernels.begin(), kernels.end(), Duration{});
}

JobLengths parse_job_lengths(const std::string& text) {
  const std::size_t end = std::min(text.find(';'), text.size());
  const std::string first = text.substr(0, end);
  const std::size_t equals = first.find('=');
  JobLengths job;
  job.name = equals == 0 ? first.substr(1) : first.substr(0, equals);
  job.kernels = parse_kernels(std::string_view(first).substr(equals == std::string::npos ? 0 : equals + 1), text);
  for (std::size_t begin = end; begin < text.size();) {
    const std::size_t next = std::min(text.find(';', begin + 1), text.size());
    const std::string term = text.substr(begin + 1, next - begin - 1);
    const std::size_t middle = std::min(term.find('='), term.size());
    const std::string value = middle < term.size() ? term.substr(middle + 1) : "";
    if (!set_term(job, std::string_view(term).substr(0, middle), value))
      throw std::invalid_argument(
          "'" + text + "': '" + term +
          "' is no term of a job, or not one that can be; priority=2, weight=0.5, deadline=60s, units=40, "
          "memory=4GiB, arrives=30s, variant=100x10us are");
    begin = next;
  }
  if (!job.smaller.empty()) job.variant = first.substr(equals == std::string::npos ? 0 : equals + 1);
  return job;
}

}  // namespace weft::cli
