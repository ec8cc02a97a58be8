// See queued_job.h.
#include "feeder/queue/queued_job.h"

#include <limits>
#include <nlohmann/json.hpp>
#include <stdexcept>

namespace weft {
namespace {

using nlohmann::json;

constexpr int format = 1;

template <class Value>
void take(const json& from, const char* key, Value& to) {
  if (from.contains(key)) to = from.at(key).get<Value>();
}

}  // namespace

std::string to_text(const QueuedJob& job) {
  nlohmann::ordered_json text;
  text["format"] = format;
  text["fill"] = job.plan.spec;
  text["name"] = job.plan.name;
  text["input"] = job.plan.files.input;
  text["results"] = job.plan.files.results;
  text["weights"] = job.plan.files.weights;
  text["memory"] = job.plan.memory;
  text["priority"] = job.plan.terms.priority;
  text["weight"] = job.plan.terms.weight;
  text["deadline_ns"] = job.plan.terms.deadline.count();
  text["units"] = job.plan.terms.units;
  text["variants"] = job.plan.variants;
  text["user"] = job.user;
  text["host"] = job.host;
  text["submitted"] = job.submitted;
  return text.dump(2, ' ', false, json::error_handler_t::replace) + "\n";
}

QueuedJob parse_queued_job(std::string_view text) {
  const json from = json::parse(text, nullptr, false);
  if (!from.is_object() || !from.contains("format")) throw std::invalid_argument("is no job of a queue");
  if (from["format"] != format) throw std::invalid_argument("is of another version of Weft");
  try {
    QueuedJob job;
    std::int64_t deadline = 0;
    take(from, "fill", job.plan.spec);
    take(from, "name", job.plan.name);
    take(from, "input", job.plan.files.input);
    take(from, "results", job.plan.files.results);
    take(from, "weights", job.plan.files.weights);
    take(from, "memory", job.plan.memory);
    take(from, "priority", job.plan.terms.priority);
    take(from, "weight", job.plan.terms.weight);
    take(from, "deadline_ns", deadline);
    take(from, "units", job.plan.terms.units);
    take(from, "variants", job.plan.variants);
    take(from, "user", job.user);
    take(from, "host", job.host);
    take(from, "submitted", job.submitted);
    job.plan.terms.deadline = Duration{deadline};
    if (job.plan.spec.empty()) throw std::invalid_argument("names no fill job");
    if (!(job.plan.terms.weight > 0)) throw std::invalid_argument("has a weight that is none");
    job.plan.arguments = parse_fill_spec(job.plan.spec).arguments;
    return job;
  } catch (const json::exception&) {
    throw std::invalid_argument("is damaged");
  }
}

std::string name_of(const QueuedJob& job) {
  return job.plan.name.empty() ? name_in_path(job.plan.spec) : job.plan.name;
}

}  // namespace weft
