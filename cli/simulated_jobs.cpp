// See simulated_jobs.h.
#include "cli/simulated_jobs.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <optional>
#include <random>
#include <stdexcept>

#include "runner/policy/seconds.h"
#include "trace/formatted.h"
#include "trace/read/printable.h"

namespace weft::cli {
namespace {

double at(TimePoint time) {
  return seconds(time.time_since_epoch());
}

std::string text_of(std::optional<TimePoint> time) {
  return time ? formatted("%.3f s", at(*time)) : "no";
}

nlohmann::ordered_json json_of(std::optional<TimePoint> time) {
  return time ? nlohmann::ordered_json(at(*time)) : nlohmann::ordered_json(nullptr);
}

std::optional<double> completion(const model::JobResult& result) {
  return result.ended ? std::optional(seconds(*result.ended - result.arrived)) : std::nullopt;
}

std::optional<double> mean_completion(const std::vector<model::JobResult>& results) {
  double sum = 0, count = 0;
  for (const model::JobResult& each : results)
    if (const std::optional<double> one = completion(each)) {
      sum += *one;
      ++count;
    }
  return count > 0 ? std::optional(sum / count) : std::nullopt;
}

}  // namespace

std::vector<JobLengths> parse_jobs(const std::vector<std::string>& texts, Duration mean_gap, std::uint64_t seed) {
  if (texts.size() > most_jobs)
    throw std::invalid_argument("at most " + std::to_string(most_jobs) + " jobs are possible");
  std::vector<JobLengths> jobs;
  std::mt19937_64 engine(seed);
  double time = 0;
  for (const std::string& text : texts) {
    JobLengths& job = jobs.emplace_back(parse_job_lengths(text));
    if (job.arrives || mean_gap <= Duration{}) continue;
    // The standard's distributions differ from library to library.
    time -= static_cast<double>(mean_gap.count()) * std::log(1 - static_cast<double>(engine() >> 11) * 0x1p-53);
    job.arrives = Duration{std::llround(time)};
  }
  std::ranges::stable_sort(jobs, {}, [](const JobLengths& job) { return job.arrives.value_or(Duration{}); });
  return jobs;
}

model::JobOptions job_options(const JobLengths& job) {
  return {job.kernels, job.terms, job.memory, job.arrives.value_or(Duration{}), job.variant, job.smaller};
}

void print_jobs(const std::vector<JobLengths>& jobs, const std::vector<model::JobResult>& results) {
  const JobLengths& first = jobs.front();
  if (jobs.size() < 2 && first.terms.units == 0 && !first.arrives && first.smaller.empty()) return;
  Duration all{};
  for (const model::JobResult& result : results) all += result.filled;
  std::printf("\njob                      units  of the fill work      arrived        began        ended\n");
  for (std::size_t i = 0; i < results.size(); ++i) {
    const model::JobResult& result = results[i];
    const double share = all > Duration{} ? 100 * seconds(result.filled) / seconds(all) : 0;
    const Duration deadline = jobs[i].terms.deadline;
    const bool is_late = deadline > Duration{} && (!result.ended || *result.ended > TimePoint{} + deadline);
    std::printf("%-20s %9llu  %14.1f %%  %11s  %11s  %11s%s\n", printable(jobs[i].name).c_str(), number(result.units),
                share, text_of(result.arrived).c_str(), text_of(result.began).c_str(), text_of(result.ended).c_str(),
                is_late ? ", late" : "");
    if (!result.variant.empty()) std::printf("  as %s\n", printable(result.variant).c_str());
  }
  if (const std::optional<double> mean = mean_completion(results))
    std::printf("from arrival to end: %.3f s on average\n", *mean);
}

nlohmann::ordered_json json_of_jobs(const std::vector<JobLengths>& jobs, const std::vector<model::JobResult>& results) {
  nlohmann::ordered_json made = nlohmann::ordered_json::array();
  for (std::size_t i = 0; i < results.size(); ++i)
    made.push_back({{"name", jobs[i].name},
                    {"variant", results[i].variant},
                    {"units", results[i].units},
                    {"filled_seconds", seconds(results[i].filled)},
                    {"arrived", at(results[i].arrived)},
                    {"began", json_of(results[i].began)},
                    {"ended", json_of(results[i].ended)}});
  return made;
}

nlohmann::ordered_json json_of_mean_completion(const std::vector<model::JobResult>& results) {
  const std::optional<double> mean = mean_completion(results);
  return mean ? nlohmann::ordered_json(*mean) : nlohmann::ordered_json(nullptr);
}

}  // namespace weft::cli
