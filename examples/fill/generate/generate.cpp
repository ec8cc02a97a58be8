// Fill job: continues texts with a GPT-2, greedily, one record a text. Small draft models guess a tree of tokens, and
// the model looks at all of them at once and keeps those that it would have found itself: the text is the same, in
// fewer passes. Weights: the model's, and those of drafts behind `draft.0.`, `draft.1.` and so on. README.md has an
// example.
//
// Arguments: heads=4, draft_heads (those of the model), batch=4 (texts of a unit), tokens=64 (that are found at most),
// width=2 (branches of each draft), depth=3 (guesses of a branch), chunk=8 (tokens of a prompt that are read at once,
// at least), stop=-1 (the token that ends a text), offload=0 (1: the weights may be on the host between two units).
// Loaded and called by Weft, see weft/fill.h.
#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "../support.h"
#include "../taking.h"
#include "kernels.h"
#include "model.h"

struct weft_fill_job {
  weft_fill_host host{};
  int heads = 4, draft_heads = 0, batch = 4, tokens = 64, width = 2, depth = 3, chunk = 8, stop = -1;
  int offload = 0;
  std::vector<generate::Model> model, drafts;  // one model
  generate::Texts texts;
  generate::Work work;
  int* guesses = nullptr;  // of the draft at work, see Kind::branches
};

namespace {

constexpr int most_branches = 64;

// The parts of init(), one after the other.
void take_models(weft_fill_job& job, fill::Taking& take) {
  if (!take.failed() && !generate::Model::is_in_weights(take, ""))
    take.fail("the weights have no tensor 'wte.weight': they are not those of a GPT-2");
  job.model.emplace_back(take, "", job.heads);
  for (int number = 0; !take.failed(); ++number) {
    const std::string prefix = "draft." + std::to_string(number) + ".";
    if (!generate::Model::is_in_weights(take, prefix)) break;
    job.drafts.emplace_back(take, prefix, job.draft_heads == 0 ? job.heads : job.draft_heads);
    if (!take.failed() && job.drafts.back().shape().vocabulary != job.model.front().shape().vocabulary)
      take.fail("the vocabulary of '" + prefix + "wte.weight' is not that of the model");
  }
  if (job.depth == 0 || job.width == 0) job.drafts.clear();
  if (static_cast<int>(job.drafts.size()) * job.width > most_branches)
    take.fail("there are more than " + std::to_string(most_branches) + " branches of all drafts");
}

void take_texts(weft_fill_job& job, fill::Taking& take) {
  const weft_fill_tensor prompts = take.input_like("tokens", 1);
  if (take.failed()) return;
  generate::Texts& t = job.texts;
  t.positions = job.model.front().shape().positions;
  if (prompts.shape[0] > static_cast<std::uint64_t>(t.positions))
    return take.fail("there are records of " + std::to_string(prompts.shape[0]) + " tokens, and the weights have " +
                     std::to_string(t.positions) + " positions");
  t.tree = {static_cast<int>(job.drafts.size()), job.drafts.empty() ? 0 : job.width,
            job.drafts.empty() ? 0 : job.depth};
  t.lanes = job.batch;
  t.prompt = static_cast<int>(prompts.shape[0]);
  t.stride = std::max(generate::tree_rows(t.tree), std::min(job.chunk, t.prompt));
  t.most = std::min(job.tokens, t.positions);
  t.stop = job.stop;
  take.records(t.lanes);
  t.prompts = take.input<int>("tokens", {t.prompt}, &t.prompt_lengths);
  t.found = take.output<int>("tokens", {t.most}, &t.found_lengths);
  t.passes = take.output<int>("passes", {});
  t.again =
      take.failed() ? nullptr : job.host.passes(job.host.context, static_cast<std::uint32_t>(t.positions + t.most + 2));
  if (t.again == nullptr) take.fail("its passes are refused");
}

void take_memory(weft_fill_job& job, fill::Taking& take) {
  generate::Texts& t = job.texts;
  const double rows = 1.0 * t.lanes * t.stride, texts = 1.0 * t.lanes * t.positions;
  double width = 0, vocabulary = 0, scores = 0, numbers = 0;
  for (const std::vector<generate::Model>* models : {&job.model, &job.drafts})
    for (const generate::Model& model : *models) {
      const generate::Shape& s = model.shape();
      width = std::max(width, 1.0 * s.hidden);
      vocabulary = std::max(vocabulary, 1.0 * s.vocabulary);
      scores = std::max(scores, rows * s.heads * s.positions);
      numbers = std::max(numbers, 2.0 * rows * s.layers * s.hidden);
    }
  if (rows * vocabulary > 2e9 || scores > 2e9 || rows * 4 * width > 2e9 || numbers > 2e9 || texts > 2e9)
    return take.fail("a batch of " + std::to_string(t.lanes) + " such texts is too large");
  for (generate::Model& model : job.model) model.take_memory(take, t.lanes, t.stride);
  for (generate::Model& draft : job.drafts) draft.take_memory(take, t.lanes, t.stride);
  t.lane = take.device<generate::Lane>(t.lanes);
  t.text = take.device<int>(texts);
  t.rows = take.device<int>(rows);
  t.draft_rows = take.device<int>(rows);
  t.kept = take.device<int>(rows);
  job.guesses = take.device<int>(rows);
  job.work.x = take.device<float>(rows * width);
  job.work.normal = take.device<float>(rows * width);
  job.work.scores = take.device<float>(scores);
  job.work.mixed = take.device<float>(rows * width);
  job.work.inner = take.device<float>(rows * 4 * width);
  job.work.logits = take.device<float>(rows * vocabulary);
  job.work.best = take.device<generate::Best>(rows);
  job.work.parts = take.device<generate::Best>(rows * (1 + vocabulary / generate::span));
}

int init(const weft_fill_host* host, const char* arguments, weft_fill_job** out) {
  return fill::make_job(*host, out, [&](weft_fill_job& job) {
    if (job.host.passes == nullptr)
      return std::string("this Weft is older than the job: it runs the work of a unit once");
    const std::array<fill::Argument, 9> known{{{"heads", &job.heads, 1, 1024},
                                               {"draft_heads", &job.draft_heads, 0, 1024},
                                               {"batch", &job.batch, 1, 4096},
                                               {"tokens", &job.tokens, 1, 1 << 20},
                                               {"width", &job.width, 0, generate::most_guesses},
                                               {"depth", &job.depth, 0, 16},
                                               {"chunk", &job.chunk, 1, 1024},
                                               {"stop", &job.stop, -1, 1 << 20},
                                               {"offload", &job.offload, 0, 1}}};
    const std::string wrong = fill::read_arguments(arguments, known);
    if (!wrong.empty()) return wrong;
    fill::Taking take(job.host, job.offload == 1);
    take_models(job, take);
    take_texts(job, take);
    if (!take.failed()) take_memory(job, take);
    return take.wrong();
  });
}

generate::Rows rows_of(const weft_fill_job& job, generate::Kind kind, const generate::Model& model, const int* tokens) {
  const generate::Texts& t = job.texts;
  return {kind, t.tree, t.lanes, t.stride, 0, t.stride, model.shape().positions, t.lane, tokens};
}

// The draft reads what has become text since it read last, and guesses what comes next, level by level.
void record_draft(const weft_fill_job& job, const generate::Launch& to, int number) {
  const generate::Texts& t = job.texts;
  const generate::Model& draft = job.drafts[static_cast<std::size_t>(number)];
  draft.record(to, rows_of(job, generate::Kind::chain, draft, t.draft_rows), job.work);
  draft.record_keep(to, {t.lanes, t.stride, t.lane, nullptr});
  generate::Rows rows = rows_of(job, generate::Kind::last_of_chain, draft, t.draft_rows);
  rows.rows = 1;
  draft.record_best(to, rows, job.work);
  launch_guess(to, t, draft.shape(), number, 0, job.work.best, job.guesses);
  rows = rows_of(job, generate::Kind::branches, draft, job.guesses);
  rows.rows = t.tree.width;
  for (int level = 1; level < t.tree.depth; ++level, rows.first += t.tree.width) {
    draft.record(to, rows, job.work);
    draft.record_best(to, rows, job.work);
    launch_guess(to, t, draft.shape(), number, level, job.work.best, job.guesses);
  }
}

int record_unit(weft_fill_job* job, weft_stream stream_handle) {
  const generate::Texts& t = job->texts;
  const generate::Model& model = job->model.front();
  const generate::Launch to{static_cast<int>(job->host.max_blocks), static_cast<cudaStream_t>(stream_handle)};
  launch_plan(to, t);
  for (int number = 0; number < t.tree.drafts; ++number) record_draft(*job, to, number);
  const generate::Rows rows = rows_of(*job, generate::Kind::text, model, t.rows);
  model.record(to, rows, job->work);
  model.record_best(to, rows, job->work);
  launch_accept(to, t, job->work.best);
  model.record_keep(to, {t.lanes, t.stride, t.lane, t.kept});
  launch_decide(to, t);
  const cudaError_t error = cudaGetLastError();
  return error == cudaSuccess ? 0 : fill::fail(job->host, cudaGetErrorString(error));
}

// A token that the vocabulary does not have would show a fault.
int check(weft_fill_job* job, const weft_fill_records* records, int* correct) {
  const auto* const tokens = static_cast<const int*>(records->outputs[0]);
  *correct = 1;
  for (std::uint32_t record = 0; record < records->count; ++record)
    for (std::uint32_t i = 0; i < records->output_lengths[0][record]; ++i) {
      const int token = tokens[record * static_cast<std::uint32_t>(job->texts.most) + i];
      if (token < 0 || token >= job->model.front().shape().vocabulary) *correct = 0;
    }
  return 0;
}

void destroy(weft_fill_job* job) {
  delete job;
}

constexpr weft_fill_functions functions{sizeof(weft_fill_functions),
                                        WEFT_FILL_ABI_VERSION,
                                        0,
                                        "generate",
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
