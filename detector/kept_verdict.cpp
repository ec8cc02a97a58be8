// The latest verdict, kept for as long as nothing changes that it depends on; see streams.h. Called by the detector
// after each event, on its one thread.
//
// Most of what the host enqueues stands behind much that is still ahead, and changes no verdict. Whatever changes
// anything else makes the latest one stale: where it is not known to leave the verdict as it is, it does. Tests find
// each kept verdict anew.
#include <algorithm>

#include "detector/dcheck.h"
#include "detector/streams.h"

namespace weft {

// All that a verdict leaves behind and anything else reads.
struct Streams::Kept {
  Verdict verdict;
  bool wants_answers, legacy_stands_between, is_settled, is_in_doubt, is_learning, looks_for_blocking, after_dark;
  std::uint64_t questions;
  int looks_learned;
  std::size_t context_waits;
  std::vector<StreamId> doubtful, once_doubtful;
  std::vector<Position> places;  // of all streams
  friend bool operator==(const Kept&, const Kept&) = default;
};

Streams::Kept Streams::kept() const {
  Kept kept{verdict_,
            wants_answers_,
            legacy_stands_between_,
            is_settled_,
            is_in_doubt_,
            is_learning_,
            looks_for_blocking_now_,
            are_after_dark_,
            questions_,
            looks_learned_,
            context_waits_.size(),
            {},
            {},
            {}};
  for (const Stream& stream : streams_) {
    if (stream.is_doubtful) kept.doubtful.push_back(stream.id);
    if (stream.was_doubtful) kept.once_doubtful.push_back(stream.id);
    kept.places.push_back(stream.where);
  }
  return kept;
}

Verdict Streams::verdict() {
  if (is_stale_) new_verdict();
  if (checks_kept_ && !is_stale_) check_kept();
  return verdict_;
}

// With a new period of questions answers no longer count that this verdict has read.
void Streams::new_verdict() {
  const std::uint64_t questions = questions_;
  reads_ = {};
  verdict_ = find_verdict();
  is_stale_ = questions_ != questions;
}

// All that the kept verdict depends on stays as it was: a verdict that is found anew may depend on more.
void Streams::check_kept() {
  const Kept before = kept();
  const Reads reads = reads_;
  std::vector<bool> end_matters;
  for (const Stream& stream : streams_) end_matters.push_back(stream.end_matters);
  const auto sharers = sharers_;
  are_sharers_stale_ ? void() : find_sharers();
  if (sharers_ != sharers) throw BrokenInvariant("which streams share a queue is stale");
  leaves_nothing_out_ = true;
  new_verdict();
  leaves_nothing_out_ = false;
  if (!(kept() == before)) throw BrokenInvariant("the verdict that was kept is stale");
  reads_ = reads;
  for (std::size_t i = 0; i < streams_.size(); ++i) streams_[i].end_matters = end_matters[i];
}

// Whether there may be another verdict with this mark behind all others of its stream. One queue is asked for all that
// stands in it.
bool Streams::matters(const Stream& stream, const Mark& next) const {
  const bool may_be_obstacle = next.kind == Kind::wait || next.kind == Kind::copied || next.kind == Kind::lost;
  return one_queue_ || queues_are_shared_ || stream.ahead.empty() || stream.ahead.full() ||
         stream.answer.says != StreamAnswer::none || reads_.tickets || reads_.marks ||
         (may_be_obstacle && stream.end_matters);
}

}  // namespace weft
