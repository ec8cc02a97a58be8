// See training.h.
#include "training.h"

#include <algorithm>
#include <utility>

#include "weft/annotate.h"

namespace trainer {

Training::Training(const Options& options, const Place& place, std::vector<Instruction> program, const Text& text,
                   cudaStream_t compute)
    : options_(options),
      rank_(place.rank),
      ranks_(place.ranks),
      program_(std::move(program)),
      text_(text),
      compute_(compute),
      shape_{text.vocabulary(), options.hidden, options.heads, options.sequence, options.batch},
      model_(options, shape_, place.rank, place.ranks, compute),
      communication_(place, options.wait, options.schedule == ScheduleKind::interleaved,
                     static_cast<int>(program_.size()), compute),
      characters_(static_cast<std::size_t>(2 * options.microbatches * shape_.tokens())),
      totals_(2) {}

void Training::show_progress_on(Board& board) {
  progress_ = board.device_count();
  if (options_.stage_time.empty())
    stage_time_ = measure_times();
  else
    stage_time_ = {1e-3 * options_.stage_time[0], 1e-3 * options_.stage_time[1]};
  board.set_times(stage_time_);
}

std::vector<float> Training::iterate(int iteration) {
  if (options_.annotate) weft_begin_iteration(iteration);
  load_characters(iteration);
  model_.begin_iteration();
  for (const Instruction& instruction : program_) {
    if (options_.annotate) annotate(instruction);
    execute(instruction);
  }
  if (options_.annotate) weft_end_microbatch(microbatch_);
  model_.compute_norm();
  computed_one();
  communication_.sum_over_ranks(model_.totals(), 2);
  CHECK(cudaMemcpyAsync(totals_.data(), model_.totals(), 2 * sizeof(float), cudaMemcpyDeviceToHost, compute_));
  model_.update(iteration + 1, options_.learning_rate);
  CHECK(cudaStreamSynchronize(compute_));
  if (options_.annotate) weft_end_iteration(iteration);
  return {totals_[0], totals_[1]};
}

void Training::save(const std::string& path) {
  const std::string part = path + ".part";
  const int layers = options_.layers_per_chunk * options_.chunks * ranks_;
  write_part(part, rank_, tensors_of_gpt2(shape_.vocabulary, shape_.sequence, shape_.hidden, layers), model_.weights(),
             shape_.heads, text_.alphabet());
  communication_.sum_over_ranks(model_.totals(), 2);
  CHECK(cudaStreamSynchronize(compute_));
  if (rank_ == 0) publish(part, path, ranks_);
}

// An exchange counts for the first microbatch that it receives or sends.
void Training::annotate(const Instruction& i) {
  if (i.kind == Instruction::Kind::wait) return;
  const std::vector<Transfer>& transfers = i.receives.empty() ? i.sends : i.receives;
  const bool moves = i.kind == Instruction::Kind::exchange && !transfers.empty();
  weft_set_stage(rank_, moves ? transfers.front().chunk : i.chunk);
  microbatch_ = moves ? transfers.front().microbatch : i.microbatch;
  weft_begin_microbatch(microbatch_);
}

void Training::load_characters(int iteration) {
  const int tokens = shape_.tokens();
  const auto bytes = static_cast<std::size_t>(tokens) * sizeof(int);
  for (int m = 0; m < options_.microbatches; ++m) {
    int* inputs = characters_.data() + 2 * m * tokens;
    int* targets = inputs + tokens;
    text_.sample(options_.seed, iteration, m, options_.batch, inputs, targets);
    if (model_.has_first_stage())
      CHECK(cudaMemcpyAsync(model_.characters(m), inputs, bytes, cudaMemcpyHostToDevice, compute_));
    if (model_.has_last_stage())
      CHECK(cudaMemcpyAsync(model_.targets(m), targets, bytes, cudaMemcpyHostToDevice, compute_));
  }
}

void Training::execute(const Instruction& i) {
  switch (i.kind) {
    case Instruction::Kind::forward:
      model_.forward(i.chunk, i.microbatch);
      return computed_one();
    case Instruction::Kind::backward:
      model_.backward(i.chunk, i.microbatch);
      return computed_one();
    case Instruction::Kind::wait:
      return communication_.wait(i.exchange);
    case Instruction::Kind::exchange:
      return communication_.exchange(i.exchange, i.lane, messages(i.sends, true), messages(i.receives, false),
                                     shape_.activation());
  }
}

std::vector<Communication::Message> Training::messages(const std::vector<Transfer>& transfers, bool send) const {
  std::vector<Communication::Message> result;
  for (const Transfer& t : transfers) {
    const bool forward = t.direction == Direction::forward;
    float* data = send
                      ? (forward ? model_.output(t.chunk, t.microbatch) : model_.input_gradient(t.chunk, t.microbatch))
                      : (forward ? model_.input(t.chunk, t.microbatch) : model_.output_gradient(t.chunk, t.microbatch));
    result.push_back({data, t.peer});
  }
  return result;
}

// The second of two goes: the first loads what is loaded late. Its gradients and activations are cleared
// or overwritten by the first iteration.
Board::Times Training::measure_times() {
  cudaEvent_t marks[3];
  for (cudaEvent_t& mark : marks) CHECK(cudaEventCreate(&mark));
  load_characters(0);
  for (int go = 0; go < 2; ++go) {
    model_.begin_iteration();
    CHECK(cudaEventRecord(marks[0], compute_));
    model_.forward(0, 0);
    CHECK(cudaEventRecord(marks[1], compute_));
    model_.backward(0, 0);
    CHECK(cudaEventRecord(marks[2], compute_));
    CHECK(cudaStreamSynchronize(compute_));
  }
  float forward = 0, backward = 0;  // milliseconds
  CHECK(cudaEventElapsedTime(&forward, marks[0], marks[1]));
  CHECK(cudaEventElapsedTime(&backward, marks[1], marks[2]));
  for (cudaEvent_t mark : marks) CHECK(cudaEventDestroy(mark));
  return {1e-3 * static_cast<double>(forward), 1e-3 * static_cast<double>(backward)};
}

void Training::computed_one() {
  if (progress_ != nullptr) kernels::publish(progress_, ++computed_, compute_);
}

}  // namespace trainer
