// See fill_plan.h.
#include "runner/options/fill_plan.h"

#include <sys/stat.h>
#include <toml++/toml.h>
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <initializer_list>
#include <iterator>
#include <stdexcept>
#include <string_view>
#include <system_error>

#include "runner/options/quantity.h"
#include "runner/policy/variants.h"

namespace weft {
namespace {

namespace fs = std::filesystem;

// A table of the file, and how to name it in a message.
class Table {
 public:
  Table(const toml::table& table, std::string name) : table_(table), name_(std::move(name)) {}

  // A key that nobody knows is a mistake that would go unnoticed.
  void allow(std::initializer_list<std::string_view> known) const {
    for (const auto& [key, value] : table_)
      if (std::ranges::find(known, key.str()) == known.end())
        throw std::invalid_argument(name_ + ": '" + std::string(key.str()) + "' is no key of it");
  }
  bool has(std::string_view key) const { return table_.contains(key); }
  std::string text(std::string_view key) const { return value<std::string>(key, "a text").value_or(""); }
  std::int64_t integer(std::string_view key, std::int64_t least) const {
    const std::int64_t number = value<std::int64_t>(key, "a whole number").value_or(0);
    if (table_.contains(key) && number < least) fault(key, "at least " + std::to_string(least));
    return number;
  }
  double weight(std::string_view key) const {
    const double number = value<double>(key, "a number").value_or(1);
    if (!(number > 0) || !std::isfinite(number)) fault(key, "more than 0");
    return number;
  }
  std::vector<std::string> texts(std::string_view key, std::size_t most) const {
    std::vector<std::string> found;
    if (!has(key)) return found;
    const toml::array* const list = table_.get(key)->as_array();
    if (list == nullptr || list->empty()) fault(key, "a list of texts, at least one");
    for (const toml::node& node : *list) {
      const std::optional<std::string> text = node.value<std::string>();
      if (!text) fault(key, "a list of texts, at least one");
      found.push_back(*text);
    }
    if (found.size() > most) fault(key, "at most " + std::to_string(most) + " texts");
    return found;
  }
  // As Weft's options have quantities.
  template <class Parse>
  auto quantity(std::string_view key, Parse parse, const char* wanted) const {
    const std::string written = text(key);
    const auto parsed = parse(written);
    if (table_.contains(key) && !parsed) fault(key, wanted);
    return parsed;
  }
  [[noreturn]] void fault(std::string_view key, const std::string& wanted) const {
    throw std::invalid_argument(name_ + ": '" + std::string(key) + "' has to be " + wanted);
  }

 private:
  template <class Value>
  std::optional<Value> value(std::string_view key, const char* wanted) const {
    const toml::node* const node = table_.get(key);
    if (node == nullptr) return std::nullopt;
    const std::optional<Value> found = node->value<Value>();
    if (!found) fault(key, wanted);
    return found;
  }

  const toml::table& table_;
  std::string name_;
};

// Paths in a file are those seen from its folder.
struct Places {
  fs::path folder, own_jobs;

  std::string file(const std::string& written) const {
    return written.empty() ? written : (folder / written).lexically_normal().string();
  }
  std::string spec(const std::string& written) const {
    const std::size_t colon = written.find(':');
    const std::string arguments = colon == std::string::npos ? "" : written.substr(colon);
    const fs::path path(written.substr(0, colon));
    if (path.is_absolute()) return written;
    std::error_code error;
    const fs::path own = own_jobs / ("fill_" + path.string() + ".so"), here = (folder / path).lexically_normal();
    const bool is_short = path.string().find('/') == std::string::npos && !fs::exists(here, error);
    return (is_short && fs::exists(own, error) ? own : here).string() + arguments;
  }
};

// A trace has room for so much of it.
std::vector<std::string> variants_of(const Table& table) {
  std::vector<std::string> variants = table.texts("variants", most_variants);
  for (auto variant = variants.begin(); variant != variants.end(); ++variant) {
    if (variant->empty() || variant->size() > JobName::capacity)
      table.fault("variants", "a list of texts of 1 to " + std::to_string(JobName::capacity) + " bytes");
    if (std::find(variants.begin(), variant, *variant) != variant)
      table.fault("variants", "a list without the same text twice: '" + *variant + "'");
  }
  return variants;
}

JobPlan job_of(const Table& table, const Places& places) {
  if (table.has("arrives"))
    table.fault("arrives", "left out: a training has its jobs from the begin; weft simulate takes jobs that arrive");
  table.allow(
      {"fill", "name", "memory", "priority", "weight", "deadline", "units", "variants", "input", "results", "weights"});
  JobPlan job;
  job.spec = table.text("fill");
  if (job.spec.empty()) table.fault("fill", "the path of a fill job");
  job.spec = places.spec(job.spec);
  job.files = {places.file(table.text("input")), places.file(table.text("results")),
               places.file(table.text("weights"))};
  job.name = table.text("name");
  job.memory = table.quantity("memory", parse_bytes, "a number of bytes, as \"64MiB\"").value_or(0);
  const std::int64_t priority = table.integer("priority", -1'000'000);
  if (priority > 1'000'000) table.fault("priority", "at most 1000000");
  job.terms.priority = static_cast<std::int32_t>(priority);
  job.terms.weight = table.weight("weight");
  job.terms.deadline = table.quantity("deadline", parse_duration, "a duration, as \"3600s\"").value_or(Duration{});
  job.terms.units = static_cast<std::uint64_t>(table.integer("units", 1));
  job.variants = variants_of(table);
  return job;
}

JobPolicy policy_of(const Table& table) {
  const std::string name = table.text("policy");
  if (name.empty()) return JobPolicy::throughput;
  const auto found = std::ranges::find(job_policy_names, name);
  if (found == job_policy_names.end()) table.fault("policy", "throughput, priority, fair, deadline or shortest");
  return static_cast<JobPolicy>(found - job_policy_names.begin());
}

// On any thread of the training: text that nests deeply would need more stack than it may have.
constexpr std::uintmax_t most_bytes = 16 * 1024;

std::string content_of(const std::string& path, const std::string& name) {
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  if (!fs::exists(status)) throw std::invalid_argument(name + ": no such file");
  if (!fs::is_regular_file(status)) throw std::invalid_argument(name + " is not a regular file");
  if (fs::file_size(path, error) > most_bytes)
    throw std::invalid_argument(name + " has more than " + std::to_string(most_bytes) + " bytes");
  std::ifstream in(path);
  std::string content{std::istreambuf_iterator<char>(in), {}};
  if (!in || content.size() > most_bytes) throw std::invalid_argument(name + " cannot be read");
  return content;
}

FillPlan from_file(const std::string& path, const fs::path& own_jobs) {
  const std::string name = "WEFT_FILL=@" + path;
  toml::table file;
  try {
    file = toml::parse(content_of(path, name), path);
  } catch (const toml::parse_error& error) {
    const auto line = error.source().begin.line;
    throw std::invalid_argument(name + (line == 0 ? "" : ":" + std::to_string(line)) + ": " +
                                std::string(error.description()));
  }
  const Table whole(file, name);
  whole.allow({"policy", "job"});
  FillPlan plan;
  plan.policy = policy_of(whole);
  const toml::array* const jobs = file["job"].as_array();
  if (jobs == nullptr || jobs->empty()) throw std::invalid_argument(name + ": it has no [[job]]");
  for (const toml::node& node : *jobs) {
    const std::string number = name + ": job " + std::to_string(plan.jobs.size());
    if (!node.is_table()) throw std::invalid_argument(number + " is no table: [[job]] begins one");
    plan.jobs.push_back(job_of(Table(*node.as_table(), number), {fs::absolute(path).parent_path(), own_jobs}));
  }
  return plan;
}

FillPlan from_list(std::string_view list, const JobFiles& files) {
  FillPlan plan;
  for (std::string_view rest = list;;) {
    const std::size_t end = rest.find(';');
    JobPlan job;
    job.spec = rest.substr(0, end);
    if (job.spec.empty()) throw std::invalid_argument("WEFT_FILL=" + std::string(list) + ": a job has no path");
    plan.jobs.push_back(job);
    if (end == std::string_view::npos) break;
    rest.remove_prefix(end + 1);
  }
  if (files.are_any() && plan.jobs.size() > 1)
    throw std::invalid_argument("WEFT_INPUT, WEFT_RESULTS and WEFT_WEIGHTS are for one fill job, and WEFT_FILL names " +
                                std::to_string(plan.jobs.size()) + ": use a job file (WEFT_FILL=@FILE)");
  for (const auto& [path, made] : {std::pair{&files.input, &plan.jobs.front().files.input},
                                   std::pair{&files.results, &plan.jobs.front().files.results},
                                   std::pair{&files.weights, &plan.jobs.front().files.weights}})
    if (!path->empty()) *made = fs::absolute(*path).lexically_normal().string();
  return plan;
}

// One file cannot have the results of two jobs, and no folder has the name of a file.
void check_results(const FillPlan& plan) {
  const auto name = [](const JobPlan& job) {
    const std::string& results = job.files.results;
    return results.substr(0, results.find_last_not_of('/') + 1);
  };
  for (auto job = plan.jobs.begin(); job != plan.jobs.end(); ++job)
    for (auto other = plan.jobs.begin(); other != job; ++other)
      if (!job->files.results.empty() && name(*job) == name(*other))
        throw std::invalid_argument("two fill jobs have the same `results`: " + job->files.results);
}

// Those that name none have equal parts of what the others leave that fit beside each other, in their order. One that
// does not fit waits for another one to end.
void share_memory(FillPlan& plan, std::uint64_t memory, std::uint64_t others) {
  std::uint64_t left = memory, without = others;
  for (const JobPlan& job : plan.jobs) {
    if (job.memory > memory)
      throw std::invalid_argument("fill job " + (job.name.empty() ? job.spec : job.name) + " wants more than the " +
                                  mebibytes(memory) + " of WEFT_MEMORY");
    if (job.memory <= left) left -= job.memory;
    without += job.memory == 0 ? 1 : 0;
  }
  if (without != others && left / without == 0)
    throw std::invalid_argument("the fill jobs leave nothing of the " + mebibytes(memory) +
                                " of WEFT_MEMORY to those that do not say how much they want");
  for (JobPlan& job : plan.jobs)
    if (job.memory == 0) job.memory = left / without;
}

}  // namespace

FillSpec parse_fill_spec(std::string_view text) {
  const std::size_t colon = text.find(':');
  if (colon == std::string_view::npos) return {std::string(text), {}};
  return {std::string(text.substr(0, colon)), std::string(text.substr(colon + 1))};
}

std::string name_in_path(const std::string& spec) {
  const std::string path = parse_fill_spec(spec).path;
  std::string name = path.substr(path.rfind('/') + 1);
  if (name.starts_with("fill_")) name.erase(0, 5);
  return name.substr(0, name.find(".so"));
}

JobFileStamp stamp_of(const std::string& path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0) return {};
  return {status.st_dev, status.st_ino, static_cast<std::uint64_t>(status.st_size),
          static_cast<std::uint64_t>(status.st_mtim.tv_sec) * 1'000'000'000 +
              static_cast<std::uint64_t>(status.st_mtim.tv_nsec)};
}

std::string JobPlan::spec_of(std::size_t variant) const {
  if (variants.empty()) return spec;
  const std::size_t colon = spec.find(':');
  if (colon == std::string::npos) return spec + ":" + variants[variant];
  return spec + (colon + 1 == spec.size() ? "" : ",") + variants[variant];
}

FillPlan parse_job_list(const std::string& fill, const std::string& own_jobs, const JobFiles& files) {
  if (fill.empty()) return {};
  if (fill.starts_with('@') && files.are_any())
    throw std::invalid_argument("WEFT_INPUT, WEFT_RESULTS and WEFT_WEIGHTS are set, and the jobs of WEFT_FILL=" + fill +
                                " have their own: `input`, `results`, `weights`");
  FillPlan plan = fill.starts_with('@') ? from_file(fill.substr(1), own_jobs) : from_list(fill, files);
  check_results(plan);
  for (JobPlan& job : plan.jobs) {
    job.arguments = parse_fill_spec(job.spec).arguments;
    for (const std::string* const path : {&job.files.input, &job.files.results, &job.files.weights})
      if (path->size() > 4000) throw std::invalid_argument("a path of a fill job is too long: " + *path);
  }
  return plan;
}

FillPlan parse_fill_plan(const std::string& fill, std::uint64_t memory, const std::string& own_jobs,
                         const JobFiles& files, std::uint64_t others) {
  FillPlan plan = parse_job_list(fill, own_jobs, files);
  if (plan.jobs.size() > most_jobs)
    throw std::invalid_argument("WEFT_FILL names " + std::to_string(plan.jobs.size()) + " jobs; at most " +
                                std::to_string(most_jobs) + " are possible");
  share_memory(plan, memory, others);
  return plan;
}

}  // namespace weft
