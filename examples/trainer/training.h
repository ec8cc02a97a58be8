// A rank that computes: it works through the program of its schedule, iteration after iteration.
//
// Made and called by main.cpp on the one thread of the process; everything it needs is allocated in the constructor.
#pragma once

#include <string>
#include <vector>

#include "board.h"
#include "communication.h"
#include "memory.h"
#include "model.h"
#include "options.h"
#include "schedule.h"
#include "text.h"

namespace trainer {

class Training {
 public:
  Training(const Options& options, const Place& place, std::vector<Instruction> program, const Text& text,
           cudaStream_t compute);

  // For peers that sleep: tells them how long computing takes, and from then on how far it has got.
  void show_progress_on(Board& board);
  // The time that it gave them; zero without such peers.
  const Board::Times& stage_time() const { return stage_time_; }

  // One iteration; returns what was summed over all ranks before the update: squared norm of the gradient, loss. Ends
  // with the host waiting for these.
  std::vector<float> iterate(int iteration);

  // The weights of all ranks into one file, which is there when all have written theirs.
  void save(const std::string& path);

 private:
  void load_characters(int iteration);
  void execute(const Instruction& i);
  void annotate(const Instruction& i);
  std::vector<Communication::Message> messages(const std::vector<Transfer>& transfers, bool send) const;
  Board::Times measure_times();
  void computed_one();

  Options options_;
  int rank_, ranks_;
  std::vector<Instruction> program_;
  const Text& text_;
  cudaStream_t compute_;
  Shape shape_;
  Model model_;
  Communication communication_;
  PinnedArray<int> characters_;
  PinnedArray<float> totals_;
  unsigned long long* progress_ = nullptr;  // device address of this rank's count; null: nobody looks
  unsigned long long computed_ = 0;
  Board::Times stage_time_{};
  int microbatch_ = 0;  // the one annotated last
};

}  // namespace trainer
