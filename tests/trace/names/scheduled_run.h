// The records that the ranks of a pipeline would leave, made from the order of their work, with what each message truly
// is.
//
// Used by the tests of names. Pure. The orders are those of sim/pipeline, which shares nothing with the names.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "sim/pipeline/schedules.h"
#include "trace/names/names.h"
#include "trace/names/rank_iterations.h"

namespace weft::testing {

// How the ranks talk.
struct RunStyle {
  enum class Communicators { one, pairs, lanes } communicators = Communicators::one;  // lanes: of each way its own
  bool paired = false;  // a send and the next receive from the same rank are one group
  int ahead = 0;        // receives are posted so many pieces earlier
  // Or when their sender's piece comes in a plan of all ranks, which take turns. Paired: all of a turn are one group.
  bool planned = false;
  std::uint32_t uneven = 0;     // how many of eight turns each rank misses, the first one by the last octal digit
  int parts = 1;                // tensors of each message
  bool apart = false;           // which are groups of their own
  int replicas = 1;             // pipelines, whose stages sum up their gradients
  bool splits_tensors = false;  // a sum in each pass, of a communicator that each rank has with its tensor neighbour
  int iterations = 3;
  int first_iterations = 2;  // that are of none, as the rhythm was not known yet
};

// Virtual stages of the model.
struct TrueMessage {
  bool is_gradient = false;
  int microbatch = 0, from = 0, to = 0;
};

struct RankRun {
  std::vector<Record> records;
  std::map<std::pair<GroupId, std::size_t>, TrueMessage> truth;  // by group and operation
  std::int64_t rank = 0;
};

std::vector<RankRun> run_of(const pipeline::Orders& orders, const RunStyle& style);

// Whether ranks that work in these orders come to their ends, and do not wait for each other for ever.
bool is_possible(const pipeline::Orders& orders);

// Names held against the truth. `less`: the name says less.
struct Score {
  std::uint64_t right = 0, less = 0, wrong = 0;
};

class NamedRun {
 public:
  NamedRun(const std::vector<RankRun>& run, int ranks);

  const RunNames& names() const { return *names_; }
  const names::RankIterations& iterations(std::size_t trace) const { return iterations_[trace]; }
  Score score(const std::vector<RankRun>& run, int microbatches) const;

 private:
  std::vector<names::RankIterations> iterations_;
  std::optional<RunNames> names_;
};

}  // namespace weft::testing
