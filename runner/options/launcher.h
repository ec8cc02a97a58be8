// The place of this process in its job, from the variables that launchers and schedulers set.
//
// Used by the core on a main-job thread, and by the weft command. Pure but for job_id(), which asks for the parent
// process.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "runner/options/variables.h"

namespace weft {

// A rank and how many there are.
struct JobPlace {
  int rank = 0;
  int ranks = 0;
};
// The rank that a launcher gave this process: from RANK (torchrun), else that of Open MPI, PMIx, PMI, MVAPICH, Slurm,
// in this order. Nothing when none is set.
std::optional<int> launcher_rank(const Variables& variables);
// By its name a launcher sets it: it is not there yet where that is started. Below a launcher only those of another one
// may come: torchrun in a Slurm step, for example.
bool may_come_from_launcher(std::string_view variable, const Variables& variables);
// The place in the whole job. The first communicator usually spans it; only one that is smaller than what the launcher
// started knows less than the launcher.
JobPlace place_in_job(const Variables& variables, const JobPlace& in_communicator);

// The same for all ranks of one launch: `asked_for` (WEFT_JOB), else what a scheduler or torchrun says, else the
// process that started this one.
std::string job_id(const std::string& asked_for, const Variables& variables);

}  // namespace weft
