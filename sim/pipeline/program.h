// The work of one rank in one iteration of a pipeline: its steps in the order in which its host takes them.
//
// Used by pipelines.cpp only, which gives the steps times. Pure.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "sim/pipeline/pipelines.h"

namespace weft::testing {

enum class Direction { forward, backward };
enum StreamNumber : StreamId {
  compute_stream = 1,
  shared = 2,
  forward_in = 3,
  forward_out = 4,
  backward_in = 5,
  backward_out = 6
};

struct Step {
  enum class Kind { compute, exchange, wait, all_reduce, sum_aside, end } kind;
  Direction direction = Direction::forward;
  bool send = false, receive = false;  // exchange
  Direction receive_direction = Direction::forward;
  StreamId stream = shared;
  int exchange = -1;        // exchange, wait: number in the iteration
  std::uint64_t bytes = 0;  // exchange: of each message; all_reduce, sum_aside
};

struct Task {
  Direction direction;
  int number;
  int chunk;
};

template <class Value>
Value of_iteration(const std::vector<Value>& values, int iteration, Value otherwise) {
  return values.empty() ? otherwise : values[static_cast<std::size_t>(iteration) % values.size()];
}

// The work of a rank in one iteration, counted from 0.
class Program {
 public:
  Program(const PipelineOptions& options, int rank, int iteration)
      : o_(options), rank_(rank), bytes_(of_iteration(options.message_bytes, iteration, std::uint64_t{4096})) {
    o_.microbatches = of_iteration(o_.microbatch_counts, iteration, o_.microbatches);
    if (is_evaluation(o_, iteration))
      evaluation();
    else if (o_.schedule == Schedule::gpipe)
      gpipe();
    else if (o_.schedule == Schedule::one_f_one_b)
      one_f_one_b();
    else
      interleaved();
    if (is_evaluation(o_, iteration))
      sum(Step::Kind::all_reduce, o_.evaluation_sums);
    else if (o_.all_reduce)
      optimizer_step(o_.skip_step_every != 0 && (iteration + 1) % o_.skip_step_every == 0);
    steps.push_back({Step::Kind::end});
  }
  std::vector<Step> steps;
  int exchanges = 0;

 private:
  bool sends(Task t) const {
    return t.direction == Direction::forward ? !(rank_ == o_.stages - 1 && t.chunk == o_.chunks - 1)
                                             : !(rank_ == 0 && t.chunk == 0);
  }
  bool receives(Task t) const {
    return t.direction == Direction::forward ? !(rank_ == 0 && t.chunk == 0)
                                             : !(rank_ == o_.stages - 1 && t.chunk == o_.chunks - 1);
  }
  void compute(Task t) {
    steps.push_back({Step::Kind::compute, t.direction});
    sum(Step::Kind::sum_aside, o_.in_microbatch_sums);
  }
  void sum(Step::Kind kind, const std::vector<std::uint64_t>& all) {
    for (const std::uint64_t bytes : all) {
      steps.push_back({kind});
      steps.back().bytes = bytes;
    }
  }
  void optimizer_step(bool skipped) {
    std::vector<std::uint64_t> all = o_.sums.empty() ? std::vector<std::uint64_t>{8} : o_.sums;
    if (skipped) all.resize(1);
    sum(Step::Kind::all_reduce, all);
    const bool embeds = rank_ == 0 || rank_ == o_.stages - 1;
    if (o_.embedding_sum != 0 && embeds) sum(Step::Kind::sum_aside, {o_.embedding_sum});
  }
  int exchange(const Task* out, const Task* in, bool lanes = false) {
    const bool send = out != nullptr && sends(*out), receive = in != nullptr && receives(*in);
    if (!send && !receive) return -1;
    Step s{Step::Kind::exchange, send ? out->direction : Direction::forward, send, receive};
    if (receive) s.receive_direction = in->direction;
    if (lanes && send) s.stream = out->direction == Direction::forward ? forward_out : backward_out;
    if (lanes && receive) s.stream = in->direction == Direction::forward ? forward_in : backward_in;
    s.exchange = exchanges++;
    s.bytes = bytes_;
    steps.push_back(s);
    return s.exchange;
  }
  void wait(int number) {
    if (number < 0) return;
    Step s{Step::Kind::wait};
    s.exchange = number;
    steps.push_back(s);
  }
  void gpipe() {
    for (const Direction d : {Direction::forward, Direction::backward})
      for (int i = 0; i < o_.microbatches; ++i) {
        const Task t{d, i, 0};
        wait(exchange(nullptr, &t));
        compute(t);
        exchange(&t, nullptr);
      }
  }
  void evaluation() {
    for (int i = 0; i < o_.microbatches; ++i) {
      const Task t{Direction::forward, i, 0};
      wait(exchange(nullptr, &t));
      compute(t);
      exchange(&t, nullptr);
    }
  }
  void one_f_one_b() {
    const int warm_up = std::min(o_.microbatches, o_.stages - 1 - rank_), steady = o_.microbatches - warm_up;
    const Task f{Direction::forward, 0, 0}, b{Direction::backward, 0, 0};
    for (int i = 0; i < warm_up; ++i) {
      wait(exchange(nullptr, &f));
      compute(f);
      exchange(&f, nullptr);
    }
    if (steady > 0) wait(exchange(nullptr, &f));
    for (int i = 0; i < steady; ++i) {
      compute(f);
      wait(exchange(&f, &b));
      compute(b);
      if (i + 1 < steady)
        wait(exchange(&b, &f));
      else
        exchange(&b, nullptr);
    }
    for (int i = 0; i < warm_up; ++i) {
      wait(exchange(nullptr, &b));
      compute(b);
      exchange(&b, nullptr);
    }
  }
  // Megatron's order; receives are posted one task ahead, on a stream of their own.
  void interleaved() {
    const int total = o_.microbatches * o_.chunks;
    const int warm_up = std::min(total, (o_.stages - rank_ - 1) * 2 + (o_.chunks - 1) * o_.stages);
    const auto task = [&](Direction d, int n) {
      const int chunk = n % (o_.stages * o_.chunks) / o_.stages;
      return Task{d, n, d == Direction::forward ? chunk : o_.chunks - 1 - chunk};
    };
    std::vector<Task> order;
    for (int i = 0; i < warm_up; ++i) order.push_back(task(Direction::forward, i));
    for (int i = 0; i < total - warm_up; ++i) {
      order.push_back(task(Direction::forward, warm_up + i));
      order.push_back(task(Direction::backward, i));
    }
    for (int i = total - warm_up; i < total; ++i) order.push_back(task(Direction::backward, i));
    int posted = exchange(nullptr, &order.front(), true);
    for (std::size_t i = 0; i < order.size(); ++i) {
      const int needed = posted;
      if (i + 1 < order.size()) posted = exchange(nullptr, &order[i + 1], true);
      wait(needed);
      compute(order[i]);
      exchange(&order[i], nullptr, true);
    }
  }

  PipelineOptions o_;
  int rank_;
  std::uint64_t bytes_;
};

}  // namespace weft::testing
