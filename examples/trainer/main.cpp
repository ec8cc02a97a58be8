// An example of a pipeline-parallel trainer: a transformer over several GPUs with CUDA and NCCL. It knows nothing of
// Weft.
//
// One process per rank; each holds some transformer blocks, works through the program of its schedule in every
// iteration (training.cpp), and prints the loss (rank 0). With --peers sleep all ranks but one sleep (sleeper.cpp). See
// README.md for how to start it.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <fstream>
#include <iomanip>
#include <memory>
#include <vector>

#include "board.h"
#include "checkpoint.h"
#include "options.h"
#include "process.h"
#include "schedule.h"
#include "sleeper.h"
#include "text.h"
#include "training.h"

namespace trainer {
namespace {

using Clock = std::chrono::steady_clock;

struct History {
  std::vector<float> losses;
  std::vector<float> norms;     // squared norms of the gradient
  std::vector<double> seconds;  // of each iteration, as the host sees it
  Board::Times stage_time{};    // seconds that sleeping peers were told
};

// The exchanges of one iteration in the order of their calls, one NCCL group each.
void write_exchanges(std::ostream& file, const std::vector<Instruction>& program) {
  const char* between = "";
  const auto write = [&](const std::vector<Transfer>& transfers, const char* way, const char* separator) {
    for (const Transfer& t : transfers) {
      file << separator << "{\"way\": \"" << way << "\", \"payload\": \""
           << (t.direction == Direction::forward ? "activation" : "gradient") << "\", \"microbatch\": " << t.microbatch
           << ", \"chunk\": " << t.chunk << ", \"peer\": " << t.peer << "}";
      separator = ", ";
    }
  };
  file << "  \"exchanges\": [";
  for (const Instruction& instruction : program) {
    if (instruction.kind != Instruction::Kind::exchange) continue;
    file << between << "\n    [";
    write(instruction.sends, "send", "");
    write(instruction.receives, "receive", instruction.sends.empty() ? "" : ", ");
    file << "]";
    between = ",";
  }
  file << "]";
}

void write_report(const std::string& directory, int rank, const History& history,
                  const std::vector<Instruction>& program) {
  const std::string path = directory + "/rank" + std::to_string(rank) + ".json";
  std::ofstream file(path);
  const auto list = [&](const char* name, const auto& values, int digits) {
    file << "  \"" << name << "\": [" << std::setprecision(digits);
    for (std::size_t i = 0; i < values.size(); ++i) file << (i == 0 ? "" : ", ") << values[i];
    file << "]";
  };
  file << "{\n  \"rank\": " << rank << ",\n";
  list("losses", history.losses, 9);
  file << ",\n";
  list("gradient_norms", history.norms, 9);
  file << ",\n";
  list("iteration_seconds", history.seconds, 9);
  file << ",\n";
  list("stage_milliseconds", std::vector<double>{1e3 * history.stage_time.forward, 1e3 * history.stage_time.backward},
       9);
  file << ",\n";
  write_exchanges(file, program);
  file << "\n}\n";
  if (!file.flush()) std::fprintf(stderr, "trainer: %s cannot be written\n", path.c_str());
}

// Runs all iterations; `iterate` does one and returns the squared norm and the loss.
template <class Iterate>
History run_iterations(const Options& options, const Place& place, Iterate iterate) {
  History history;
  for (int iteration = 0; iteration < options.iterations; ++iteration) {
    const Clock::time_point start = Clock::now();
    const std::vector<float> sums = iterate(iteration);
    history.norms.push_back(sums[0]);
    history.losses.push_back(sums[1]);
    history.seconds.push_back(std::chrono::duration<double>(Clock::now() - start).count());
    if (place.rank != 0) continue;
    std::printf("iteration %d  loss %.9g  %.1f ms\n", iteration + 1, static_cast<double>(history.losses.back()),
                1e3 * history.seconds.back());
    std::fflush(stdout);
  }
  return history;
}

History compute_all(const Options& options, const Place& place, std::vector<Instruction> program, cudaStream_t stream) {
  const Text text(options.text, options.sequence);
  const bool peers_sleep = options.peers == Peers::sleep;
  std::unique_ptr<Board> board;
  if (peers_sleep && place.rank == 0) board = std::make_unique<Board>(place);
  Training training(options, place, std::move(program), text, stream);
  if (peers_sleep) {
    if (board == nullptr) board = std::make_unique<Board>(place);
    board->meet();
    training.show_progress_on(*board);
  }
  History history = run_iterations(options, place, [&](int iteration) { return training.iterate(iteration); });
  history.stage_time = training.stage_time();
  if (!options.save.empty()) training.save(options.save);
  return history;
}

History sleep_all(const Options& options, const Place& place, std::vector<Instruction> program, cudaStream_t stream) {
  std::unique_ptr<Board> board;
  if (place.rank == 0) board = std::make_unique<Board>(place);
  const int activation = options.sequence * options.batch * options.hidden;
  Sleeper sleeper(options, place, std::move(program), activation, stream);
  if (board == nullptr) board = std::make_unique<Board>(place);
  board->meet();
  sleeper.learn_times(*board);
  return run_iterations(options, place, [&](int iteration) { return sleeper.iterate(iteration); });
}

int train(const Options& options) {
  const Place place = place_of_this_process();
  const std::vector<Instruction> program =
      make_program({options.schedule, place.ranks, options.microbatches, options.chunks}, place.rank);
  if (program.empty()) {
    std::fprintf(stderr,
                 "trainer: the interleaved schedule needs two ranks or more and a multiple of them as microbatches\n");
    return 2;
  }
  if (options.peers == Peers::sleep && options.stage >= place.ranks) {
    std::fprintf(stderr, "trainer: there is no stage %d among %d ranks\n", options.stage, place.ranks);
    return 2;
  }
  int devices = 0;
  CHECK(cudaGetDeviceCount(&devices));
  CHECK(cudaSetDevice(place.local_rank % std::max(devices, 1)));
  cudaStream_t stream = nullptr;
  CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  if (!options.save.empty()) check_writable(options.save + ".part", place.rank);
  const bool sleeps = options.peers == Peers::sleep && options.stage != place.rank;
  const History history = (sleeps ? sleep_all : compute_all)(options, place, program, stream);
  CHECK(cudaStreamDestroy(stream));
  if (!options.report.empty()) write_report(options.report, place.rank, history, program);
  return 0;
}

}  // namespace
}  // namespace trainer

int main(int argc, char** argv) {
  const trainer::Options options = trainer::parse_command_line(argc, argv);
  // Kernels are loaded before the first receive is posted: a lazy load would wait for the GPU to be idle.
  setenv("CUDA_MODULE_LOADING", "EAGER", 0);
  // The interleaved schedule uses five communicators with two streams each. With the default of 8 hardware queues some
  // share one, and a stream that waits for an event would hold up an unrelated one: across ranks that is a deadlock.
  setenv("CUDA_DEVICE_MAX_CONNECTIONS", "32", 0);
  try {
    if (options.launch > 0 && std::getenv("TRAINER_RENDEZVOUS") == nullptr)
      return trainer::launch(options.launch, argv);
    return trainer::train(options);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "trainer: %s\n", error.what());
    return 1;
  }
}
