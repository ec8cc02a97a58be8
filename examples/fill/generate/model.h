// One GPT-2 of the decoding job, the model itself or a draft: its weights, keys and values of the texts, and the
// kernels that compute rows of tokens.
//
// Made in init() of the job, recorded in record_unit(); on one thread at a time, nothing here waits for the GPU.
#pragma once

#include <string>
#include <vector>

#include "../taking.h"
#include "kernels.h"

namespace generate {

// Numbers of rows that all models of the job use one after the other.
struct Work {
  float *x = nullptr, *normal = nullptr, *scores = nullptr, *mixed = nullptr, *inner = nullptr, *logits = nullptr;
  Best *parts = nullptr, *best = nullptr;
};

class Model {
 public:
  // Weights by the names of GPT-2, as the trainer and Hugging Face save them, with `prefix` before them.
  Model(fill::Taking& take, const std::string& prefix, int heads);
  void take_memory(fill::Taking& take, int lanes, int stride);
  static bool is_in_weights(const fill::Taking& take, const std::string& prefix);

  const Shape& shape() const { return shape_; }
  // Keys and values of these rows, and what stands behind the last layer in work.x.
  void record(const Launch& to, const Rows& rows, const Work& work) const;
  // Of rows that were computed: the most likely next tokens, in work.best.
  void record_best(const Launch& to, const Rows& rows, const Work& work) const;
  // Those that have become text.
  void record_keep(const Launch& to, const Kept& kept) const;

 private:
  struct Norm {
    const float *gain, *bias;
  };
  struct Product {
    const float *weight, *bias;
  };
  struct Layer {
    Norm norm1, norm2;
    Product qkv, projection, up, down;
  };
  void record_layer(const Launch& to, const Rows& rows, const Work& work, int number) const;
  std::int64_t layer_of_rows() const { return 3LL * lanes_ * stride_ * shape_.hidden; }
  std::int64_t layer_of_cache() const { return 2LL * lanes_ * shape_.positions * shape_.hidden; }

  Shape shape_;
  int lanes_ = 0, stride_ = 0;
  const float *table_ = nullptr, *positions_ = nullptr, *head_ = nullptr;
  std::vector<Layer> layers_;
  Norm last_{};
  float *rows_ = nullptr, *cache_ = nullptr;
};

}  // namespace generate
