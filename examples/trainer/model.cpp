// Weights, activations, forward and backward of one rank's chunks. See model.h.
#include "model.h"

#include <cmath>
#include <limits>
#include <random>
#include <stdexcept>

namespace trainer {
namespace {

// A weight and its gradient: the same place in two arrays of the rank's parameters.
struct Weight {
  float* value = nullptr;
  float* gradient = nullptr;
};

// Deals out one array of floats, piece by piece.
class Cutter {
 public:
  explicit Cutter(float* base) : base_(base) {}
  float* take(int count) {
    float* piece = base_ + used_;
    used_ += count;
    return piece;
  }

 private:
  float* base_;
  std::ptrdiff_t used_ = 0;
};

// Kernels count in int: what is allocated at once must not have more floats than that.
int checked(long long floats) {
  if (floats > std::numeric_limits<int>::max()) throw std::runtime_error("the model is too large for one rank");
  return static_cast<int>(floats);
}

long long block_parameters(long long d) {
  return 12 * d * d + 13 * d;
}

// Weights of all heads of a microbatch.
long long attention_floats(const Shape& s) {
  return static_cast<long long>(s.batch) * s.heads * s.sequence * s.sequence;
}

// Scratch floats of one backward pass through a block.
int scratch_floats(const Shape& s) {
  return checked(14LL * s.tokens() * s.hidden + attention_floats(s));
}

}  // namespace

struct Model::Block {
  Weight norm1_gamma, norm1_beta, qkv, qkv_bias, projection, projection_bias;
  Weight norm2_gamma, norm2_beta, up, up_bias, down, down_bias;
  // Activations that backward needs, one per microbatch.
  struct Saved {
    float *normal1, *mean1, *deviation1, *qkv, *weights, *attended, *middle;
    float *normal2, *mean2, *deviation2, *raised, *activated;
  };
  std::vector<Saved> saved;
};

struct Model::Chunk {
  int stage = 0;                     // of the model
  bool first = false, last = false;  // holds the first / the last stage of the model
  std::vector<Block> blocks;
  Weight table, positions;                              // first
  Weight norm_gamma, norm_beta, head;                   // last
  DeviceArray<float> activations;                       // everything below points into it
  std::vector<std::vector<float*>> between;             // [microbatch][block]: input of each block, then the output
  std::vector<float*> input_gradient, output_gradient;  // [microbatch]
  std::vector<float*> normal, mean, deviation, logits;  // [microbatch], last
};

namespace {

long long activation_floats(const Shape& s) {  // of one block and one microbatch, without its input
  return 15LL * s.activation() + 4LL * s.tokens() + attention_floats(s);
}

}  // namespace

// Lays the weights of a rank out in its array of parameters, in order, and makes up their first values.
class Model::Weights {
 public:
  Weights(const Model& model, unsigned seed) : model_(model), seed_(seed), start_(model.parameters_.size(), 0.0F) {}

  // The chunk that is `stage` of the model; seeded by that, so that the same model comes out however it is spread over
  // ranks.
  void fill(Chunk& chunk, int stage, int blocks) {
    const int d = model_.shape_.hidden, v = model_.shape_.vocabulary;
    const float wide = 1.0F / std::sqrt(static_cast<float>(d));
    random_.seed(seed_ * 1000003U + static_cast<unsigned>(stage));
    for (int i = 0; i < blocks; ++i) {
      Block& b = chunk.blocks.emplace_back();
      b.norm1_gamma = constant(d, 1), b.norm1_beta = constant(d, 0);
      b.qkv = normal(3 * d * d, wide), b.qkv_bias = constant(3 * d, 0);
      b.projection = normal(d * d, 0.5F * wide), b.projection_bias = constant(d, 0);
      b.norm2_gamma = constant(d, 1), b.norm2_beta = constant(d, 0);
      b.up = normal(4 * d * d, wide), b.up_bias = constant(4 * d, 0);
      b.down = normal(4 * d * d, 0.25F * wide), b.down_bias = constant(d, 0);
    }
    if (chunk.first) chunk.table = normal(v * d, 0.5F), chunk.positions = normal(model_.shape_.sequence * d, 0.1F);
    if (!chunk.last) return;
    chunk.norm_gamma = constant(d, 1), chunk.norm_beta = constant(d, 0);
    chunk.head = normal(d * v, wide);
  }

  void upload() const {
    CHECK(cudaMemcpy(model_.parameters_.data(), start_.data(), model_.parameters_.bytes(), cudaMemcpyHostToDevice));
  }

 private:
  Weight take(int floats) {
    const Weight piece{model_.parameters_.data() + used_, model_.gradients_.data() + used_};
    used_ += floats;
    return piece;
  }
  Weight normal(int floats, float deviation) {
    std::normal_distribution<float> distribution(0.0F, deviation);
    for (int i = 0; i < floats; ++i) start_[static_cast<std::size_t>(used_ + i)] = distribution(random_);
    return take(floats);
  }
  Weight constant(int floats, float value) {
    for (int i = 0; i < floats; ++i) start_[static_cast<std::size_t>(used_ + i)] = value;
    return take(floats);
  }

  const Model& model_;
  unsigned seed_;
  std::mt19937 random_;
  std::vector<float> start_;
  std::ptrdiff_t used_ = 0;
};

Model::Model(const Options& options, const Shape& shape, int rank, int ranks, cudaStream_t stream)
    : shape_(shape),
      microbatches_(options.microbatches),
      precision_(options.precision),
      stream_(stream),
      first_(rank == 0),
      last_(rank == ranks - 1) {
  kernels::load();
  if (precision_ == Precision::bf16) kernels::load_bf16();
  const int d = shape.hidden, v = shape.vocabulary, tokens = shape.tokens();
  long long parameters = options.chunks * options.layers_per_chunk * block_parameters(d);
  if (first_) parameters += 1LL * (v + shape.sequence) * d;
  if (last_) parameters += 2LL * d + 1LL * d * v;
  count_ = checked(parameters);
  const auto count = static_cast<std::size_t>(count_);
  parameters_ = DeviceArray<float>(count);
  gradients_ = DeviceArray<float>(count);
  first_moment_ = DeviceArray<float>(count);
  second_moment_ = DeviceArray<float>(count);
  scratch_ = DeviceArray<float>(static_cast<std::size_t>(scratch_floats(shape)));
  totals_ = DeviceArray<float>(2);
  partials_ = DeviceArray<float>(kernels::partial_sums);
  characters_ = DeviceArray<int>(static_cast<std::size_t>(microbatches_ * tokens));
  targets_ = DeviceArray<int>(static_cast<std::size_t>(microbatches_ * tokens));
  row_loss_ = DeviceArray<float>(static_cast<std::size_t>(tokens));

  Weights weights(*this, options.seed);
  chunks_.resize(static_cast<std::size_t>(options.chunks));
  for (int c = 0; c < options.chunks; ++c) {
    Chunk& chunk = chunks_[static_cast<std::size_t>(c)];
    const int stage = chunk.stage = c * ranks + rank;
    chunk.first = stage == 0;
    chunk.last = stage == ranks * options.chunks - 1;
    weights.fill(chunk, stage, options.layers_per_chunk);
    allocate_activations(chunk);
  }
  weights.upload();
}

void Model::allocate_activations(Chunk& chunk) const {
  const int t = shape_.tokens(), a = shape_.activation(), v = shape_.vocabulary;
  const int blocks = static_cast<int>(chunk.blocks.size());
  const int floats =
      checked(blocks * activation_floats(shape_) + (blocks + 3LL) * a + (chunk.last ? a + 2LL * t + 1LL * t * v : 0));
  chunk.activations = DeviceArray<float>(static_cast<std::size_t>(microbatches_) * static_cast<std::size_t>(floats));
  Cutter cutter(chunk.activations.data());
  for (int i = 0; i < microbatches_; ++i) {
    std::vector<float*>& between = chunk.between.emplace_back();
    for (int k = 0; k <= blocks; ++k) between.push_back(cutter.take(a));
    chunk.input_gradient.push_back(cutter.take(a));
    chunk.output_gradient.push_back(cutter.take(a));
    for (Block& b : chunk.blocks) {
      Block::Saved& s = b.saved.emplace_back();
      s.normal1 = cutter.take(a), s.mean1 = cutter.take(t), s.deviation1 = cutter.take(t), s.qkv = cutter.take(3 * a);
      s.weights = cutter.take(shape_.batch * shape_.heads * shape_.sequence * shape_.sequence);
      s.attended = cutter.take(a), s.middle = cutter.take(a);
      s.normal2 = cutter.take(a), s.mean2 = cutter.take(t), s.deviation2 = cutter.take(t);
      s.raised = cutter.take(4 * a), s.activated = cutter.take(4 * a);
    }
    if (!chunk.last) continue;
    chunk.normal.push_back(cutter.take(a)), chunk.mean.push_back(cutter.take(t));
    chunk.deviation.push_back(cutter.take(t)), chunk.logits.push_back(cutter.take(t * v));
  }
}

Model::~Model() = default;

float* Model::input(int chunk, int microbatch) const {
  return chunks_[static_cast<std::size_t>(chunk)].between[static_cast<std::size_t>(microbatch)].front();
}
float* Model::output(int chunk, int microbatch) const {
  return chunks_[static_cast<std::size_t>(chunk)].between[static_cast<std::size_t>(microbatch)].back();
}
float* Model::input_gradient(int chunk, int microbatch) const {
  return chunks_[static_cast<std::size_t>(chunk)].input_gradient[static_cast<std::size_t>(microbatch)];
}
float* Model::output_gradient(int chunk, int microbatch) const {
  return chunks_[static_cast<std::size_t>(chunk)].output_gradient[static_cast<std::size_t>(microbatch)];
}
int* Model::characters(int microbatch) const {
  return characters_.data() + microbatch * shape_.tokens();
}
int* Model::targets(int microbatch) const {
  return targets_.data() + microbatch * shape_.tokens();
}
float* Model::totals() const {
  return totals_.data();
}

void Model::multiply(const kernels::Product& product) const {
  if (precision_ == Precision::bf16)
    kernels::multiply_bf16(product, stream_);
  else
    kernels::multiply(product, stream_);
}

void Model::attend(const float* qkv, float* weights, float* out) const {
  const kernels::Attention shape{shape_.batch, shape_.heads, shape_.sequence, shape_.hidden};
  if (precision_ == Precision::bf16)
    kernels::attend_bf16(qkv, weights, out, shape, stream_);
  else
    kernels::attend(qkv, weights, out, shape, stream_);
}

void Model::attend_backward(const float* qkv, const float* weights, const float* gradient, float* scores,
                            float* qkv_gradient) const {
  const kernels::Attention shape{shape_.batch, shape_.heads, shape_.sequence, shape_.hidden};
  if (precision_ == Precision::bf16)
    kernels::attend_backward_bf16(qkv, weights, gradient, scores, qkv_gradient, shape, stream_);
  else
    kernels::attend_backward(qkv, weights, gradient, scores, qkv_gradient, shape, stream_);
}

void Model::begin_iteration() {
  CHECK(cudaMemsetAsync(gradients_.data(), 0, gradients_.bytes(), stream_));
  CHECK(cudaMemsetAsync(totals_.data(), 0, totals_.bytes(), stream_));
}

void Model::forward(int chunk_number, int microbatch) {
  const Chunk& chunk = chunks_[static_cast<std::size_t>(chunk_number)];
  const auto m = static_cast<std::size_t>(microbatch);
  const int t = shape_.tokens(), d = shape_.hidden, v = shape_.vocabulary;
  const std::vector<float*>& between = chunk.between[m];
  if (chunk.first)
    kernels::embed(characters(microbatch), chunk.table.value, chunk.positions.value, between.front(), t,
                   shape_.sequence, d, stream_);
  for (std::size_t i = 0; i < chunk.blocks.size(); ++i)
    forward_block(chunk.blocks[i], microbatch, between[i], between[i + 1]);
  if (!chunk.last) return;
  kernels::normalize(between.back(), chunk.norm_gamma.value, chunk.norm_beta.value, chunk.normal[m], chunk.mean[m],
                     chunk.deviation[m], t, d, stream_);
  multiply({chunk.normal[m], chunk.head.value, nullptr, chunk.logits[m], t, v, d});
  const float scale = 1.0F / static_cast<float>(t * microbatches_);
  kernels::cross_entropy(chunk.logits[m], targets(microbatch), row_loss_.data(), scale, t, v, stream_);
  kernels::add_sum(row_loss_.data(), totals_.data() + 1, scale, t, stream_);
}

void Model::backward(int chunk_number, int microbatch) {
  const Chunk& chunk = chunks_[static_cast<std::size_t>(chunk_number)];
  const auto m = static_cast<std::size_t>(microbatch);
  const int t = shape_.tokens(), d = shape_.hidden, v = shape_.vocabulary;
  const std::vector<float*>& between = chunk.between[m];
  float* gradient = chunk.output_gradient[m];
  if (chunk.last) {
    float* normal_gradient = scratch_.data();
    multiply({chunk.normal[m], chunk.logits[m], nullptr, chunk.head.gradient, d, v, t, true, false, true});
    multiply({chunk.logits[m], chunk.head.value, nullptr, normal_gradient, t, d, v, false, true});
    kernels::normalize_parameters(normal_gradient, between.back(), chunk.mean[m], chunk.deviation[m],
                                  chunk.norm_gamma.gradient, chunk.norm_beta.gradient, t, d, stream_);
    CHECK(cudaMemsetAsync(gradient, 0, static_cast<std::size_t>(t * d) * sizeof(float), stream_));
    kernels::normalize_backward(normal_gradient, between.back(), chunk.norm_gamma.value, chunk.mean[m],
                                chunk.deviation[m], gradient, gradient, t, d, stream_);
  }
  for (std::size_t i = chunk.blocks.size(); i-- > 0;) {
    backward_block(chunk.blocks[i], microbatch, between[i], gradient, chunk.input_gradient[m]);
    gradient = chunk.input_gradient[m];
  }
  if (chunk.first)
    kernels::embed_backward(characters(microbatch), gradient, chunk.table.gradient, chunk.positions.gradient, t,
                            shape_.sequence, d, v, stream_);
}

void Model::forward_block(const Block& b, int microbatch, const float* in, float* out) {
  const Block::Saved& s = b.saved[static_cast<std::size_t>(microbatch)];
  const int t = shape_.tokens(), d = shape_.hidden;
  kernels::normalize(in, b.norm1_gamma.value, b.norm1_beta.value, s.normal1, s.mean1, s.deviation1, t, d, stream_);
  multiply({s.normal1, b.qkv.value, b.qkv_bias.value, s.qkv, t, 3 * d, d});
  attend(s.qkv, s.weights, s.attended);
  multiply({s.attended, b.projection.value, b.projection_bias.value, out, t, d, d});
  kernels::add(in, out, s.middle, t * d, stream_);
  kernels::normalize(s.middle, b.norm2_gamma.value, b.norm2_beta.value, s.normal2, s.mean2, s.deviation2, t, d,
                     stream_);
  multiply({s.normal2, b.up.value, b.up_bias.value, s.raised, t, 4 * d, d});
  kernels::gelu(s.raised, s.activated, 4 * t * d, stream_);
  multiply({s.activated, b.down.value, b.down_bias.value, out, t, d, 4 * d});
  kernels::add(s.middle, out, out, t * d, stream_);
}

void Model::backward_block(const Block& b, int microbatch, const float* in, const float* gradient, float* in_gradient) {
  const Block::Saved& s = b.saved[static_cast<std::size_t>(microbatch)];
  const int t = shape_.tokens(), d = shape_.hidden;
  Cutter cutter(scratch_.data());
  float* wide = cutter.take(4 * t * d);  // gradient of the activated, then of the raised
  float* raised = cutter.take(4 * t * d);
  float* normal = cutter.take(t * d);  // of a normalised input
  float* middle = cutter.take(t * d);  // of what is between attention and the rest
  float* attended = cutter.take(t * d);
  float* qkv = cutter.take(3 * t * d);
  float* scores = cutter.take(shape_.batch * shape_.heads * shape_.sequence * shape_.sequence);

  multiply({s.activated, gradient, nullptr, b.down.gradient, 4 * d, d, t, true, false, true});
  kernels::add_column_sums(gradient, b.down_bias.gradient, t, d, stream_);
  multiply({gradient, b.down.value, nullptr, wide, t, 4 * d, d, false, true});
  kernels::gelu_backward(s.raised, wide, raised, 4 * t * d, stream_);
  multiply({s.normal2, raised, nullptr, b.up.gradient, d, 4 * d, t, true, false, true});
  kernels::add_column_sums(raised, b.up_bias.gradient, t, 4 * d, stream_);
  multiply({raised, b.up.value, nullptr, normal, t, d, 4 * d, false, true});
  kernels::normalize_parameters(normal, s.middle, s.mean2, s.deviation2, b.norm2_gamma.gradient, b.norm2_beta.gradient,
                                t, d, stream_);
  kernels::normalize_backward(normal, s.middle, b.norm2_gamma.value, s.mean2, s.deviation2, gradient, middle, t, d,
                              stream_);

  multiply({s.attended, middle, nullptr, b.projection.gradient, d, d, t, true, false, true});
  kernels::add_column_sums(middle, b.projection_bias.gradient, t, d, stream_);
  multiply({middle, b.projection.value, nullptr, attended, t, d, d, false, true});
  attend_backward(s.qkv, s.weights, attended, scores, qkv);
  multiply({s.normal1, qkv, nullptr, b.qkv.gradient, d, 3 * d, t, true, false, true});
  kernels::add_column_sums(qkv, b.qkv_bias.gradient, t, 3 * d, stream_);
  multiply({qkv, b.qkv.value, nullptr, normal, t, d, 3 * d, false, true});
  kernels::normalize_parameters(normal, in, s.mean1, s.deviation1, b.norm1_gamma.gradient, b.norm1_beta.gradient, t, d,
                                stream_);
  kernels::normalize_backward(normal, in, b.norm1_gamma.value, s.mean1, s.deviation1, middle, in_gradient, t, d,
                              stream_);
}

void Model::compute_norm() {
  kernels::square_sum(gradients_.data(), partials_.data(), totals_.data(), count_, stream_);
}

void Model::update(int step, float learning_rate) {
  kernels::Adam settings{learning_rate, 0.9F, 0.99F, 1e-8F, 0, 0, 1.0F};
  settings.correction1 = 1.0F - std::pow(settings.beta1, static_cast<float>(step));
  settings.correction2 = 1.0F - std::pow(settings.beta2, static_cast<float>(step));
  kernels::adam(parameters_.data(), gradients_.data(), first_moment_.data(), second_moment_.data(), totals_.data(),
                settings, count_, stream_);
}

std::vector<NamedTensor> Model::weights() const {
  const int d = shape_.hidden, v = shape_.vocabulary;
  std::vector<NamedTensor> all;
  const auto add = [&](const std::string& name, std::vector<int> shape, const Weight& weight) {
    NamedTensor& tensor = all.emplace_back(NamedTensor{name, std::move(shape)});
    std::size_t count = 1;
    for (const int size : tensor.shape) count *= static_cast<std::size_t>(size);
    tensor.values.resize(count);
    CHECK(cudaMemcpy(tensor.values.data(), weight.value, count * sizeof(float), cudaMemcpyDeviceToHost));
  };
  for (const Chunk& chunk : chunks_) {
    int layer = chunk.stage * static_cast<int>(chunk.blocks.size());
    for (const Block& b : chunk.blocks) {
      const std::string name = "h." + std::to_string(layer++) + ".";
      add(name + "ln_1.weight", {d}, b.norm1_gamma), add(name + "ln_1.bias", {d}, b.norm1_beta);
      add(name + "attn.c_attn.weight", {d, 3 * d}, b.qkv), add(name + "attn.c_attn.bias", {3 * d}, b.qkv_bias);
      add(name + "attn.c_proj.weight", {d, d}, b.projection), add(name + "attn.c_proj.bias", {d}, b.projection_bias);
      add(name + "ln_2.weight", {d}, b.norm2_gamma), add(name + "ln_2.bias", {d}, b.norm2_beta);
      add(name + "mlp.c_fc.weight", {d, 4 * d}, b.up), add(name + "mlp.c_fc.bias", {4 * d}, b.up_bias);
      add(name + "mlp.c_proj.weight", {4 * d, d}, b.down), add(name + "mlp.c_proj.bias", {d}, b.down_bias);
    }
    if (chunk.first) add("wte.weight", {v, d}, chunk.table), add("wpe.weight", {shape_.sequence, d}, chunk.positions);
    if (!chunk.last) continue;
    add("ln_f.weight", {d}, chunk.norm_gamma), add("ln_f.bias", {d}, chunk.norm_beta);
    add("lm_head.weight", {v, d}, chunk.head);  // and here the other way round
    const std::vector<float> head = all.back().values;
    for (int row = 0; row < v; ++row)
      for (int column = 0; column < d; ++column)
        all.back().values[static_cast<std::size_t>(row * d + column)] =
            head[static_cast<std::size_t>(column * v + row)];
  }
  return all;
}

}  // namespace trainer
