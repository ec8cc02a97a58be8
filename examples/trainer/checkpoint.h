// The weights of a whole model in one .safetensors file, with the names and shapes of GPT-2: every rank writes its own
// part at its place.
//
// Used by training.cpp after the last iteration, on the one thread of the process. No CUDA. Throws std::runtime_error.
#pragma once

#include <string>
#include <vector>

namespace trainer {

struct NamedTensor {
  std::string name;
  std::vector<int> shape;
  std::vector<float> values{};  // none: another rank has them
};

// All tensors of the model, in the order in which they stand in the file.
std::vector<NamedTensor> tensors_of_gpt2(int vocabulary, int positions, int hidden, int layers);

// Before training: fails where the file could not be written after it.
void check_writable(const std::string& path, int rank);

// Writes the header, which all ranks write alike, and those that this rank has. `characters`: of the text, by number.
void write_part(const std::string& path, int rank, const std::vector<NamedTensor>& all,
                const std::vector<NamedTensor>& own, int heads, const std::string& characters);

// On rank 0, when all have written theirs: the file goes by its name, at once and whole. Ranks of several hosts need
// one folder for that: where one of them has written elsewhere it fails.
void publish(const std::string& part, const std::string& path, int ranks);

}  // namespace trainer
