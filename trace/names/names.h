// Names for the groups, bubbles and slots of a run, as people speak of them: "activation 3 of 8 from stage 1 (rank 9)",
// "gradient 5 of 8 from stage 3 (rank 11)", "all-reduce of 8 bytes in MODEL_PARALLEL_GROUP". And the stage of each
// rank, and for what each communicator is used.
//
// Used by `weft summary`, `weft export`, `weft report` and tests, never inside the training process. Pure. A name is
// right or says less ("receive from rank 3, 5th of the iteration"): where the order of the calls is of no schedule that
// is known, where ranks or groups are missing, notes() says so once. docs/names.md has the rules.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "trace/names/rank_iterations.h"
#include "trace/record.h"

namespace weft {

namespace names {
class Peers;
class Pipelines;
}  // namespace names

// For what a communicator is used. `other`: for several of these, for something else, or it cannot be told.
enum class Role : std::uint8_t { pipeline, data, tensor, other };
inline constexpr std::array role_names{"pipeline", "data", "tensor", "other"};

// Where in its iteration a rank is with a group, by the order of its calls: before its first gradient, between, behind
// its last activation, behind its last message. `unknown`: its pipeline is.
enum class Phase : std::uint8_t { unknown, warm_up, steady, cool_down, optimizer };
inline constexpr std::array phase_names{"", "warm-up", "steady", "cool-down", "optimizer"};

// A rank's place in its pipeline.
struct StageOfRank {
  std::int32_t stage = 0, stages = 0;  // ranks of the pipeline, in the order of the forward pass
  std::int32_t chunks = 1;             // parts of the model on each: virtual stage = chunk * stages + stage
};

// A send or receive whose place in the schedule is known.
struct MessageName {
  bool is_gradient = false, is_received = false;
  std::int32_t microbatch = 0, microbatches = 0;  // from 0
  std::int32_t stage = 0, chunk = 0;              // of this rank
  std::int32_t peer_stage = 0, peer_chunk = 0;    // whence it comes, or where it goes
  std::optional<std::int64_t> peer_rank;          // of the run; nothing: it has no trace
  friend bool operator==(const MessageName&, const MessageName&) = default;
};

struct OperationName {
  std::string text;                    // printable, for people
  std::optional<MessageName> message;  // nothing: it is a collective, or its place is not known
};

struct GroupName {
  Phase phase = Phase::unknown;
  std::vector<OperationName> operations;  // as those of the group
  // Of all of them: "gradient 1 of 8 from stage 2 (rank 2), with activation 4 of 8 to stage 2 (rank 2)".
  std::string text() const;
  // Of the one that a bubble of this cause waits for: a receive before a send.
  const OperationName* awaited(Cause cause) const;
};

class RunNames {
 public:
  // Learns from the iterations of all traces of a run, or of one. These have been finished, and outlive this object.
  explicit RunNames(std::vector<names::NamedRank> traces);
  ~RunNames();
  RunNames(RunNames&&) noexcept;
  RunNames& operator=(RunNames&&) noexcept;

  // Traces have the numbers in which they were given. Nothing: it is in no pipeline that is known.
  std::optional<StageOfRank> stage(std::size_t trace) const;
  // Of all communicators of the trace.
  std::map<CommunicatorId, Role> roles(std::size_t trace) const;
  // The groups of a shape of iterations of the trace, in the order of the calls. Made anew at each call: a run may have
  // thousands of ranks, so who needs them twice keeps them.
  std::vector<GroupName> groups(std::size_t trace, std::uint32_t shape) const;
  // That the program gave the communicator, printable; "": none.
  std::string communicator(std::size_t trace, CommunicatorId communicator) const;
  // A group of no iteration, or of one that lacks some: from the group alone.
  GroupName group(std::size_t trace, const GroupRecord& group) const;
  // A bubble without a group in the trace (WEFT_TRACE_GROUPS=off), of which only its slot is known.
  std::string of_slot(std::size_t trace, const Slot& slot, Cause cause) const;
  // Printable; why some have no better names. Each once.
  const std::vector<std::string>& notes() const { return notes_; }

 private:
  bool has_unmatched_shapes(std::size_t trace) const;
  void add_notes();

  std::vector<names::NamedRank> ranks_;
  std::unique_ptr<names::Peers> peers_;
  std::unique_ptr<names::Pipelines> pipelines_;
  std::vector<std::optional<StageOfRank>> stages_;
  std::vector<std::string> notes_;
};

}  // namespace weft
