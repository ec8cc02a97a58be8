// An example of a pipeline-parallel trainer: a transformer over several GPUs with CUDA and NCCL. It knows nothing of
// Weft.
//
// One process per rank; each holds some transformer blocks, works through the program of its schedule in every
// iteration, and prints the loss (rank 0). See README.md for how to start it.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <fstream>
#include <iomanip>
#include <vector>

#include "communication.h"
#include "memory.h"
#include "model.h"
#include "options.h"
#include "process.h"
#include "schedule.h"
#include "text.h"

namespace trainer {
namespace {

using Clock = std::chrono::steady_clock;

struct History {
  std::vector<float> losses;
  std::vector<double> seconds;  // of each iteration, as the host sees it
};

class Training {
 public:
  Training(const Options& options, const Place& place, std::vector<Instruction> program, const Text& text,
           cudaStream_t compute)
      : options_(options),
        program_(std::move(program)),
        text_(text),
        compute_(compute),
        shape_{text.vocabulary(), options.hidden, options.heads, options.sequence, options.batch},
        model_(options, shape_, place.rank, place.ranks, compute),
        communication_(place, options.wait, options.schedule == ScheduleKind::interleaved,
                       static_cast<int>(program_.size()), compute),
        characters_(static_cast<std::size_t>(2 * options.microbatches * shape_.tokens())),
        totals_(2) {}

  // One iteration; returns the loss before its update. Ends with the host waiting for that number.
  float iterate(int iteration) {
    load_characters(iteration);
    model_.begin_iteration();
    for (const Instruction& instruction : program_) execute(instruction);
    model_.compute_norm();
    communication_.sum_over_ranks(model_.totals(), 2);
    CHECK(cudaMemcpyAsync(totals_.data(), model_.totals(), 2 * sizeof(float), cudaMemcpyDeviceToHost, compute_));
    model_.update(iteration + 1, options_.learning_rate);
    CHECK(cudaStreamSynchronize(compute_));
    return totals_[1];
  }

 private:
  void load_characters(int iteration) {
    const int tokens = shape_.tokens();
    const auto bytes = static_cast<std::size_t>(tokens) * sizeof(int);
    for (int m = 0; m < options_.microbatches; ++m) {
      int* inputs = characters_.data() + 2 * m * tokens;
      int* targets = inputs + tokens;
      text_.sample(options_.seed, iteration, m, options_.batch, inputs, targets);
      if (model_.has_first_stage())
        CHECK(cudaMemcpyAsync(model_.characters(m), inputs, bytes, cudaMemcpyHostToDevice, compute_));
      if (model_.has_last_stage())
        CHECK(cudaMemcpyAsync(model_.targets(m), targets, bytes, cudaMemcpyHostToDevice, compute_));
    }
  }

  void execute(const Instruction& i) {
    switch (i.kind) {
      case Instruction::Kind::forward:
        return model_.forward(i.chunk, i.microbatch);
      case Instruction::Kind::backward:
        return model_.backward(i.chunk, i.microbatch);
      case Instruction::Kind::wait:
        return communication_.wait(i.exchange);
      case Instruction::Kind::exchange:
        return communication_.exchange(i.exchange, i.lane, messages(i.sends, true), messages(i.receives, false),
                                       shape_.activation());
    }
  }

  std::vector<Communication::Message> messages(const std::vector<Transfer>& transfers, bool send) const {
    std::vector<Communication::Message> result;
    for (const Transfer& t : transfers) {
      const bool forward = t.direction == Direction::forward;
      float* data =
          send ? (forward ? model_.output(t.chunk, t.microbatch) : model_.input_gradient(t.chunk, t.microbatch))
               : (forward ? model_.input(t.chunk, t.microbatch) : model_.output_gradient(t.chunk, t.microbatch));
      result.push_back({data, t.peer});
    }
    return result;
  }

  Options options_;
  std::vector<Instruction> program_;
  const Text& text_;
  cudaStream_t compute_;
  Shape shape_;
  Model model_;
  Communication communication_;
  PinnedArray<int> characters_;
  PinnedArray<float> totals_;
};

void write_report(const std::string& directory, int rank, const History& history) {
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
  list("iteration_seconds", history.seconds, 9);
  file << "\n}\n";
  if (!file.flush()) std::fprintf(stderr, "trainer: %s cannot be written\n", path.c_str());
}

int train(const Options& options) {
  const Place place = place_of_this_process();
  std::vector<Instruction> program =
      make_program({options.schedule, place.ranks, options.microbatches, options.chunks}, place.rank);
  if (program.empty()) {
    std::fprintf(stderr,
                 "trainer: the interleaved schedule needs two ranks or more and a multiple of them as microbatches\n");
    return 2;
  }
  const Text text(options.text, options.sequence);
  int devices = 0;
  CHECK(cudaGetDeviceCount(&devices));
  CHECK(cudaSetDevice(place.local_rank % std::max(devices, 1)));
  cudaStream_t compute = nullptr;
  CHECK(cudaStreamCreateWithFlags(&compute, cudaStreamNonBlocking));
  History history;
  {
    Training training(options, place, std::move(program), text, compute);
    for (int iteration = 0; iteration < options.iterations; ++iteration) {
      const Clock::time_point start = Clock::now();
      history.losses.push_back(training.iterate(iteration));
      history.seconds.push_back(std::chrono::duration<double>(Clock::now() - start).count());
      if (place.rank != 0) continue;
      std::printf("iteration %d  loss %.9g  %.1f ms\n", iteration + 1, static_cast<double>(history.losses.back()),
                  1e3 * history.seconds.back());
      std::fflush(stdout);
    }
  }
  CHECK(cudaStreamDestroy(compute));
  if (!options.report.empty()) write_report(options.report, place.rank, history);
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
