// Command line of the trainer. See options.h.
#include "options.h"

#include <CLI/CLI.hpp>
#include <cstdlib>
#include <iostream>
#include <map>

namespace trainer {

Options parse_command_line(int argc, char** argv) {
  Options options;
  options.text = TRAINER_DEFAULT_TEXT;
  CLI::App app{
      "Trains a small transformer on the characters of a text file, pipeline-parallel over NCCL.\n"
      "Start it with --launch N, or with torchrun, mpirun or srun (one process per rank).",
      "trainer"};
  app.option_defaults()->always_capture_default();
  const std::map<std::string, ScheduleKind> schedules{
      {"gpipe", ScheduleKind::gpipe}, {"1f1b", ScheduleKind::one_f_one_b}, {"interleaved", ScheduleKind::interleaved}};
  const std::map<std::string, WaitKind> waits{
      {"event", WaitKind::event}, {"in-stream", WaitKind::in_stream}, {"host", WaitKind::host}};
  app.add_option("--schedule", options.schedule, "gpipe, 1f1b or interleaved")
      ->transform(CLI::CheckedTransformer(schedules).description(""));
  app.add_option("--wait", options.wait, "how a stage waits for a receive: event, in-stream or host")
      ->transform(CLI::CheckedTransformer(waits).description(""));
  app.add_option("--microbatches", options.microbatches, "microbatches per iteration")->check(CLI::PositiveNumber);
  app.add_option("--iterations", options.iterations, "iterations to train")->check(CLI::PositiveNumber);
  app.add_option("--chunks", options.chunks, "model chunks per rank (interleaved)")->check(CLI::PositiveNumber);
  app.add_option("--layers", options.layers_per_chunk, "transformer blocks per chunk")->check(CLI::PositiveNumber);
  app.add_option("--hidden", options.hidden, "width of the model")->check(CLI::PositiveNumber);
  app.add_option("--heads", options.heads, "attention heads")->check(CLI::PositiveNumber);
  app.add_option("--sequence", options.sequence, "characters per sequence")->check(CLI::PositiveNumber);
  app.add_option("--batch", options.batch, "sequences per microbatch")->check(CLI::PositiveNumber);
  app.add_option("--learning-rate", options.learning_rate, "step of the Adam optimizer")->check(CLI::PositiveNumber);
  app.add_option("--seed", options.seed, "seed of the weights and of the batches");
  app.add_option("--text", options.text, "file to learn from")->check(CLI::ExistingFile);
  app.add_option("--launch", options.launch, "start that many ranks on this machine")->check(CLI::PositiveNumber);
  app.add_option("--report", options.report, "directory for one JSON file per rank: losses and iteration times");
  try {
    app.parse(argc, argv);
    if (options.hidden % options.heads != 0) throw CLI::ValidationError("--hidden must be a multiple of --heads");
    if (options.schedule == ScheduleKind::interleaved && options.wait == WaitKind::in_stream)
      throw CLI::ValidationError(
          "--wait in-stream does not go with the interleaved schedule: its receives are posted ahead");
  } catch (const CLI::ParseError& error) {
    std::exit(app.exit(error));
  }
  if (options.schedule != ScheduleKind::interleaved) options.chunks = 1;
  return options;
}

}  // namespace trainer
