// See model.h.
#include "model.h"

namespace generate {
namespace {

// Files of whole models have it, those of their parts do not.
std::string with_inner_prefix(const fill::Taking& take, const std::string& prefix) {
  const std::string inner = prefix + "transformer.";
  return take.has_weights(inner + "wte.weight") ? inner : prefix;
}

}  // namespace

bool Model::is_in_weights(const fill::Taking& take, const std::string& prefix) {
  return take.has_weights(with_inner_prefix(take, prefix) + "wte.weight");
}

Model::Model(fill::Taking& take, const std::string& prefix, int heads) {
  constexpr std::uint64_t most = 1 << 20;
  const std::string inner = with_inner_prefix(take, prefix);
  const weft_fill_tensor table = take.weights_like<float>(inner + "wte.weight", 2, most);
  const weft_fill_tensor positions = take.weights_like<float>(inner + "wpe.weight", 2, most);
  if (take.failed()) return;
  shape_ = {static_cast<int>(table.shape[1]), heads, 0, static_cast<int>(table.shape[0]),
            static_cast<int>(positions.shape[0])};
  const int d = shape_.hidden, v = shape_.vocabulary;
  if (d % heads != 0)
    take.fail("heads=" + std::to_string(heads) + " does not divide the " + std::to_string(d) +
              " numbers of a token of '" + inner + "wte.weight'");
  const auto norm = [&](const std::string& name) {
    return Norm{take.weights<float>(name + ".weight", {d}), take.weights<float>(name + ".bias", {d})};
  };
  const auto product = [&](const std::string& name, int in, int out) {
    return Product{take.weights<float>(name + ".weight", {in, out}), take.weights<float>(name + ".bias", {out})};
  };
  table_ = take.weights<float>(inner + "wte.weight", {v, d});
  positions_ = take.weights<float>(inner + "wpe.weight", {shape_.positions, d});
  while (take.has_weights(inner + "h." + std::to_string(shape_.layers) + ".ln_1.weight")) {
    const std::string name = inner + "h." + std::to_string(shape_.layers++) + ".";
    layers_.push_back({norm(name + "ln_1"), norm(name + "ln_2"), product(name + "attn.c_attn", d, 3 * d),
                       product(name + "attn.c_proj", d, d), product(name + "mlp.c_fc", d, 4 * d),
                       product(name + "mlp.c_proj", 4 * d, d)});
  }
  if (shape_.layers == 0) take.fail("the weights have no layers: there is no '" + inner + "h.0.ln_1.weight'");
  last_ = norm(inner + "ln_f");
  head_ = take.has_weights(prefix + "lm_head.weight") ? take.weights<float>(prefix + "lm_head.weight", {v, d}) : table_;
}

void Model::take_memory(fill::Taking& take, int lanes, int stride) {
  lanes_ = lanes;
  stride_ = stride;
  rows_ = take.device<float>(static_cast<double>(shape_.layers * layer_of_rows()));
  cache_ = take.device<float>(static_cast<double>(shape_.layers * layer_of_cache()));
}

void Model::record_layer(const Launch& to, const Rows& rows, const Work& work, int number) const {
  const Layer& layer = layers_[static_cast<std::size_t>(number)];
  const int d = shape_.hidden;
  float* const qkv = rows_ + number * layer_of_rows();
  launch_normalise(to, rows, d, layer.norm1.gain, layer.norm1.bias, work.x, work.normal);
  launch_linear(to, rows, {d, 3 * d}, work.normal, layer.qkv.weight, layer.qkv.bias, qkv);
  const Attention attention{qkv, cache_ + number * layer_of_cache()};
  launch_scores(to, rows, shape_, attention, work.scores);
  launch_softmax(to, rows, shape_, work.scores);
  launch_mix(to, rows, shape_, attention, work.scores, work.mixed);
  launch_linear(to, rows, {d, d, false, true}, work.mixed, layer.projection.weight, layer.projection.bias, work.x);
  launch_normalise(to, rows, d, layer.norm2.gain, layer.norm2.bias, work.x, work.normal);
  launch_linear(to, rows, {d, 4 * d, true, false}, work.normal, layer.up.weight, layer.up.bias, work.inner);
  launch_linear(to, rows, {4 * d, d, false, true}, work.inner, layer.down.weight, layer.down.bias, work.x);
}

void Model::record(const Launch& to, const Rows& rows, const Work& work) const {
  launch_embed(to, rows, shape_, table_, positions_, work.x);
  for (int number = 0; number < shape_.layers; ++number) record_layer(to, rows, work, number);
}

void Model::record_best(const Launch& to, const Rows& rows, const Work& work) const {
  launch_normalise(to, rows, shape_.hidden, last_.gain, last_.bias, work.x, work.normal);
  launch_head(to, rows, shape_, work.normal, head_, work.logits);
  launch_best(to, rows, shape_, work.logits, work.parts);
  launch_merge(to, rows, shape_, work.parts, work.best);
}

void Model::record_keep(const Launch& to, const Kept& kept) const {
  launch_keep(to, kept, shape_, rows_, cache_);
}

}  // namespace generate
