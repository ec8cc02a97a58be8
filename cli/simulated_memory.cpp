// See simulated_memory.h.
#include "cli/simulated_memory.h"

#include <algorithm>
#include <cstdio>

#include "cli/quantities.h"
#include "trace/read/printable.h"
#include "trace/totals.h"

namespace weft::cli {
namespace {

// One for all GPUs of a pipeline, or one for each.
CLI::callback_t sizes_into(std::vector<std::uint64_t>& target) {
  return [&target](const CLI::results_t& texts) {
    target.clear();
    for (const std::string& text : texts) bytes_into(target.emplace_back())({text});
    return true;
  };
}

std::string names_of(const model::StageMemory& stage, const std::vector<JobLengths>& jobs) {
  std::string names;
  for (std::size_t i = 0; i < stage.jobs.size(); ++i)
    names += (names.empty() ? "" : ", ") + printable(name_with_variant(jobs[stage.jobs[i]].name, stage.variants[i]));
  return names.empty() ? "none" : names;
}

std::optional<std::uint64_t> parse_memory(std::string_view text) {
  const std::optional<std::uint64_t> bytes = parse_bytes(text);
  return bytes && *bytes > 0 ? bytes : std::nullopt;
}

double gibibytes(std::uint64_t bytes) {
  return static_cast<double>(bytes) / (1ULL << 30);
}

}  // namespace

void add_memory_flags(CLI::App& app, model::SimulationOptions& options) {
  pipeline::ActivationOptions& activations = options.run.world.activations;
  const auto lists = [&](const char* name, std::vector<std::uint64_t>& into, const char* text, const char* usual) {
    app.add_option(name, sizes_into(into), text)
        ->type_name("BYTES[,...]")
        ->delimiter(',')
        ->expected(1, CLI::detail::expected_max_vector_size)
        ->default_str(usual);
  };
  app.add_option(
         "--gpu-memory", quantity_into(options.memory.gpu, parse_memory, "size of a memory; 80GB, 24GiB are"),
         "Memory of each GPU. A job that needs more than the training leaves does not run there. Without it all fit.")
      ->type_name("BYTES");
  lists("--parameter-bytes", options.memory.parameters,
        "Parameters, gradients and optimizer states of a GPU: one for all, or one for each of a pipeline.", "8GiB");
  lists("--activation-bytes", activations.bytes,
        "Of a microbatch in a stage, from its forward to its backward pass: likewise.", "512MiB");
  app.add_option("--memory-reserve", bytes_into(options.memory.reserve),
                 "Of each GPU, for contexts, NCCL and gaps between tensors.")
      ->type_name("BYTES")
      ->default_str("2GiB");
  app.add_option("--offload-bandwidth", rate_into(activations.offload_bandwidth),
                 "Of activations to the host, and likewise back, in a second; with pipeoffload only.")
      ->type_name("BYTES")
      ->default_str("25GB");
}

void print_memory(const std::vector<model::StageMemory>& stages, const std::vector<JobLengths>& jobs) {
  std::printf("\nstage  parameters  activations        free  jobs\n");
  for (std::size_t place = 0; place < stages.size(); ++place)
    std::printf("%5zu  %6.2f GiB   %6.2f GiB  %6.2f GiB  %s\n", place, gibibytes(stages[place].parameters),
                gibibytes(stages[place].activations), gibibytes(stages[place].free),
                names_of(stages[place], jobs).c_str());
  for (std::size_t job = 0; job < jobs.size(); ++job) {
    const auto has_it = [job](const model::StageMemory& stage) { return std::ranges::count(stage.jobs, job) != 0; };
    if (std::ranges::none_of(stages, has_it))
      std::printf("note: %s fits on no GPU\n", printable(jobs[job].name).c_str());
  }
}

nlohmann::ordered_json json_of_memory(const std::vector<model::StageMemory>& stages,
                                      const std::vector<JobLengths>& jobs, bool has_limit) {
  nlohmann::ordered_json all = nlohmann::ordered_json::array();
  for (const model::StageMemory& stage : stages) {
    nlohmann::ordered_json names = nlohmann::ordered_json::array();
    for (const std::size_t job : stage.jobs) names.push_back(jobs[job].name);
    nlohmann::ordered_json free = nullptr;
    if (has_limit) free = stage.free;
    all.push_back({{"parameter_bytes", stage.parameters},
                   {"activation_bytes", stage.activations},
                   {"peak_bytes", stage.parameters + stage.activations},
                   {"free_bytes", free},
                   {"jobs", names},
                   {"variants", stage.variants}});
  }
  return all;
}

}  // namespace weft::cli
