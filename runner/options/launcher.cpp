// See launcher.h.
#include "runner/options/launcher.h"

#include <unistd.h>

#include <array>
#include <limits>

#include "runner/options/quantity.h"

namespace weft {
namespace {

// Names that launchers give to the rank of a process and to the number of processes.
struct LauncherNames {
  const char* rank;
  const char* ranks;  // nullptr: it says nothing of it
};
constexpr std::array launchers{LauncherNames{"RANK", "WORLD_SIZE"},
                               LauncherNames{"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"},
                               LauncherNames{"PMIX_RANK", nullptr},
                               LauncherNames{"PMI_RANK", "PMI_SIZE"},
                               LauncherNames{"MV2_COMM_WORLD_RANK", "MV2_COMM_WORLD_SIZE"},
                               LauncherNames{"SLURM_PROCID", "SLURM_NTASKS"}};

std::optional<int> number_in(const Variables& variables, const char* name) {
  const auto found = name == nullptr ? variables.end() : variables.find(name);
  const auto value = found == variables.end() ? std::nullopt : parse_count(found->second);
  if (!value || *value > std::numeric_limits<int>::max()) return std::nullopt;
  return static_cast<int>(*value);
}

const LauncherNames* launcher_of(const Variables& variables) {
  for (const LauncherNames& launcher : launchers)
    if (number_in(variables, launcher.rank)) return &launcher;
  return nullptr;
}

// The launcher that sets such a variable, by the beginning of its name, "" for torchrun; nothing: no launcher does.
std::optional<std::string_view> family_of(std::string_view variable) {
  for (const char* beginning : {"OMPI_", "PMIX_", "PMI_", "MV2_", "SLURM_", "MPI_"})
    if (variable.starts_with(beginning)) return beginning;
  const bool is_of_torchrun = variable == "RANK" || variable == "WORLD_SIZE" || variable.ends_with("_RANK") ||
                              variable.ends_with("_WORLD_SIZE") || variable.starts_with("TORCHELASTIC_");
  return is_of_torchrun ? std::optional<std::string_view>("") : std::nullopt;
}

}  // namespace

std::optional<int> launcher_rank(const Variables& variables) {
  const LauncherNames* const launcher = launcher_of(variables);
  return launcher == nullptr ? std::nullopt : number_in(variables, launcher->rank);
}

bool may_come_from_launcher(std::string_view variable, const Variables& variables) {
  const std::optional<std::string_view> family = family_of(variable);
  const LauncherNames* const launcher = launcher_of(variables);
  return family && (launcher == nullptr || family != family_of(launcher->rank));
}

JobPlace place_in_job(const Variables& variables, const JobPlace& in_communicator) {
  const LauncherNames* const launcher = launcher_of(variables);
  if (launcher == nullptr) return in_communicator;
  const int rank = *number_in(variables, launcher->rank);
  const int ranks = number_in(variables, launcher->ranks).value_or(std::max(in_communicator.ranks, rank) + 1);
  // With as many ranks as the launcher has, a communicator spans the job; with more, a process drives several GPUs.
  if (ranks <= in_communicator.ranks || rank >= ranks) return in_communicator;
  return {rank, launcher->ranks == nullptr ? std::max(in_communicator.ranks, rank + 1) : ranks};
}

std::string job_id(const std::string& asked_for, const Variables& variables) {
  if (!asked_for.empty()) return asked_for;
  for (const char* name : {"SLURM_JOB_ID", "PBS_JOBID", "LSB_JOBID", "TORCHELASTIC_RUN_ID"}) {
    const auto found = variables.find(name);
    // torchrun without a rendezvous id says "none".
    if (found != variables.end() && !found->second.empty() && found->second != "none") return found->second;
  }
  return std::to_string(::getppid());
}

}  // namespace weft
