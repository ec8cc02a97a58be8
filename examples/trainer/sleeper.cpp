// See sleeper.h.
#include "sleeper.h"

#include <algorithm>
#include <random>
#include <stdexcept>
#include <thread>
#include <utility>

namespace trainer {
namespace {

constexpr std::chrono::microseconds look{50};
// Gradients are much smaller than activations.
constexpr float sent_activation = 1.0F, sent_gradient = 1e-4F;

DeviceArray<float> made_up(int count, float size, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<float> values(static_cast<std::size_t>(count));
  for (float& value : values) value = size * (static_cast<float>(random() >> 8) * 0x1p-23F - 1.0F);
  DeviceArray<float> array(values.size());
  CHECK(cudaMemcpy(array.data(), values.data(), array.bytes(), cudaMemcpyHostToDevice));
  return array;
}

}  // namespace

Sleeper::Sleeper(const Options& options, const Place& place, std::vector<Instruction> program, int activation,
                 cudaStream_t stream)
    : options_(options),
      place_(place),
      program_(std::move(program)),
      timetable_({options.schedule, place.ranks, options.microbatches, options.chunks}),
      activation_(activation),
      stream_(stream),
      communication_(place, WaitKind::event, options.schedule == ScheduleKind::interleaved,
                     static_cast<int>(program_.size()), stream),
      forward_(made_up(activation, sent_activation, options.seed)),
      backward_(made_up(activation, sent_gradient, options.seed + 1)),
      received_(static_cast<std::size_t>(activation)),
      totals_(2),
      host_totals_(2) {
  for (const Instruction& i : program_)
    if (i.kind == Instruction::Kind::exchange) exchanges_.push_back(&i);
  posted_.resize(exchanges_.size());
}

void Sleeper::learn_times(Board& board) {
  board_ = &board;
  const Clock::time_point give_up = Clock::now() + std::chrono::minutes(2);
  while ((times_ = board.times()).backward <= 0) {
    if (Clock::now() > give_up) throw std::runtime_error("the computing stage has not started in two minutes");
    std::this_thread::sleep_for(look);
  }
}

std::vector<float> Sleeper::iterate(int iteration) {
  iteration_ = iteration;
  computed_ = 0;
  posted_.assign(posted_.size(), false);
  free_since_ = Clock::now();
  for (const Instruction& i : program_) {
    switch (i.kind) {
      case Instruction::Kind::forward:
        compute(times_.forward);
        break;
      case Instruction::Kind::backward:
        compute(times_.backward);
        break;
      case Instruction::Kind::exchange:
        exchange(i);
        break;
      case Instruction::Kind::wait:
        wait(i);
        break;
    }
  }
  finish_iteration();
  return {host_totals_[0], host_totals_[1]};
}

// Late wake-ups do not add up: the next sleep begins where this one should have ended.
void Sleeper::compute(double seconds) {
  free_since_ += std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
  wait_until([&] { return Clock::now() >= free_since_; });
  board_->set_count(base(place_.rank) + ++computed_);
}

void Sleeper::exchange(const Instruction& instruction) {
  if (!is_with_stage(instruction)) return;
  std::uint64_t needed = 0;
  const auto look_at = [&](const std::vector<Transfer>& transfers, bool sends) {
    for (const Transfer& t : transfers)
      needed = std::max(needed, static_cast<std::uint64_t>(timetable_.other_end_computed(place_.rank, t, sends)));
  };
  look_at(instruction.sends, true);
  look_at(instruction.receives, false);
  pending_[static_cast<std::size_t>(instruction.lane)].push_back({&instruction, base(options_.stage) + needed});
  post_what_can_be();
}

void Sleeper::wait(const Instruction& wait) {
  const Instruction& awaited = exchange_of(wait);
  if (is_with_stage(awaited)) {
    wait_until([&] {
      return posted_[static_cast<std::size_t>(awaited.exchange)] && communication_.is_over(awaited.exchange);
    });
  } else {
    wait_until([&] {
      return std::all_of(awaited.receives.begin(), awaited.receives.end(), [&](const Transfer& t) {
        const int computed = timetable_.other_end_computed(place_.rank, t, false);
        return board_->count(t.peer) >= base(t.peer) + static_cast<std::uint64_t>(computed);
      });
    });
  }
  free_since_ = std::max(free_since_, Clock::now());
}

void Sleeper::finish_iteration() {
  wait_until([&] {
    return std::all_of(std::begin(pending_), std::end(pending_), [](const auto& lane) { return lane.empty(); });
  });
  board_->set_count(base(place_.rank) + ++computed_);
  // Only when nobody computes any more: the sum is a kernel that spins until all have come.
  wait_until([&] {
    for (int rank = 0; rank < place_.ranks; ++rank)
      if (board_->count(rank) < base(rank) + static_cast<std::uint64_t>(timetable_.computed(rank)) + 1) return false;
    return true;
  });
  CHECK(cudaMemsetAsync(totals_.data(), 0, totals_.bytes(), stream_));
  communication_.sum_over_ranks(totals_.data(), 2);
  CHECK(cudaMemcpyAsync(host_totals_.data(), totals_.data(), totals_.bytes(), cudaMemcpyDeviceToHost, stream_));
  CHECK(cudaStreamSynchronize(stream_));
}

bool Sleeper::is_with_stage(const Instruction& exchange) const {
  const auto with_stage = [&](const Transfer& t) { return t.peer == options_.stage; };
  return std::any_of(exchange.sends.begin(), exchange.sends.end(), with_stage) ||
         std::any_of(exchange.receives.begin(), exchange.receives.end(), with_stage);
}

const Instruction& Sleeper::exchange_of(const Instruction& wait) const {
  return *exchanges_[static_cast<std::size_t>(wait.exchange)];
}

// A rank's count before this iteration: one for each forward and backward, and one for the end of an iteration.
std::uint64_t Sleeper::base(int rank) const {
  return static_cast<std::uint64_t>(iteration_) * (static_cast<std::uint64_t>(timetable_.computed(rank)) + 1);
}

void Sleeper::wait_until(const std::function<bool()>& done) {
  for (;;) {
    post_what_can_be();
    if (done()) return;
    std::this_thread::sleep_for(look);
  }
}

void Sleeper::post_what_can_be() {
  for (std::deque<Pending>& lane : pending_) {
    while (!lane.empty() && board_->count(options_.stage) >= lane.front().needed) {
      post(*lane.front().instruction);
      lane.pop_front();
    }
  }
}

void Sleeper::post(const Instruction& instruction) {
  std::vector<Communication::Message> sends, receives;
  for (const Transfer& t : instruction.sends)
    sends.push_back({t.direction == Direction::forward ? forward_.data() : backward_.data(), t.peer});
  for (const Transfer& t : instruction.receives) receives.push_back({received_.data(), t.peer});
  communication_.exchange(instruction.exchange, instruction.lane, sends, receives, activation_);
  posted_[static_cast<std::size_t>(instruction.exchange)] = true;
}

}  // namespace trainer
