// See schedules.h.
#include "sim/pipeline/schedules.h"

#include <algorithm>
#include <deque>
#include <stdexcept>
#include <string>

namespace weft::pipeline {
namespace {

// Collects the pieces of one rank. Of each kind of work the microbatches of a stage come in order.
class Order {
 public:
  Order(int stages, int microbatches) : next_(static_cast<std::size_t>(stages)), microbatches_(microbatches) {}

  void forward(int stage) { add(Work::forward, stage, next_[at(stage)].forward++); }
  void backward(int stage) { add(Work::backward, stage, next_[at(stage)].backward++); }
  // The other half of the backward pass waits for weight_gradient().
  void input_gradient(int stage) {
    const int microbatch = next_[at(stage)].backward++;
    add(Work::input_gradient, stage, microbatch);
    if (microbatch < microbatches_) waiting_.push_back({Work::weight_gradient, stage, microbatch});
  }
  // The one that has waited for longest; of this stage, where one is named.
  void weight_gradient(int stage = any) {
    const auto first = std::find_if(waiting_.begin(), waiting_.end(),
                                    [&](const Piece& each) { return stage == any || each.stage == stage; });
    if (first == waiting_.end()) return;
    pieces_.push_back(*first);
    waiting_.erase(first);
  }
  void all_weight_gradients() {
    while (!waiting_.empty()) weight_gradient();
  }

  int forwards(int stage) const { return next_[at(stage)].forward; }
  std::vector<Piece> take() { return std::move(pieces_); }

 private:
  static constexpr int any = -1;
  struct Next {
    int forward = 0, backward = 0;
  };

  static std::size_t at(int stage) { return static_cast<std::size_t>(stage); }
  // A schedule that needs more microbatches than there are goes through its steps without them.
  void add(Work work, int stage, int microbatch) {
    if (microbatch < microbatches_) pieces_.push_back({work, stage, microbatch});
  }

  std::vector<Next> next_;
  int microbatches_;
  std::vector<Piece> pieces_;
  std::deque<Piece> waiting_;  // weight gradients
};

void gpipe(Order& order, int stage, int microbatches) {
  for (int i = 0; i < microbatches; ++i) order.forward(stage);
  for (int i = 0; i < microbatches; ++i) order.backward(stage);
}

// `ahead`: microbatches that the stage takes before the first one comes back.
void one_f_one_b(Order& order, int stage, int microbatches, int ahead) {
  const int first = std::min(microbatches, ahead);
  for (int i = 0; i < first; ++i) order.forward(stage);
  for (int i = first; i < microbatches; ++i) {
    order.forward(stage);
    order.backward(stage);
  }
  for (int i = 0; i < first; ++i) order.backward(stage);
}

// As 1F1B, but later ranks put their weight gradients off, and do them where the others would wait at the end.
void zb_h1(Order& order, int rank, int ranks, int microbatches) {
  const int first = std::min(microbatches, ranks - 1 - rank);
  int off = rank;
  const auto backward = [&] {
    order.input_gradient(rank);
    if (off-- <= 0) order.weight_gradient();
  };
  for (int i = 0; i < first; ++i) order.forward(rank);
  for (int i = first; i < microbatches; ++i) {
    order.forward(rank);
    backward();
  }
  for (int i = 0; i < first; ++i) backward();
  order.all_weight_gradients();
}

// Megatron's order: rounds of as many microbatches as there are ranks, through one chunk after the other.
void interleaved(Order& order, int rank, const ScheduleOptions& options) {
  const int ranks = options.ranks, chunks = options.chunks, all = options.microbatches * chunks;
  const auto stage_of = [&](int step, bool forward) {
    const int chunk = step % (ranks * chunks) / ranks;
    return (forward ? chunk : chunks - 1 - chunk) * ranks + rank;
  };
  const int first = std::min(all, (ranks - rank - 1) * 2 + (chunks - 1) * ranks);
  for (int step = 0; step < first; ++step) order.forward(stage_of(step, true));
  for (int step = first; step < all; ++step) {
    order.forward(stage_of(step, true));
    order.backward(stage_of(step - first, false));
  }
  for (int step = all - first; step < all; ++step) order.backward(stage_of(step, false));
}

// A rank has one stage on the way down and one on the way up.
struct Folded {
  int rank, ranks;
  int down() const { return rank; }
  int up() const { return 2 * ranks - 1 - rank; }
};

void zb_v(Order& order, const Folded& at, int microbatches) {
  const int behind = at.ranks - at.rank, down = at.down(), up = at.up();
  const auto backward = [&](int stage) {
    order.input_gradient(stage);
    order.weight_gradient(stage);
  };
  for (int i = 0; i < 2 * behind - 1; ++i) order.forward(down);
  for (int i = 0; i < at.rank; ++i) {
    order.forward(up);
    order.forward(down);
  }
  for (int i = 0; i < behind; ++i) {
    order.forward(up);
    backward(up);
  }
  const int all = std::max(microbatches, 2 * at.ranks - 1);
  while (order.forwards(up) < order.forwards(down) || order.forwards(down) < all) {
    if (order.forwards(down) < all) order.forward(down);
    backward(down);
    order.forward(up);
    backward(up);
  }
  for (int i = 0; i < at.rank; ++i) {
    order.input_gradient(down);
    order.input_gradient(up);
  }
  for (int i = 0; i < behind; ++i) {
    order.input_gradient(down);
    order.weight_gradient(down);
  }
  order.all_weight_gradients();
}

void dualpipe_v(Order& order, const Folded& at, int microbatches) {
  const int behind = at.ranks - at.rank - 1, down = at.down(), up = at.up();
  for (int i = 0; i < 2 * behind; ++i) order.forward(down);
  for (int i = 0; i <= at.rank; ++i) {
    order.forward(down);
    order.forward(up);
  }
  for (int i = 0; i < behind; ++i) {
    order.input_gradient(up);
    order.weight_gradient();
    order.forward(up);
  }
  for (int i = 0; i < microbatches - 2 * at.ranks + at.rank + 1; ++i) {
    order.forward(down);
    order.backward(up);
    order.forward(up);
    order.backward(down);
  }
  for (int i = 0; i < behind; ++i) {
    order.backward(up);
    order.forward(up);
    order.backward(down);
  }
  // From the middle on, weight gradients are put off.
  for (int piece = 0; piece < 2 * (at.rank + 1); ++piece) {
    const int stage = piece % 2 == 0 ? up : down;
    if (piece > at.rank)
      order.input_gradient(stage);
    else
      order.backward(stage);
  }
  for (int i = 0; i < behind; ++i) {
    order.weight_gradient();
    order.input_gradient(down);
  }
  order.all_weight_gradients();
}

[[noreturn]] void refuse(const std::string& text) {
  throw std::invalid_argument(text);
}

int stages_of(const ScheduleOptions& options) {
  switch (options.schedule) {
    case Schedule::interleaved:
    case Schedule::offload:
      return options.ranks * options.chunks;
    case Schedule::zb_v:
    case Schedule::dualpipe_v:
      return options.ranks * 2;
    default:
      return options.ranks;
  }
}

void look_at(const ScheduleOptions& options) {
  if (options.ranks < 1 || options.microbatches < 1) refuse("a pipeline has at least one rank and one microbatch");
  const auto at_fault = [&] {
    return std::string(schedule_names[static_cast<std::size_t>(options.schedule)]) + ", " +
           std::to_string(options.microbatches) + " microbatches: ";
  };
  if (options.schedule == Schedule::interleaved || options.schedule == Schedule::offload) {
    if (options.chunks < 1) refuse("a rank has at least one chunk");
    if (options.microbatches % options.ranks != 0)
      refuse(at_fault() + "the number of microbatches is a multiple of the number of ranks");
  }
  if (options.schedule == Schedule::dualpipe_v && options.microbatches < 2 * options.ranks)
    refuse(at_fault() + "at least twice as many microbatches as ranks");
  if (options.schedule != Schedule::graph) return;
  if (options.followers.size() != static_cast<std::size_t>(options.ranks)) refuse("graph: followers of each stage");
  for (int stage = 0; stage < options.ranks; ++stage)
    for (const int follower : options.followers[static_cast<std::size_t>(stage)])
      if (follower <= stage || follower >= options.ranks) refuse("graph: followers have higher numbers");
}

// A forward pass through the first chunks comes long before its backward pass, and half of the activations can go to
// the host at next to no cost in most trainings (PipeOffload).
bool offloads(const ScheduleOptions& options, int stage) {
  return options.schedule == Schedule::offload && stage / options.ranks < (options.chunks + 1) / 2;
}

// Stages behind this one on the longest way.
std::vector<int> depths(const std::vector<std::vector<int>>& followers) {
  std::vector<int> found(followers.size());
  for (std::size_t stage = followers.size(); stage-- > 0;)
    for (const int follower : followers[stage])
      found[stage] = std::max(found[stage], found[static_cast<std::size_t>(follower)] + 1);
  return found;
}

}  // namespace

Orders orders_of(const ScheduleOptions& options) {
  look_at(options);
  const int stages = stages_of(options), microbatches = options.microbatches;
  Orders orders;
  orders.followers = options.followers;
  orders.followers.resize(static_cast<std::size_t>(stages));
  if (options.schedule != Schedule::graph)
    for (int stage = 0; stage + 1 < stages; ++stage) orders.followers[static_cast<std::size_t>(stage)] = {stage + 1};
  orders.sources.resize(orders.followers.size());
  for (int stage = 0; stage < stages; ++stage) {
    const bool folded = options.schedule == Schedule::zb_v || options.schedule == Schedule::dualpipe_v;
    const bool goes_up = folded && stage >= options.ranks;
    orders.rank_of_stage.push_back(goes_up ? stages - 1 - stage : stage % options.ranks);
    orders.offloads.push_back(offloads(options, stage));
    for (const int follower : orders.followers[static_cast<std::size_t>(stage)])
      orders.sources[static_cast<std::size_t>(follower)].push_back(stage);
  }
  const std::vector<int> ahead = depths(orders.followers);
  for (int rank = 0; rank < options.ranks; ++rank) {
    Order order(stages, microbatches);
    switch (options.schedule) {
      case Schedule::gpipe:
        gpipe(order, rank, microbatches);
        break;
      case Schedule::one_f_one_b:
      case Schedule::graph:
        one_f_one_b(order, rank, microbatches, ahead[static_cast<std::size_t>(rank)]);
        break;
      case Schedule::interleaved:
      case Schedule::offload:
        interleaved(order, rank, options);
        break;
      case Schedule::zb_h1:
        zb_h1(order, rank, options.ranks, microbatches);
        break;
      case Schedule::zb_v:
        zb_v(order, {rank, options.ranks}, microbatches);
        break;
      case Schedule::dualpipe_v:
        dualpipe_v(order, {rank, options.ranks}, microbatches);
        break;
    }
    orders.of_rank.push_back(order.take());
  }
  return orders;
}

Orders forward_only(Orders orders) {
  for (std::vector<Piece>& pieces : orders.of_rank)
    std::erase_if(pieces, [](const Piece& piece) { return piece.work != Work::forward; });
  return orders;
}

}  // namespace weft::pipeline
