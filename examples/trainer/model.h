// The transformer blocks that one rank holds (its chunks), their weights, and forward and backward through them.
//
// Used by training.cpp on one thread. Everything is enqueued onto the compute stream; all memory is allocated in the
// constructor, enough to keep the activations of all microbatches of an iteration.
#pragma once

#include <memory>
#include <vector>

#include "checkpoint.h"
#include "kernels.h"
#include "memory.h"
#include "options.h"

namespace trainer {

struct Shape {
  int vocabulary, hidden, heads, sequence, batch;
  int tokens() const { return sequence * batch; }
  int activation() const { return tokens() * hidden; }  // floats that go from stage to stage
};

class Model {
 public:
  Model(const Options& options, const Shape& shape, int rank, int ranks, cudaStream_t stream);
  ~Model();

  // The tensors that cross stage boundaries, for a microbatch of a chunk.
  float* input(int chunk, int microbatch) const;
  float* output(int chunk, int microbatch) const;
  float* input_gradient(int chunk, int microbatch) const;
  float* output_gradient(int chunk, int microbatch) const;

  // Characters of a microbatch on the device: inputs on the first stage, targets on the last.
  int* characters(int microbatch) const;
  int* targets(int microbatch) const;

  bool has_first_stage() const { return first_; }
  bool has_last_stage() const { return last_; }

  void begin_iteration();  // clears the gradients and the loss
  void forward(int chunk, int microbatch);
  void backward(int chunk, int microbatch);

  // Two floats: the squared norm of this rank's gradient and its part of the loss. To be summed over all ranks.
  float* totals() const;
  void compute_norm();
  // Applies the gradients, scaled down when the whole model's norm, found in totals()[0], is too large.
  void update(int step, float learning_rate);

  // Of this rank, by the names of GPT-2, copied to the host. Nothing is under way.
  std::vector<NamedTensor> weights() const;

 private:
  struct Block;
  struct Chunk;
  class Weights;
  void allocate_activations(Chunk& chunk) const;
  // Products and attention with the precision that the options ask for.
  void multiply(const kernels::Product& product) const;
  void attend(const float* qkv, float* weights, float* out) const;
  void attend_backward(const float* qkv, const float* weights, const float* gradient, float* scores,
                       float* qkv_gradient) const;
  void forward_block(const Block& block, int microbatch, const float* in, float* out);
  void backward_block(const Block& block, int microbatch, const float* in, const float* gradient, float* in_gradient);

  Shape shape_;
  int microbatches_;
  Precision precision_;
  cudaStream_t stream_;
  bool first_, last_;
  int count_ = 0;  // parameters of this rank
  DeviceArray<float> parameters_, gradients_, first_moment_, second_moment_;
  DeviceArray<float> scratch_, totals_, partials_;
  DeviceArray<int> characters_, targets_;
  DeviceArray<float> row_loss_;
  std::vector<Chunk> chunks_;
};

}  // namespace trainer
