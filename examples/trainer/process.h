// Which rank this process is, how the ranks find one another, and the small launcher that starts them. No CUDA.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace trainer {

struct Place {
  int rank = 0;
  int ranks = 1;
  int local_rank = 0;
};

// From RANK/WORLD_SIZE/LOCAL_RANK (torchrun, our launcher), OMPI_COMM_WORLD_*, PMI_*, or SLURM_*; one rank otherwise.
Place place_of_this_process();

// Where the ranks find one another: TRAINER_RENDEZVOUS (set by our launcher), or a name made from the job id of the
// launcher in the directory for temporary files. The same for all ranks of a run.
std::string rendezvous_file();

// Rank 0 gives `bytes` to all others; the others get them, through that file. Waits at most a minute; throws
// std::runtime_error when nothing came.
std::vector<std::byte> share_from_rank_0(const Place& place, std::vector<std::byte> bytes);

// Starts `ranks` processes of this program with the same arguments and waits for them. When one fails, or this process
// is told to stop, the others are ended. Returns the exit code for main().
int launch(int ranks, char** argv);

}  // namespace trainer
