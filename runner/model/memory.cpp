// See memory.h.
#include "runner/model/memory.h"

#include <algorithm>
#include <stdexcept>
#include <string>

namespace weft::model {

std::vector<StageMemory> memory_of(const MemoryOptions& options, const RunResult& without,
                                   const std::vector<JobOptions>& jobs) {
  const std::size_t places = without.most_activations.size();
  if (options.parameters.size() != 1 && options.parameters.size() != places)
    throw std::invalid_argument("parameter bytes: one size, or one for each of the " + std::to_string(places) +
                                " stages");
  std::vector<StageMemory> stages(places);
  for (std::size_t place = 0; place < places; ++place) {
    StageMemory& stage = stages[place];
    stage.parameters = options.parameters[options.parameters.size() == 1 ? 0 : place];
    stage.activations = without.most_activations[place];
    const std::uint64_t needed = stage.parameters + stage.activations + options.reserve;
    if (options.gpu != 0 && needed > options.gpu)
      throw std::invalid_argument("the training does not fit: with the reserve stage " + std::to_string(place) +
                                  " needs " + std::to_string(needed >> 20) + " MiB, its GPU has " +
                                  std::to_string(options.gpu >> 20) + " MiB");
    if (options.gpu != 0) stage.free = options.gpu - needed;
    const auto fits = [&](std::uint64_t memory) { return options.gpu == 0 || memory <= stage.free; };
    const auto add = [&](std::size_t job, const std::string& variant) {
      stage.jobs.push_back(job);
      stage.variants.push_back(variant);
    };
    for (std::size_t job = 0; job < jobs.size(); ++job) {
      const auto smaller =
          std::ranges::find_if(jobs[job].smaller, [&](const VariantOptions& variant) { return fits(variant.memory); });
      if (fits(jobs[job].memory))
        add(job, jobs[job].variant);
      else if (smaller != jobs[job].smaller.end())
        add(job, smaller->name);
    }
  }
  return stages;
}

}  // namespace weft::model
