// The decoding job as a whole, on the host: its own init() and record_unit(), with kernels that are loops here. Models
// are made up, with few tokens, so that drafts are often right and often wrong.
#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "fill/generate/kernels.h"
#include "weft/fill.h"

extern "C" cudaError_t cudaGetLastError() {
  return cudaSuccess;
}
extern "C" const char* cudaGetErrorString(cudaError_t) {
  return "";
}

namespace generate {

void launch_plan(const Launch&, const Texts& t) {
  for (int i = 0; i < t.lanes; ++i) plan(i, t);
}
void launch_embed(const Launch&, const Rows& r, const Shape& s, const float* table, const float* positions, float* x) {
  for (int i = 0; i < items::embed(r, s); ++i) embed(i, r, s, table, positions, x);
}
void launch_normalise(const Launch&, const Rows& r, int width, const float* gain, const float* bias, const float* x,
                      float* out) {
  for (int i = 0; i < items::normalise(r); ++i) normalise(i, r, width, gain, bias, x, out);
}
void launch_linear(const Launch&, const Rows& r, const Linear& l, const float* x, const float* w, const float* bias,
                   float* y) {
  for (int i = 0; i < items::linear<1>(r, l); ++i) linear<1>(i, r, l, x, w, bias, y);
}
void launch_scores(const Launch&, const Rows& r, const Shape& s, const Attention& a, float* out) {
  for (int i = 0; i < items::scores(r, s); ++i) scores(i, r, s, a, out);
}
void launch_softmax(const Launch&, const Rows& r, const Shape& s, float* values) {
  for (int i = 0; i < items::softmax(r, s); ++i) softmax(i, r, s, values);
}
void launch_mix(const Launch&, const Rows& r, const Shape& s, const Attention& a, const float* weights, float* out) {
  for (int i = 0; i < items::mix(r, s); ++i) mix(i, r, s, a, weights, out);
}
void launch_keep(const Launch&, const Kept& k, const Shape& s, const float* rows, float* cache) {
  for (int i = 0; i < items::keep(k, s); ++i) keep(i, k, s, rows, cache);
}
void launch_head(const Launch&, const Rows& r, const Shape& s, const float* x, const float* table, float* logits) {
  for (int i = 0; i < items::head(r, s); ++i) head(i, r, s, x, table, logits);
}
void launch_best(const Launch&, const Rows& r, const Shape& s, const float* logits, Best* parts) {
  for (int i = 0; i < items::best(r, s); ++i) best(i, r, s, logits, parts);
}
void launch_merge(const Launch&, const Rows& r, const Shape& s, const Best* parts, Best* merged) {
  for (int i = 0; i < items::merge(r); ++i) merge(i, r, s, parts, merged);
}
void launch_guess(const Launch&, const Texts& t, const Shape& s, int draft, int level, const Best* found, int* rows) {
  for (int i = 0; i < t.lanes; ++i) guess(i, t, s, draft, level, found, rows);
}
void launch_accept(const Launch&, const Texts& t, const Best* best) {
  for (int i = 0; i < t.lanes; ++i) accept(i, t, best);
}
void launch_decide(const Launch&, const Texts& t) {
  decide(t);
}

}  // namespace generate

namespace {

using Tokens = std::vector<int>;

struct Sizes {
  int vocabulary = 7, positions = 20, hidden = 8, layers = 2;
};

// Memory, weights and records of a job, as Weft would give them; every allocation has a fence behind it.
class Host {
 public:
  Host() {
    host_.struct_size = sizeof host_;
    host_.abi_version = WEFT_FILL_ABI_VERSION;
    host_.max_blocks = 100;
    host_.context = this;
    host_.allocate = [](void* self, std::uint64_t bytes) { return address(of(self).take(bytes)); };
    host_.allocate_host = [](void* self, std::uint64_t bytes) { return of(self).take(bytes); };
    host_.log = [](void*, const char*) {};
    host_.fail = [](void* self, const char* text) { of(self).why = text; };
    host_.describe_parameter = [](void* self, const char* name, weft_fill_tensor* there) {
      return of(self).describe(name, there) ? 1 : 0;
    };
    host_.describe_input = [](void* self, const char*, weft_fill_tensor* there) {
      *there = {"tokens", WEFT_INT32, 1, {of(self).longest}, 1, 0};
      return 1;
    };
    host_.parameter = [](void* self, const weft_fill_tensor* wanted) { return of(self).parameter(*wanted); };
    host_.records = [](void* self, std::uint32_t count, std::uint64_t*) {
      of(self).per_unit = count;
      return 0;
    };
    host_.input = [](void* self, const weft_fill_tensor*, std::uint64_t* lengths) {
      of(self).prompts = static_cast<int*>(of(self).take(of(self).per_unit * of(self).longest * sizeof(int)));
      of(self).prompt_lengths = static_cast<std::uint32_t*>(of(self).take(of(self).per_unit * sizeof(std::uint32_t)));
      *lengths = address(of(self).prompt_lengths);
      return address(of(self).prompts);
    };
    host_.output = [](void* self, const weft_fill_tensor* tensor, std::uint64_t* lengths) {
      const bool variable = tensor->variable == 1;
      int*& values = variable ? of(self).found : of(self).passes;
      if (variable) of(self).most = tensor->shape[0];
      values = static_cast<int*>(of(self).take(of(self).per_unit * (variable ? tensor->shape[0] : 1) * sizeof(int)));
      if (variable) of(self).found_lengths = static_cast<std::uint32_t*>(of(self).take(of(self).per_unit * 4));
      if (variable) *lengths = address(of(self).found_lengths);
      return address(values);
    };
    host_.passes = [](void* self, std::uint32_t count) {
      of(self).most_passes = count;
      return of(self).again = static_cast<std::uint32_t*>(of(self).take(sizeof(std::uint32_t)));
    };
  }

  void add_model(const std::string& prefix, const Sizes& s, unsigned seed) {
    std::mt19937 random(seed);
    const auto add = [&](const std::string& name, std::vector<int> shape, float middle, float spread) {
      Tensor& tensor = weights_[prefix + name];
      tensor.shape = std::move(shape);
      std::size_t count = 1;
      for (const int size : tensor.shape) count *= static_cast<std::size_t>(size);
      std::normal_distribution<float> value(middle, spread);
      while (tensor.values.size() < count) tensor.values.push_back(value(random));
    };
    const int d = s.hidden;
    add("wte.weight", {s.vocabulary, d}, 0, 1);
    add("wpe.weight", {s.positions, d}, 0, 1);
    for (int layer = 0; layer < s.layers; ++layer) {
      const std::string name = "h." + std::to_string(layer) + ".";
      for (const char* const norm : {"ln_1", "ln_2"})
        add(name + norm + ".weight", {d}, 1, 0.1F), add(name + norm + ".bias", {d}, 0, 0.1F);
      add(name + "attn.c_attn.weight", {d, 3 * d}, 0, 0.5F), add(name + "attn.c_attn.bias", {3 * d}, 0, 0.1F);
      add(name + "attn.c_proj.weight", {d, d}, 0, 0.5F), add(name + "attn.c_proj.bias", {d}, 0, 0.1F);
      add(name + "mlp.c_fc.weight", {d, 4 * d}, 0, 0.5F), add(name + "mlp.c_fc.bias", {4 * d}, 0, 0.1F);
      add(name + "mlp.c_proj.weight", {4 * d, d}, 0, 0.3F), add(name + "mlp.c_proj.bias", {d}, 0, 0.1F);
    }
    add("ln_f.weight", {d}, 1, 0.1F), add("ln_f.bias", {d}, 0, 0.1F);
  }

  const weft_fill_host& host() const { return host_; }
  // As one that was built before there were passes.
  void forget_passes() { host_.struct_size = offsetof(weft_fill_host, passes); }
  bool fences_stand() const {
    for (const auto& [memory, bytes] : taken_)
      for (std::size_t i = 0; i < fence; ++i)
        if (memory[bytes + i] != 0x5a) return false;
    return true;
  }

  std::string why;
  std::uint64_t longest = 12, most = 0;
  std::uint32_t per_unit = 0, most_passes = 0;
  int *prompts = nullptr, *found = nullptr, *passes = nullptr;
  std::uint32_t *prompt_lengths = nullptr, *found_lengths = nullptr, *again = nullptr;

 private:
  static constexpr std::size_t fence = 64;
  struct Tensor {
    std::vector<int> shape;
    std::vector<float> values;
  };
  static Host& of(void* self) { return *static_cast<Host*>(self); }
  static std::uint64_t address(const void* memory) { return reinterpret_cast<std::uintptr_t>(memory); }
  void* take(std::uint64_t bytes) {
    auto& [memory, size] = taken_.emplace_back(std::make_unique<unsigned char[]>(bytes + fence), bytes);
    std::memset(memory.get() + bytes, 0x5a, fence);
    return memory.get();
  }
  bool describe(const char* name, weft_fill_tensor* found_tensor) const {
    const auto there = weights_.find(name);
    if (there == weights_.end()) return false;
    *found_tensor = {name, WEFT_FLOAT32, 0, {}, 0, 0};
    for (const int size : there->second.shape)
      found_tensor->shape[found_tensor->dimensions++] = static_cast<std::uint64_t>(size);
    return true;
  }
  std::uint64_t parameter(const weft_fill_tensor& wanted) {
    weft_fill_tensor there{};
    if (!describe(wanted.name, &there) || there.dimensions != wanted.dimensions ||
        std::memcmp(there.shape, wanted.shape, sizeof there.shape) != 0)
      return 0;
    return address(weights_.at(wanted.name).values.data());
  }

  weft_fill_host host_{};
  std::map<std::string, Tensor> weights_;
  std::vector<std::pair<std::unique_ptr<unsigned char[]>, std::uint64_t>> taken_;
};

struct Continued {
  std::vector<Tokens> texts;
  std::vector<int> passes;
};

// Units with the same memory: nothing of the first may be seen in the second.
Continued continue_texts(Host& host, const std::string& arguments, const std::vector<Tokens>& prompts) {
  const weft_fill_functions& job = *weft_fill_job_v2();
  weft_fill_job* made = nullptr;
  Continued result;
  if (job.init(&host.host(), arguments.c_str(), &made) != 0) {
    ADD_FAILURE() << host.why;
    return result;
  }
  for (std::size_t first = 0; first < prompts.size(); first += host.per_unit) {
    const std::size_t count = std::min<std::size_t>(host.per_unit, prompts.size() - first);
    for (std::size_t i = 0; i < host.per_unit; ++i) {
      const Tokens prompt = i < count ? prompts[first + i] : Tokens{};
      std::fill_n(host.prompts + i * host.longest, host.longest, 0);
      std::copy(prompt.begin(), prompt.end(), host.prompts + i * host.longest);
      host.prompt_lengths[i] = static_cast<std::uint32_t>(prompt.size());
      host.found_lengths[i] = ~0U;
    }
    std::uint32_t passes = 0;
    do job.record_unit(made, nullptr);
    while (++passes < host.most_passes && *host.again != 0);
    EXPECT_EQ(*host.again, 0U) << "it has no end";
    for (std::size_t i = 0; i < count; ++i) {
      const int* const begin = host.found + i * host.most;
      result.texts.emplace_back(begin, begin + host.found_lengths[i]);
      result.passes.push_back(host.passes[i]);
    }
  }
  job.destroy(made);
  EXPECT_TRUE(host.fences_stand()) << "it has written behind its memory";
  return result;
}

std::vector<Tokens> some_prompts(int vocabulary, std::size_t longest, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<Tokens> prompts;
  for (std::size_t length = 0; length <= longest; ++length) {
    Tokens& prompt = prompts.emplace_back();
    while (prompt.size() < length) prompt.push_back(static_cast<int>(random() % static_cast<unsigned>(vocabulary)));
  }
  return prompts;
}

class Guessing : public testing::TestWithParam<const char*> {};

TEST_P(Guessing, ChangesNoText) {
  int fewer = 0;
  for (unsigned seed = 1; seed <= 6; ++seed) {
    const std::vector<Tokens> prompts = some_prompts(7, 12, seed);
    Host plain_host, host;
    for (Host* const each : {&plain_host, &host}) each->add_model("", {}, seed);
    // One draft that is the model itself, and one that is another and has fewer positions.
    host.add_model("draft.0.", {}, seed % 2 == 0 ? seed : seed + 100);
    host.add_model("draft.1.", {7, 11, 4, 1}, seed + 50);
    const Continued plain = continue_texts(plain_host, "heads=2,batch=1,tokens=15,chunk=1", prompts);
    const Continued guessed = continue_texts(host, std::string("heads=2,tokens=15,") + GetParam(), prompts);
    ASSERT_EQ(plain.texts, guessed.texts) << "seed " << seed;
    for (std::size_t i = 0; i < plain.texts.size(); ++i) {
      EXPECT_EQ(plain.texts[i].size(), prompts[i].empty() ? 0U : std::min<std::size_t>(15, 20 - prompts[i].size()));
      EXPECT_EQ(plain.passes[i], static_cast<int>(plain.texts[i].size()));
      EXPECT_LE(guessed.passes[i], plain.passes[i]);
      fewer += plain.passes[i] - guessed.passes[i];
    }
  }
  EXPECT_GT(fewer, 0) << "no guess was right";
}

INSTANTIATE_TEST_SUITE_P(Trees, Guessing,
                         testing::Values("batch=1,width=1,depth=1", "batch=1,width=2,depth=3",
                                         "batch=3,width=4,depth=2", "batch=13,width=1,depth=7,chunk=3",
                                         "batch=2,width=3,depth=16", "batch=4,width=2,depth=2,chunk=100"));

TEST(Generating, EndsBehindTheTokenThatEndsATextInWhateverGuess) {
  for (unsigned seed = 1; seed <= 6; ++seed) {
    const std::vector<Tokens> prompts = some_prompts(7, 12, seed);
    Host host, guessing;
    host.add_model("", {}, seed);
    guessing.add_model("", {}, seed);
    guessing.add_model("draft.0.", {}, seed);
    const Continued whole = continue_texts(host, "heads=2,tokens=15", prompts);
    const Continued until = continue_texts(guessing, "heads=2,tokens=15,stop=3", prompts);
    for (std::size_t i = 0; i < prompts.size(); ++i) {
      Tokens wanted = whole.texts[i];
      wanted.erase(std::find(wanted.begin(), wanted.end(), 3), wanted.end());
      EXPECT_EQ(until.texts[i], wanted);
    }
  }
}

TEST(Generating, ADraftThatIsTheModelIsAlwaysRight) {
  Host host;
  host.add_model("", {}, 5);
  host.add_model("draft.0.", {}, 5);
  const Continued found = continue_texts(host, "heads=2,tokens=12,width=1,depth=3", {{1, 2, 3}});
  EXPECT_EQ(found.texts[0].size(), 12U);
  // The prompt gives the first token; then three guesses and the one behind them.
  EXPECT_EQ(found.passes[0], 4);
}

TEST(Generating, TokensThatTheVocabularyDoesNotHaveCountAsTheFirst) {
  Host host, other;
  for (Host* const each : {&host, &other}) each->add_model("", {}, 3);
  EXPECT_EQ(continue_texts(host, "heads=2,tokens=5", {{1, 1 << 30, 2}}).texts,
            continue_texts(other, "heads=2,tokens=5", {{1, 0, 2}}).texts);
}

TEST(Generating, RefusesWhatDoesNotFit) {
  const auto refused = [](const std::string& arguments, const auto& change) {
    Host host;
    host.add_model("", {}, 1);
    change(host);
    weft_fill_job* made = nullptr;
    EXPECT_NE(weft_fill_job_v2()->init(&host.host(), arguments.c_str(), &made), 0);
    return host.why;
  };
  const auto nothing = [](Host&) {};
  EXPECT_EQ(refused("heads=3", nothing), "heads=3 does not divide the 8 numbers of a token of 'wte.weight'");
  EXPECT_EQ(refused("heads=2", [](Host& host) { host.longest = 21; }),
            "there are records of 21 tokens, and the weights have 20 positions");
  EXPECT_EQ(refused("heads=2",
                    [](Host& host) {
                      host.add_model("draft.0.", {8, 20, 8, 1}, 1);
                    }),
            "the vocabulary of 'draft.0.wte.weight' is not that of the model");
  EXPECT_EQ(refused("heads=2",
                    [](Host& host) {
                      host.add_model("draft.0.", {7, 20, 8, 0}, 1);
                    }),
            "the weights have no layers: there is no 'draft.0.h.0.ln_1.weight'");
  EXPECT_EQ(refused("heads=2", [](Host& host) { host.forget_passes(); }),
            "this Weft is older than the job: it runs the work of a unit once");
  EXPECT_EQ(refused("tree=2", nothing), "unknown argument tree=2");
  EXPECT_EQ(refused("width=5", nothing), "argument width=5: width takes a whole number from 0 to 4");
}

}  // namespace
