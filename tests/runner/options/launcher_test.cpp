// The place in the job, and the job id, from the variables of launchers and schedulers.
#include "runner/options/launcher.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <string>
#include <utility>

namespace weft {
namespace {

TEST(Launcher, JobIdComesFromTheSchedulerElseFromTheParent) {
  EXPECT_EQ(job_id("", {{"SLURM_JOB_ID", "481"}, {"TORCHELASTIC_RUN_ID", "x"}}), "481");
  EXPECT_EQ(job_id("", {{"PBS_JOBID", "12.server"}}), "12.server");
  EXPECT_EQ(job_id("", {{"LSB_JOBID", "77"}}), "77");
  EXPECT_EQ(job_id("", {{"TORCHELASTIC_RUN_ID", "run"}}), "run");
  EXPECT_EQ(job_id("", {{"TORCHELASTIC_RUN_ID", "none"}}), std::to_string(::getppid()));
  EXPECT_EQ(job_id("", {}), std::to_string(::getppid()));
  EXPECT_EQ(job_id("mine", {{"SLURM_JOB_ID", "481"}}), "mine");
}

TEST(JobPlace, IsTheCommunicatorsWithoutALauncher) {
  const JobPlace place = place_in_job({}, {1, 4});
  EXPECT_EQ(place.rank, 1);
  EXPECT_EQ(place.ranks, 4);
}

TEST(JobPlace, IsTheLaunchersWhenItStartedMore) {
  for (const auto& [rank, ranks] : {std::pair{"RANK", "WORLD_SIZE"},
                                    {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"},
                                    {"PMI_RANK", "PMI_SIZE"},
                                    {"MV2_COMM_WORLD_RANK", "MV2_COMM_WORLD_SIZE"},
                                    {"SLURM_PROCID", "SLURM_NTASKS"}}) {
    const JobPlace place = place_in_job({{rank, "6"}, {ranks, "8"}}, {0, 2});
    EXPECT_EQ(place.rank, 6) << rank;
    EXPECT_EQ(place.ranks, 8) << rank;
  }
  EXPECT_EQ(place_in_job({{"PMIX_RANK", "6"}}, {0, 2}).rank, 6);
  EXPECT_EQ(place_in_job({{"PMIX_RANK", "6"}}, {0, 2}).ranks, 7);  // at least
}

TEST(JobPlace, IsTheCommunicatorsWhenItSpansTheJobOrMore) {
  EXPECT_EQ(place_in_job({{"RANK", "6"}, {"WORLD_SIZE", "8"}}, {3, 8}).rank, 3);
  // One process that drives four devices.
  EXPECT_EQ(place_in_job({{"SLURM_PROCID", "0"}, {"SLURM_NTASKS", "1"}}, {3, 4}).rank, 3);
}

TEST(JobPlace, RanksAreLookedForInAFixedOrder) {
  const Variables all{{"RANK", "1"},     {"OMPI_COMM_WORLD_RANK", "2"}, {"PMIX_RANK", "3"},
                      {"PMI_RANK", "4"}, {"MV2_COMM_WORLD_RANK", "5"},  {"SLURM_PROCID", "6"}};
  Variables left = all;
  int expected = 1;
  for (const char* name :
       {"RANK", "OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK", "MV2_COMM_WORLD_RANK", "SLURM_PROCID"}) {
    EXPECT_EQ(launcher_rank(left), expected++);
    left.erase(name);
  }
  EXPECT_EQ(launcher_rank(left), std::nullopt);
}

TEST(JobPlace, VariablesOfRanksAreKnownByTheirNames) {
  for (const char* name : {"RANK", "LOCAL_RANK", "GROUP_RANK", "WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK", "PMI_SIZE",
                           "PMIX_RANK", "MV2_COMM_WORLD_SIZE", "SLURM_LOCALID", "SLURM_NODEID", "LOCAL_WORLD_SIZE",
                           "TORCHELASTIC_RUN_ID", "MPI_LOCALRANKID"})
    EXPECT_TRUE(may_come_from_launcher(name, {})) << name;
  for (const char* name : {"SCRATCH", "HOME", "USER", "FRANKS_FOLDER", "PBS_O_WORKDIR"})
    EXPECT_FALSE(may_come_from_launcher(name, {})) << name;
}

TEST(JobPlace, BelowALauncherOnlyVariablesOfAnotherOneMayCome) {
  const Variables slurm{{"SLURM_PROCID", "0"}}, torchrun{{"RANK", "0"}};
  EXPECT_TRUE(may_come_from_launcher("LOCAL_RANK", slurm));
  EXPECT_FALSE(may_come_from_launcher("SLURM_LOCALID", slurm));
  EXPECT_FALSE(may_come_from_launcher("LOCAL_RANK", torchrun));
}

TEST(JobPlace, AMalformedRankIsNone) {
  EXPECT_EQ(launcher_rank({{"RANK", "two"}, {"PMI_RANK", "-1"}, {"SLURM_PROCID", "5"}}), 5);
  EXPECT_EQ(place_in_job({{"RANK", "9"}, {"WORLD_SIZE", "8"}}, {1, 2}).rank, 1);
}

}  // namespace
}  // namespace weft
