// Command line of the trainer. See options.h.
#include "options.h"

#include <CLI/CLI.hpp>
#include <cstdlib>
#include <iostream>
#include <map>

namespace trainer {
namespace {

// --size real: matrix products that keep a large GPU busy; about 30 GB of device memory per rank.
struct RealSize {
  int hidden = 2048, heads = 16, sequence = 1024, batch = 4, layers = 4;
};

void make_real(const CLI::App& app, Options& options) {
  const auto set = [&](const char* name, int& value, int real) {
    if (app.count(name) == 0) value = real;
  };
  constexpr RealSize real;
  set("--hidden", options.hidden, real.hidden);
  set("--heads", options.heads, real.heads);
  set("--sequence", options.sequence, real.sequence);
  set("--batch", options.batch, real.batch);
  set("--layers", options.layers_per_chunk, real.layers);
  if (app.count("--precision") == 0) options.precision = Precision::bf16;
  if (app.count("--learning-rate") == 0) options.learning_rate = 1e-4F;
}

void check_together(const Options& options) {
  if (options.hidden % options.heads != 0) throw CLI::ValidationError("--hidden must be a multiple of --heads");
  if (options.schedule == ScheduleKind::interleaved && options.wait == WaitKind::in_stream)
    throw CLI::ValidationError(
        "--wait in-stream does not go with the interleaved schedule: its receives are posted ahead");
  if (!options.stage_time.empty() && options.stage_time.size() != 2)
    throw CLI::ValidationError("--stage-time wants two numbers: of a forward and of a backward");
}

}  // namespace

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
  const std::map<std::string, WaitKind> waits{{"event", WaitKind::event},
                                              {"in-stream", WaitKind::in_stream},
                                              {"host", WaitKind::host},
                                              {"event-and-host", WaitKind::event_and_host}};
  const std::map<std::string, Precision> precisions{{"float32", Precision::float32}, {"bf16", Precision::bf16}};
  const std::map<std::string, Peers> peers{{"real", Peers::real}, {"sleep", Peers::sleep}};
  const std::map<std::string, bool> sizes{{"small", false}, {"real", true}};
  bool real_size = false;
  app.add_option("--schedule", options.schedule, "gpipe, 1f1b or interleaved")
      ->transform(CLI::CheckedTransformer(schedules).description(""));
  app.add_option("--wait", options.wait, "how a stage waits for a receive: event, in-stream, host or event-and-host")
      ->transform(CLI::CheckedTransformer(waits).description(""));
  app.add_option("--microbatches", options.microbatches, "microbatches per iteration")->check(CLI::PositiveNumber);
  app.add_option("--iterations", options.iterations, "iterations to train")->check(CLI::PositiveNumber);
  app.add_option("--chunks", options.chunks, "model chunks per rank (interleaved)")->check(CLI::PositiveNumber);
  app.add_option("--layers", options.layers_per_chunk, "transformer blocks per chunk")->check(CLI::PositiveNumber);
  app.add_option("--hidden", options.hidden, "width of the model")->check(CLI::PositiveNumber);
  app.add_option("--heads", options.heads, "attention heads")->check(CLI::PositiveNumber);
  app.add_option("--sequence", options.sequence, "characters per sequence")->check(CLI::PositiveNumber);
  app.add_option("--batch", options.batch, "sequences per microbatch")->check(CLI::PositiveNumber);
  app.add_option("--precision", options.precision, "of the operands of matrix products: float32 or bf16 (tensor cores)")
      ->transform(CLI::CheckedTransformer(precisions).description(""));
  app.add_option("--size", real_size,
                 "small, or real: a width of 2048, sequences of 1024 and bf16, where not said otherwise")
      ->transform(CLI::CheckedTransformer(sizes).description(""));
  app.add_option("--peers", options.peers,
                 "real, or sleep: one stage computes, the other ranks sleep as long as it would")
      ->transform(CLI::CheckedTransformer(peers).description(""));
  app.add_option("--stage", options.stage, "the rank that computes while its peers sleep")
      ->check(CLI::NonNegativeNumber);
  app.add_option("--stage-time", options.stage_time,
                 "milliseconds of a forward and of a backward for peers that sleep; as measured when it is not given")
      ->delimiter(',')
      ->check(CLI::PositiveNumber);
  app.add_option("--learning-rate", options.learning_rate, "step of the Adam optimizer")->check(CLI::PositiveNumber);
  app.add_option("--seed", options.seed, "seed of the weights and of the batches");
  app.add_option("--text", options.text, "file to learn from")->check(CLI::ExistingFile);
  app.add_option("--launch", options.launch, "start that many ranks on this machine")->check(CLI::PositiveNumber);
  app.add_flag("--annotate", options.annotate, "say to Weft which iteration, stage and microbatch this is");
  app.add_option("--report", options.report, "directory for one JSON file per rank: losses and iteration times");
  try {
    app.parse(argc, argv);
    if (real_size) make_real(app, options);
    check_together(options);
  } catch (const CLI::ParseError& error) {
    std::exit(app.exit(error));
  }
  if (options.schedule != ScheduleKind::interleaved) options.chunks = 1;
  return options;
}

}  // namespace trainer
