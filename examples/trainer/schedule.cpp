// GPipe, 1F1B and interleaved 1F1B as programs. See schedule.h.
#include "schedule.h"

#include <algorithm>
#include <utility>

namespace trainer {
namespace {

struct Task {
  Direction direction;
  int microbatch;
  int chunk;
};

class Builder {
 public:
  Builder(const Pipeline& pipeline, int rank) : pipeline_(pipeline), rank_(rank) {}

  std::vector<Instruction> take() { return std::move(program_); }

  void compute(const Task& task) {
    Instruction instruction{};
    instruction.kind = task.direction == Direction::forward ? Instruction::Kind::forward : Instruction::Kind::backward;
    instruction.microbatch = task.microbatch;
    instruction.chunk = task.chunk;
    program_.push_back(std::move(instruction));
  }

  // One NCCL group; returns its number, or -1 when there is nothing to exchange.
  int exchange(std::vector<Transfer> sends, std::vector<Transfer> receives, Lane lane = Lane::shared) {
    if (sends.empty() && receives.empty()) return -1;
    Instruction instruction{};
    instruction.kind = Instruction::Kind::exchange;
    instruction.exchange = exchanges_++;
    instruction.lane = lane;
    instruction.sends = std::move(sends);
    instruction.receives = std::move(receives);
    program_.push_back(std::move(instruction));
    return exchanges_ - 1;
  }

  void wait(int exchange) {
    if (exchange < 0) return;
    Instruction instruction{};
    instruction.kind = Instruction::Kind::wait;
    instruction.exchange = exchange;
    program_.push_back(std::move(instruction));
  }

  // The input of a task from a neighbour, and its output for a neighbour; empty at the ends of the model.
  std::vector<Transfer> input(const Task& task) const {
    const bool forward = task.direction == Direction::forward;
    if (forward ? is_first(task.chunk) : is_last(task.chunk)) return {};
    return {{task.direction, task.microbatch, task.chunk, forward ? previous() : next()}};
  }
  std::vector<Transfer> output(const Task& task) const {
    const bool forward = task.direction == Direction::forward;
    if (forward ? is_last(task.chunk) : is_first(task.chunk)) return {};
    return {{task.direction, task.microbatch, task.chunk, forward ? next() : previous()}};
  }

 private:
  bool is_first(int chunk) const { return rank_ == 0 && chunk == 0; }
  bool is_last(int chunk) const { return rank_ == pipeline_.ranks - 1 && chunk == pipeline_.chunks - 1; }
  int next() const { return (rank_ + 1) % pipeline_.ranks; }
  int previous() const { return (rank_ + pipeline_.ranks - 1) % pipeline_.ranks; }

  Pipeline pipeline_;
  int rank_;
  int exchanges_ = 0;
  std::vector<Instruction> program_;
};

// All forwards, then all backwards; each receive is waited for at once.
std::vector<Instruction> make_gpipe(const Pipeline& pipeline, int rank) {
  Builder builder(pipeline, rank);
  for (const Direction direction : {Direction::forward, Direction::backward}) {
    for (int microbatch = 0; microbatch < pipeline.microbatches; ++microbatch) {
      const Task task{direction, microbatch, 0};
      builder.wait(builder.exchange({}, builder.input(task)));
      builder.compute(task);
      builder.exchange(builder.output(task), {});
    }
  }
  return builder.take();
}

// Warm-up forwards, then one forward and one backward in turn, then the remaining backwards. In the steady state a send
// and the next receive go to the same neighbour and share a group, as they must: the neighbour does the same.
std::vector<Instruction> make_one_f_one_b(const Pipeline& pipeline, int rank) {
  Builder builder(pipeline, rank);
  const int total = pipeline.microbatches;
  const int warm_up = std::min(total, pipeline.ranks - 1 - rank);
  const auto forward = [](int microbatch) { return Task{Direction::forward, microbatch, 0}; };
  const auto backward = [](int microbatch) { return Task{Direction::backward, microbatch, 0}; };

  for (int i = 0; i < warm_up; ++i) {
    builder.wait(builder.exchange({}, builder.input(forward(i))));
    builder.compute(forward(i));
    builder.exchange(builder.output(forward(i)), {});
  }
  const int steady = total - warm_up;
  if (steady > 0) builder.wait(builder.exchange({}, builder.input(forward(warm_up))));
  for (int i = 0; i < steady; ++i) {
    builder.compute(forward(warm_up + i));
    builder.wait(builder.exchange(builder.output(forward(warm_up + i)), builder.input(backward(i))));
    builder.compute(backward(i));
    if (i + 1 < steady) {
      builder.wait(builder.exchange(builder.output(backward(i)), builder.input(forward(warm_up + i + 1))));
    } else {
      builder.exchange(builder.output(backward(i)), {});
    }
  }
  for (int i = steady; i < total; ++i) {
    builder.wait(builder.exchange({}, builder.input(backward(i))));
    builder.compute(backward(i));
    builder.exchange(builder.output(backward(i)), {});
  }
  return builder.take();
}

// The order of tasks of Megatron's interleaved 1F1B: microbatches in rounds of `ranks`, chunk after chunk in each
// round.
std::vector<Task> interleaved_order(const Pipeline& pipeline, int rank) {
  const int chunks = pipeline.chunks;
  const int total = pipeline.microbatches * chunks;
  const auto task = [&](Direction direction, int number) {
    const int round = number / (pipeline.ranks * chunks);
    const int within = number % (pipeline.ranks * chunks);
    const int chunk = within / pipeline.ranks;
    const int microbatch = round * pipeline.ranks + within % pipeline.ranks;
    return Task{direction, microbatch, direction == Direction::forward ? chunk : chunks - 1 - chunk};
  };
  const int warm_up = std::min(total, (pipeline.ranks - rank - 1) * 2 + (chunks - 1) * pipeline.ranks);
  std::vector<Task> order;
  for (int i = 0; i < warm_up; ++i) order.push_back(task(Direction::forward, i));
  for (int i = 0; i < total - warm_up; ++i) {
    order.push_back(task(Direction::forward, warm_up + i));
    order.push_back(task(Direction::backward, i));
  }
  for (int i = total - warm_up; i < total; ++i) order.push_back(task(Direction::backward, i));
  return order;
}

// Receives are posted one task ahead, each direction on a lane of its own, and waited for just before they are needed.
std::vector<Instruction> make_interleaved(const Pipeline& pipeline, int rank) {
  if (pipeline.ranks < 2 || pipeline.microbatches % pipeline.ranks != 0) return {};
  Builder builder(pipeline, rank);
  const std::vector<Task> order = interleaved_order(pipeline, rank);
  const auto post = [&](const Task& task) {
    return builder.exchange({}, builder.input(task),
                            task.direction == Direction::forward ? Lane::forward_in : Lane::backward_in);
  };
  int posted = order.empty() ? -1 : post(order.front());
  for (std::size_t i = 0; i < order.size(); ++i) {
    const int needed = posted;
    if (i + 1 < order.size()) posted = post(order[i + 1]);
    builder.wait(needed);
    builder.compute(order[i]);
    builder.exchange(builder.output(order[i]), {},
                     order[i].direction == Direction::forward ? Lane::forward_out : Lane::backward_out);
  }
  return builder.take();
}

}  // namespace

std::vector<Instruction> make_program(const Pipeline& pipeline, int rank) {
  switch (pipeline.schedule) {
    case ScheduleKind::gpipe:
      return make_gpipe(pipeline, rank);
    case ScheduleKind::one_f_one_b:
      return make_one_f_one_b(pipeline, rank);
    case ScheduleKind::interleaved:
      return make_interleaved(pipeline, rank);
  }
  return {};
}

}  // namespace trainer
