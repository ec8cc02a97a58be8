// The iterations of one rank by their contents: which groups each has, in the order of their calls. Iterations that are
// alike are kept once, so memory does not grow with the trace.
//
// Filled from the records of one trace by names.cpp, in the weft command and in tests only. Pure. Only iterations whose
// groups are all there count: of a trace with holes nothing is said.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "trace/record.h"

namespace weft::names {

constexpr bool is_message(Operation kind) noexcept {
  return kind == Operation::send || kind == Operation::receive;
}

struct IssuedGroup {
  GroupId id = 0;
  CommunicatorId communicator = 0;
  std::vector<OperationRecord> operations;
};

// Ranks count the iterations alike, anew each time that they open their communicators anew.
struct IterationNumber {
  std::uint32_t count = 0;  // how often that was
  std::uint64_t number = 0;
  friend auto operator<=>(const IterationNumber&, const IterationNumber&) = default;
};

// Iterations with the same operations to the same peers in the same order; of messages the bytes may differ.
struct IterationShape {
  std::vector<IssuedGroup> groups;  // of the first of them
  std::uint64_t iterations = 0;
  IterationNumber first;
};

// Iterations of one shape one after the other.
struct ShapeRun {
  IterationNumber first;
  std::uint64_t last = 0;
  std::uint32_t shape = 0;
};

// Where a group stands.
struct GroupPlace {
  std::uint32_t shape = 0;
  std::uint32_t place = 0;  // from 0, in the order of the calls
  friend auto operator<=>(const GroupPlace&, const GroupPlace&) = default;
};

class RankIterations {
 public:
  static constexpr std::size_t most_shapes = 64;
  static constexpr std::size_t most_pending = 64;            // iterations that are not over
  static constexpr std::size_t most_groups = 65'536;         // of one of these; a trace of Weft stays far below
  static constexpr std::size_t most_kept = 4 * most_groups;  // groups of all shapes together

  static constexpr std::size_t most_runs = 1024;

  // Who wants to know the place of each group; called once for each iteration that is complete.
  class Watcher {
   public:
    virtual ~Watcher() = default;
    virtual void placed(std::uint64_t iteration, const IssuedGroup& group, GroupPlace place) = 0;
  };

  explicit RankIterations(Watcher* watcher = nullptr) : watcher_(watcher) {}

  // In the order of the trace. An iteration is looked at when the second one behind it is over, as groups of several
  // streams may outlast it; finish() looks at the rest.
  void take(const Record& record);
  // The trace is over, or a process begins to count again because it has opened its communicators anew.
  void finish();
  // All that was taken is of another process, which wrote into the same file before.
  void forget();

  const std::map<CommunicatorId, CommunicatorRecord>& communicators() const { return communicators_; }
  const CommunicatorRecord* communicator(CommunicatorId number) const;  // nullptr: it is not known
  const std::vector<IterationShape>& shapes() const { return shapes_; }
  // Of which shape the iterations were, in their order; nullptr: it changed too often.
  const std::vector<ShapeRun>* runs() const { return runs_.size() < most_runs ? &runs_ : nullptr; }
  std::uint64_t incomplete() const { return incomplete_; }  // iterations that lack groups
  std::uint64_t groups() const { return groups_; }          // in the whole trace
  bool has_too_many_shapes() const { return too_many_; }

 private:
  struct Pending {
    std::vector<IssuedGroup> groups;
    std::optional<std::uint32_t> expected;  // groups in the iteration; nothing: it is not over
    bool is_whole = true;                   // of each group all operations are known
  };

  void take(const GroupRecord& group);
  void take(const Iteration& iteration);
  void look_at_first();
  void look_at(std::uint64_t number, Pending& pending);
  std::optional<std::uint32_t> shape_of(const std::vector<IssuedGroup>& groups, std::uint64_t number);
  void add_to_runs(std::uint64_t number, std::uint32_t shape);

  Watcher* watcher_;
  std::map<CommunicatorId, CommunicatorRecord> communicators_;
  std::map<std::uint64_t, Pending> pending_;  // by the number of the iteration
  std::uint64_t looked_at_ = 0;               // iterations up to this one
  std::map<std::string, std::uint32_t> known_;
  std::vector<IterationShape> shapes_;
  std::vector<ShapeRun> runs_;
  std::uint32_t count_ = 0;  // how often iterations were counted anew
  std::uint64_t incomplete_ = 0, groups_ = 0;
  std::size_t kept_ = 0;  // groups of all shapes
  bool too_many_ = false;
};

// The trace of one rank, for as long as names are made.
struct NamedRank {
  std::int64_t rank = 0, ranks = 0;  // as in its header
  const RankIterations* iterations = nullptr;
};

}  // namespace weft::names
