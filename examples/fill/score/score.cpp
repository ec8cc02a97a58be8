// Fill job: runs a transformer encoder over records of tokens and gives the numbers of its last layer for each (class
// scores, an embedding). Weights as PyTorch saves those of an nn.Embedding `embedding`, an nn.Embedding `position`, an
// nn.TransformerEncoder `encoder` (batch_first, norm_first=False) and an nn.Linear `head`. README.md has an example.
//
// Arguments: heads=4, batch=8 (records of a unit), gelu=0 (1: GELU instead of ReLU). Everything else is in the shapes
// of the weights. Loaded and called by Weft, see weft/fill.h.
#include <array>
#include <cmath>
#include <new>
#include <string>
#include <vector>

#include "../support.h"
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
  int heads = 4, batch = 8, gelu = 0;
  score::Shape shape;
  const int* tokens = nullptr;
  const std::uint32_t* lengths = nullptr;
  const float *embedding = nullptr, *position = nullptr, *head_weight = nullptr, *head_bias = nullptr;
  std::vector<Layer> layers;
  float *x = nullptr, *projected = nullptr, *scores = nullptr, *mixed = nullptr, *inner = nullptr, *pooled = nullptr;
  float* result = nullptr;
};

namespace {

template <class T>
T* pointer(std::uint64_t address) {
  return reinterpret_cast<T*>(static_cast<std::uintptr_t>(address));
}

// The parts of init(). The first thing that is wrong ends it; Weft knows already of what it was asked for itself.
class Setup {
 public:
  explicit Setup(weft_fill_job& job) : job_(job), host_(job.host) {}

  std::string run() {
    find_shape();
    if (wrong_.empty()) take_records();
    if (wrong_.empty()) take_weights();
    if (wrong_.empty()) take_memory();
    return wrong_;
  }

 private:
  // Of so many dimensions; zeroes when it is not there.
  std::array<std::uint64_t, 2> shape_of(const std::string& name, std::uint32_t dimensions) {
    weft_fill_tensor found{};
    if (!wrong_.empty()) return {};
    if (host_.describe_parameter(host_.context, name.c_str(), &found) == 0)
      wrong_ = "the weights have no tensor '" + name + "'";
    else if (found.dimensions != dimensions || found.type != WEFT_FLOAT32)
      wrong_ = "the weights' tensor '" + name + "' is no float32 of " + std::to_string(dimensions) + " dimensions";
    return {found.shape[0], found.shape[1]};
  }

  void find_shape() {
    score::Shape& s = job_.shape;
    const auto embedding = shape_of("embedding.weight", 2), position = shape_of("position.weight", 2);
    const auto head = shape_of("head.weight", 2), inner = shape_of("encoder.layers.0.linear1.weight", 2);
    weft_fill_tensor tokens{};
    if (wrong_.empty() && host_.describe_input(host_.context, "tokens", &tokens) == 0)
      wrong_ = "the records have no 'tokens'";
    else if (wrong_.empty() && tokens.dimensions != 1)
      wrong_ = "the records' 'tokens' are no lists of numbers";
    if (!wrong_.empty()) return;
    constexpr std::uint64_t most = 1 << 20;
    for (const std::uint64_t size : {embedding[0], embedding[1], position[0], head[0], inner[0]})
      if (size > most) wrong_ = "the weights have a dimension of " + std::to_string(size);
    s.batch = job_.batch;
    s.heads = job_.heads;
    s.vocabulary = static_cast<int>(embedding[0]);
    s.hidden = static_cast<int>(embedding[1]);
    s.length = static_cast<int>(tokens.shape[0]);
    s.inner = static_cast<int>(inner[0]);
    s.classes = static_cast<int>(head[0]);
    if (tokens.shape[0] > position[0])
      wrong_ = "there are records of " + std::to_string(tokens.shape[0]) + " tokens, and the weights have " +
               std::to_string(position[0]) + " positions";
    if (s.hidden % s.heads != 0)
      wrong_ = "heads=" + std::to_string(s.heads) + " does not divide the " + std::to_string(s.hidden) +
               " numbers of a token";
  }

  void take_records() {
    const score::Shape& s = job_.shape;
    weft_fill_tensor tokens{"tokens", WEFT_INT32, 1, {static_cast<std::uint64_t>(s.length)}, 1, 0};
    weft_fill_tensor result{"scores", WEFT_FLOAT32, 1, {static_cast<std::uint64_t>(s.classes)}, 0, 0};
    std::uint64_t lengths = 0;
    if (host_.records(host_.context, static_cast<std::uint32_t>(s.batch), nullptr) != 0) return stop();
    job_.tokens = pointer<const int>(host_.input(host_.context, &tokens, &lengths));
    job_.lengths = pointer<const std::uint32_t>(lengths);
    job_.result = pointer<float>(host_.output(host_.context, &result, nullptr));
    if (job_.tokens == nullptr || job_.result == nullptr) stop();
  }

  const float* weights(const std::string& name, int rows, int columns = 0) {
    if (!wrong_.empty()) return nullptr;
    weft_fill_tensor wanted{name.c_str(),
                            WEFT_FLOAT32,
                            columns == 0 ? 1U : 2U,
                            {static_cast<std::uint64_t>(rows), static_cast<std::uint64_t>(columns)},
                            0,
                            0};
    const std::uint64_t address = host_.parameter(host_.context, &wanted);
    if (address == 0) stop();
    return pointer<const float>(address);
  }

  void take_weights() {
    const score::Shape& s = job_.shape;
    job_.embedding = weights("embedding.weight", s.vocabulary, s.hidden);
    weft_fill_tensor position{};
    host_.describe_parameter(host_.context, "position.weight", &position);
    job_.position = weights("position.weight", static_cast<int>(position.shape[0]), s.hidden);
    job_.head_weight = weights("head.weight", s.classes, s.hidden);
    job_.head_bias = weights("head.bias", s.classes);
    weft_fill_tensor found{};
    for (int number = 0; wrong_.empty(); ++number) {
      const std::string name = "encoder.layers." + std::to_string(number) + ".";
      if (host_.describe_parameter(host_.context, (name + "linear1.weight").c_str(), &found) == 0) break;
      job_.layers.push_back(
          {weights(name + "self_attn.in_proj_weight", 3 * s.hidden, s.hidden),
           weights(name + "self_attn.in_proj_bias", 3 * s.hidden),
           weights(name + "self_attn.out_proj.weight", s.hidden, s.hidden),
           weights(name + "self_attn.out_proj.bias", s.hidden), weights(name + "norm1.weight", s.hidden),
           weights(name + "norm1.bias", s.hidden), weights(name + "linear1.weight", s.inner, s.hidden),
           weights(name + "linear1.bias", s.inner), weights(name + "linear2.weight", s.hidden, s.inner),
           weights(name + "linear2.bias", s.hidden), weights(name + "norm2.weight", s.hidden),
           weights(name + "norm2.bias", s.hidden)});
    }
  }

  void take_memory() {
    const score::Shape& s = job_.shape;
    const auto take = [&](double numbers) {
      const std::uint64_t address =
          wrong_.empty() ? host_.allocate(host_.context, static_cast<std::uint64_t>(numbers) * sizeof(float)) : 0;
      if (address == 0) stop();
      return pointer<float>(address);
    };
    const double rows = 1.0 * s.batch * s.length;
    if (rows * s.length * s.heads > 2e9 || rows * 3 * s.hidden > 2e9 || rows * s.inner > 2e9)
      return void(wrong_ = "a batch of " + std::to_string(s.batch) + " such records is too large");
    job_.x = take(rows * s.hidden);
    job_.projected = take(rows * 3 * s.hidden);
    job_.scores = take(rows * s.length * s.heads);
    job_.mixed = take(rows * s.hidden);
    job_.inner = take(rows * s.inner);
    job_.pooled = take(1.0 * s.batch * s.hidden);
  }

  void stop() {
    if (wrong_.empty())
      wrong_ = "it does not fit into the memory cap of " + std::to_string(host_.memory_cap) + " bytes";
  }

  weft_fill_job& job_;
  const weft_fill_host& host_;
  std::string wrong_;
};

int init(const weft_fill_host* host, const char* arguments, weft_fill_job** out) {
  auto* job = new (std::nothrow) weft_fill_job;
  if (job == nullptr) return fill::fail(*host, "no host memory");
  job->host = *host;
  const std::array<fill::Argument, 3> known{
      {{"heads", &job->heads, 1, 1024}, {"batch", &job->batch, 1, 65536}, {"gelu", &job->gelu, 0, 1}}};
  std::string wrong = fill::read_arguments(arguments, known);
  if (wrong.empty()) wrong = Setup(*job).run();
  if (!wrong.empty()) {
    delete job;
    return fill::fail(*host, wrong);
  }
  *out = job;
  return 0;
}

void record_layer(const weft_fill_job& job, const score::Launch& to, const Layer& layer) {
  const score::Shape& s = job.shape;
  const int rows = s.batch * s.length;
  launch_linear(to, {rows, s.hidden, 3 * s.hidden, 0}, job.x, layer.in_weight, layer.in_bias, job.projected);
  launch_scores(to, s, job.projected, job.lengths, job.scores);
  launch_softmax(to, s, job.lengths, job.scores);
  launch_mix(to, s, job.scores, job.projected, job.lengths, job.mixed);
  launch_linear(to, {rows, s.hidden, s.hidden, 0}, job.mixed, layer.out_weight, layer.out_bias, job.projected);
  launch_normalise(to, s, job.projected, layer.norm1_weight, layer.norm1_bias, job.x);
  launch_linear(to, {rows, s.hidden, s.inner, job.gelu == 1 ? 2 : 1}, job.x, layer.linear1_weight, layer.linear1_bias,
                job.inner);
  launch_linear(to, {rows, s.inner, s.hidden, 0}, job.inner, layer.linear2_weight, layer.linear2_bias, job.mixed);
  launch_normalise(to, s, job.mixed, layer.norm2_weight, layer.norm2_bias, job.x);
}

int record_unit(weft_fill_job* job, weft_stream stream_handle) {
  const score::Shape& s = job->shape;
  const score::Launch to{static_cast<int>(job->host.max_blocks), static_cast<cudaStream_t>(stream_handle)};
  launch_embed(to, s, job->tokens, job->embedding, job->position, job->x);
  for (const Layer& layer : job->layers) record_layer(*job, to, layer);
  launch_pool(to, s, job->x, job->lengths, job->pooled);
  launch_linear(to, {s.batch, s.hidden, s.classes, 0}, job->pooled, job->head_weight, job->head_bias, job->result);
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
