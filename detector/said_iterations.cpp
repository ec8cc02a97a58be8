// Iterations that the framework says; the part of iterations.h that deals with them. Groups belong to the iteration in
// which they were issued; its times are the GPU's, as far as groups tell them: it begins when what was issued before is
// over, and ends with its own last group, but neither before the framework says so.
#include "detector/dcheck.h"
#include "detector/iterations.h"

namespace weft {
namespace {

// They are one rhythm, whatever is in them: the framework says what an iteration is.
constexpr std::uint64_t said_key = 0x7361'6964'6974'6572;

}  // namespace

void Iterations::saying_found() {
  WEFT_DCHECK(!bounded_ && period_ == 0);
  bounded_ = said_ = true;
  key_ = said_key;
  bounded_length_ = 0;
  ends_with_ = 0;
  turn_ = since_ = 0;
  start_known_ = false;
  running_.clear();
}

void Iterations::said_begun(std::int64_t number, std::uint64_t turn, TimePoint now) {
  WEFT_DCHECK(bounded_ && said_ && turn != 0);
  number_said_ = number;
  turn_ = turn;
  ++since_;
  base_ = size_;
  said_runs_ = true;
  phases_.begin_iteration();
  const Entry* const before = entry(size_ - 1);
  const bool pending = before != nullptr && before->done == TimePoint{};
  if (pending && (running_.empty() || running_.back().last != size_ - 1)) running_.push({size_ - 1});
  if (running_.empty()) start_now(now);
}

std::optional<Iteration> Iterations::said_ended(TimePoint now) {
  said_runs_ = false;
  if (size_ == base_) return std::nullopt;  // without communication: nothing tells when the GPU had done it
  bounded_length_ = static_cast<std::uint32_t>(size_ - base_);
  running_.push({size_ - 1, turn_, bounded_length_, since_, number_said_});
  const Entry* const last = entry(size_ - 1);
  ends_with_ = last == nullptr ? 0 : last->likeness;
  return last != nullptr && last->done != TimePoint{} ? bounded_done(size_ - 1, now) : std::nullopt;
}

Place Iterations::present() const {
  if (!bounded_) return size_ == 0 ? Place{} : place(size_ - 1);
  return said_ && !said_runs_ ? Place{} : bounded_present();
}

}  // namespace weft
