// Command line of the trainer. See options.h.
#include "options.h"

#include <CLI/CLI.hpp>
#include <cmath>
#include <cstdlib>
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

// CLI11's own checks say their bounds with 300 digits, and the numbers behind the names of a choice.
template <class Number>
CLI::Validator above_zero(const char* kind) {
  return CLI::Validator(
      [kind](std::string& text) -> std::string {
        Number value{};
        const bool good = CLI::detail::lexical_cast(text, value) && std::isfinite(value) && value > 0;
        return good ? "" : "'" + text + "' is not a " + kind + " above 0";
      },
      "");
}

template <class Value>
CLI::Validator one_of(const std::map<std::string, Value>& choices) {
  return CLI::Validator(
      [choices](std::string& text) -> std::string {
        if (const auto chosen = choices.find(text); chosen != choices.end()) {
          text = std::to_string(static_cast<int>(chosen->second));
          return "";
        }
        std::string names;
        for (const auto& [name, value] : choices) names += (names.empty() ? "" : ", ") + name;
        return "'" + text + "' is none of " + names;
      },
      "");
}

std::string in_one_line(const CLI::App* /*app*/, const CLI::Error& error) {
  return std::string("trainer: ") + error.what() + " (see trainer --help)\n";
}

void check_together(const Options& options) {
  if (options.hidden % options.heads != 0) throw CLI::ValidationError("--hidden must be a multiple of --heads");
  if (options.schedule == ScheduleKind::interleaved && options.wait == WaitKind::in_stream)
    throw CLI::ValidationError(
        "--wait in-stream does not go with the interleaved schedule: its receives are posted ahead");
  if (options.peers == Peers::sleep && !options.save.empty())
    throw CLI::ValidationError("--save does not go with --peers sleep: only one stage has weights");
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
  app.failure_message(in_one_line);
  const CLI::Validator count = above_zero<int>("whole number"), number = above_zero<double>("number");
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
  app.add_option("--schedule", options.schedule, "gpipe, 1f1b or interleaved")->transform(one_of(schedules));
  app.add_option("--wait", options.wait, "how a stage waits for a receive: event, in-stream, host or event-and-host")
      ->transform(one_of(waits));
  app.add_option("--microbatches", options.microbatches, "microbatches per iteration")->check(count);
  app.add_option("--iterations", options.iterations, "iterations to train")->check(count);
  app.add_option("--chunks", options.chunks, "model chunks per rank (interleaved)")->check(count);
  app.add_option("--layers", options.layers_per_chunk, "transformer blocks per chunk")->check(count);
  app.add_option("--hidden", options.hidden, "width of the model")->check(count);
  app.add_option("--heads", options.heads, "attention heads")->check(count);
  app.add_option("--sequence", options.sequence, "characters per sequence")->check(count);
  app.add_option("--batch", options.batch, "sequences per microbatch")->check(count);
  app.add_option("--precision", options.precision, "of the operands of matrix products: float32 or bf16 (tensor cores)")
      ->transform(one_of(precisions));
  app.add_option("--size", real_size,
                 "small, or real: a width of 2048, sequences of 1024 and bf16, where not said otherwise")
      ->transform(one_of(sizes));
  app.add_option("--peers", options.peers,
                 "real, or sleep: one stage computes, the other ranks sleep as long as it would")
      ->transform(one_of(peers));
  app.add_option("--stage", options.stage, "the rank that computes while its peers sleep")
      ->check(CLI::NonNegativeNumber);
  app.add_option("--stage-time", options.stage_time,
                 "milliseconds of a forward and of a backward for peers that sleep; as measured when it is not given")
      ->delimiter(',')
      ->check(number);
  app.add_option("--learning-rate", options.learning_rate, "step of the Adam optimizer")->check(number);
  app.add_option("--seed", options.seed, "seed of the weights and of the batches");
  app.add_option("--text", options.text, "file to learn from")->check(CLI::ExistingFile);
  app.add_option("--launch", options.launch, "start that many ranks on this machine")->check(count);
  app.add_flag("--annotate", options.annotate, "say to Weft which iteration, stage and microbatch this is");
  app.add_option("--report", options.report,
                 "directory for one JSON file per rank: losses, iteration times, messages of an iteration");
  app.add_option("--save", options.save, "file for the trained weights: .safetensors, with the names of GPT-2");
  try {
    app.parse(argc, argv);
    if (real_size) make_real(app, options);
    check_together(options);
  } catch (const CLI::ParseError& error) {
    std::exit(app.exit(error) == 0 ? 0 : 2);  // 0: the help was asked for
  }
  if (options.schedule != ScheduleKind::interleaved) options.chunks = 1;
  return options;
}

}  // namespace trainer
