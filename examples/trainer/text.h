// The text that is learned: its characters as numbers, and which piece of it each microbatch sees. No CUDA.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace trainer {

class Text {
 public:
  // Reads the file. Throws std::runtime_error when it cannot be read or is shorter than one sequence.
  Text(const std::string& path, int sequence);

  int vocabulary() const { return static_cast<int>(alphabet_.size()); }
  const std::string& alphabet() const { return alphabet_; }  // the characters by their number

  // Fills `batch` sequences of inputs and of targets (the next character) for one microbatch of one iteration; the same
  // arguments give the same text in every process.
  void sample(unsigned seed, int iteration, int microbatch, int batch, int* inputs, int* targets) const;

 private:
  int sequence_;
  std::string alphabet_;
  std::vector<int> characters_;
};

}  // namespace trainer
