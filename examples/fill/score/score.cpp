// Fill job: runs a transformer encoder over records of tokens and gives the numbers of its last layer for each (class
// scores, an embedding). Weights as PyTorch saves those of an nn.Embedding `embedding`, an nn.Embedding `position`, an
// nn.TransformerEncoder `encoder` (batch_first, norm_first=False) and an nn.Linear `head`. README.md has an example.
//
// Arguments: heads=4, batch=8 (records of a unit), gelu=0 (1: GELU instead of ReLU), offload=0 (1: the weights may be
// on the host between two units). Everything else is in the shapes of the weights. Loaded and called by Weft, see
// weft/fill.h.
#include <array>
#include <cmath>
#include <string>
#include <vector>

#include "../support.h"
#include "../taking.h"
#include "kernels.h"

namespace {

// A layer of the encoder, on the device.
struct Layer {
  const float *in_weight, *in_bias, *out_weight, *out_bias, *norm1_weight, *norm1_bias;
  const float *linear1_weight, *linear1_bias, *linear2_weight, *linear2_bias, *norm2_weight, *norm2_bias;
};

}  // namespace

struct weft_fill_job {
  weft_fill_host host{};
  int heads = 4, batch = 8, gelu = 0, offload = 0;
  score::Shape shape;
  const int* tokens = nullptr;
  const std::uint32_t* lengths = nullptr;
  const float *embedding = nullptr, *position = nullptr, *head_weight = nullptr, *head_bias = nullptr;
  std::vector<Layer> layers;
  float *x = nullptr, *projected = nullptr, *scores = nullptr, *mixed = nullptr, *inner = nullptr, *pooled = nullptr;
  float* result = nullptr;
};

namespace {

// The parts of init(), one after the other.
void find_shape(weft_fill_job& job, fill::Taking& take) {
  constexpr std::uint64_t most = 1 << 20;
  const weft_fill_tensor embedding = take.weights_like<float>("embedding.weight", 2, most);
  const weft_fill_tensor position = take.weights_like<float>("position.weight", 2, most);
  const weft_fill_tensor head = take.weights_like<float>("head.weight", 2, most);
  const weft_fill_tensor inner = take.weights_like<float>("encoder.layers.0.linear1.weight", 2, most);
  const weft_fill_tensor tokens = take.input_like("tokens", 1);
  if (take.failed()) return;
  if (tokens.shape[0] > position.shape[0])
    return take.fail("there are records of " + std::to_string(tokens.shape[0]) + " tokens, and the weights have " +
                     std::to_string(position.shape[0]) + " positions");
  score::Shape& s = job.shape;
  s.batch = job.batch;
  s.heads = job.heads;
  s.vocabulary = static_cast<int>(embedding.shape[0]);
  s.hidden = static_cast<int>(embedding.shape[1]);
  s.positions = static_cast<int>(position.shape[0]);
  s.length = static_cast<int>(tokens.shape[0]);
  s.inner = static_cast<int>(inner.shape[0]);
  s.classes = static_cast<int>(head.shape[0]);
  if (s.hidden % s.heads != 0)
    take.fail("heads=" + std::to_string(s.heads) + " does not divide the " + std::to_string(s.hidden) +
              " numbers of a token");
}

void take_records(weft_fill_job& job, fill::Taking& take) {
  take.records(job.shape.batch);
  job.tokens = take.input<int>("tokens", {job.shape.length}, &job.lengths);
  job.result = take.output<float>("scores", {job.shape.classes});
}

void take_weights(weft_fill_job& job, fill::Taking& take) {
  const score::Shape& s = job.shape;
  job.embedding = take.weights<float>("embedding.weight", {s.vocabulary, s.hidden});
  job.position = take.weights<float>("position.weight", {s.positions, s.hidden});
  job.head_weight = take.weights<float>("head.weight", {s.classes, s.hidden});
  job.head_bias = take.weights<float>("head.bias", {s.classes});
  for (int number = 0; !take.failed(); ++number) {
    const std::string name = "encoder.layers." + std::to_string(number) + ".";
    if (!take.has_weights(name + "linear1.weight")) break;
    job.layers.push_back(
        {take.weights<float>(name + "self_attn.in_proj_weight", {3 * s.hidden, s.hidden}),
         take.weights<float>(name + "self_attn.in_proj_bias", {3 * s.hidden}),
         take.weights<float>(name + "self_attn.out_proj.weight", {s.hidden, s.hidden}),
         take.weights<float>(name + "self_attn.out_proj.bias", {s.hidden}),
         take.weights<float>(name + "norm1.weight", {s.hidden}), take.weights<float>(name + "norm1.bias", {s.hidden}),
         take.weights<float>(name + "linear1.weight", {s.inner, s.hidden}),
         take.weights<float>(name + "linear1.bias", {s.inner}),
         take.weights<float>(name + "linear2.weight", {s.hidden, s.inner}),
         take.weights<float>(name + "linear2.bias", {s.hidden}), take.weights<float>(name + "norm2.weight", {s.hidden}),
         take.weights<float>(name + "norm2.bias", {s.hidden})});
  }
}

void take_memory(weft_fill_job& job, fill::Taking& take) {
  const score::Shape& s = job.shape;
  const double rows = 1.0 * s.batch * s.length;
  if (rows * s.length * s.heads > 2e9 || rows * 3 * s.hidden > 2e9 || rows * s.inner > 2e9)
    return take.fail("a batch of " + std::to_string(s.batch) + " such records is too large");
  job.x = take.device<float>(rows * s.hidden);
  job.projected = take.device<float>(rows * 3 * s.hidden);
  job.scores = take.device<float>(rows * s.length * s.heads);
  job.mixed = take.device<float>(rows * s.hidden);
  job.inner = take.device<float>(rows * s.inner);
  job.pooled = take.device<float>(1.0 * s.batch * s.hidden);
}

int init(const weft_fill_host* host, const char* arguments, weft_fill_job** out) {
  return fill::make_job(*host, out, [&](weft_fill_job& job) {
    const std::array<fill::Argument, 4> known{{{"heads", &job.heads, 1, 1024},
                                               {"batch", &job.batch, 1, 65536},
                                               {"gelu", &job.gelu, 0, 1},
                                               {"offload", &job.offload, 0, 1}}};
    const std::string wrong = fill::read_arguments(arguments, known);
    if (!wrong.empty()) return wrong;
    fill::Taking take(job.host, job.offload == 1);
    find_shape(job, take);
    take_records(job, take);
    take_weights(job, take);
    take_memory(job, take);
    return take.wrong();
  });
}

void record_layer(const weft_fill_job& job, const score::Launch& to, const Layer& layer) {
  const score::Shape& s = job.shape;
  const int rows = s.batch * s.length;
  score::launch_linear(to, {rows, s.hidden, 3 * s.hidden, 0}, job.x, layer.in_weight, layer.in_bias, job.projected);
  launch_scores(to, s, job.projected, job.lengths, job.scores);
  launch_softmax(to, s, job.lengths, job.scores);
  launch_mix(to, s, job.scores, job.projected, job.lengths, job.mixed);
  score::launch_linear(to, {rows, s.hidden, s.hidden, 0}, job.mixed, layer.out_weight, layer.out_bias, job.projected);
  launch_normalise(to, s, job.projected, layer.norm1_weight, layer.norm1_bias, job.x);
  score::launch_linear(to, {rows, s.hidden, s.inner, job.gelu == 1 ? 2 : 1}, job.x, layer.linear1_weight,
                       layer.linear1_bias, job.inner);
  score::launch_linear(to, {rows, s.inner, s.hidden, 0}, job.inner, layer.linear2_weight, layer.linear2_bias,
                       job.mixed);
  launch_normalise(to, s, job.mixed, layer.norm2_weight, layer.norm2_bias, job.x);
}

int record_unit(weft_fill_job* job, weft_stream stream_handle) {
  const score::Shape& s = job->shape;
  const score::Launch to{static_cast<int>(job->host.max_blocks), static_cast<cudaStream_t>(stream_handle)};
  launch_embed(to, s, job->tokens, job->embedding, job->position, job->x);
  for (const Layer& layer : job->layers) record_layer(*job, to, layer);
  launch_pool(to, s, job->x, job->lengths, job->pooled);
  score::launch_linear(to, {s.batch, s.hidden, s.classes, 0}, job->pooled, job->head_weight, job->head_bias,
                       job->result);
  const cudaError_t error = cudaGetLastError();
  return error == cudaSuccess ? 0 : fill::fail(job->host, cudaGetErrorString(error));
}

// Numbers that are none would show broken weights, or a fault.
int check(weft_fill_job* job, const weft_fill_records* records, int* correct) {
  const auto* const scores = static_cast<const float*>(records->outputs[0]);
  *correct = 1;
  for (std::uint32_t i = 0; i < records->count * static_cast<std::uint32_t>(job->shape.classes); ++i)
    if (!std::isfinite(scores[i])) *correct = 0;
  return 0;
}

void destroy(weft_fill_job* job) {
  delete job;
}

constexpr weft_fill_functions functions{sizeof(weft_fill_functions),
                                        WEFT_FILL_ABI_VERSION,
                                        0,
                                        "score",
                                        init,
                                        record_unit,
                                        nullptr,
                                        nullptr,
                                        nullptr,
                                        nullptr,
                                        destroy,
                                        check};

}  // namespace

extern "C" __attribute__((visibility("default"))) const weft_fill_functions* weft_fill_job_v2(void) {
  return &functions;
}
