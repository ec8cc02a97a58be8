// The groups of all ranks of a run, held against each other: the k-th send from one rank to another has to be the k-th
// receive there, of as many bytes, and the k-th collective of a communicator the same on all of its ranks.
//
// Used by `weft summary`, `weft export` and tests, never inside the training process. Traces are added one by one; of
// each operation some 60 bytes are kept, of a bounded number. Where there are more, only those of every second, fourth,
// eighth ... sequence are: the same ones on all ranks, so what is compared is a sample of the whole run.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "trace/clocks/host_clocks.h"
#include "trace/record.h"

namespace weft {

class ClockBounds;
class ReadProgress;
class TraceSink;

enum class Unjoined : std::uint8_t {
#define REASON(name, text) name,
#include "trace/unjoined.def"
#undef REASON
};
inline constexpr std::array unjoined_names{
#define REASON(name, text) #name,
#include "trace/unjoined.def"
#undef REASON
};
inline constexpr std::array unjoined_texts{
#define REASON(name, text) text,
#include "trace/unjoined.def"
#undef REASON
};

struct GroupJoin {
  std::uint64_t recorded = 0;                                     // groups, of all ranks
  std::uint64_t joined = 0;                                       // every operation that was kept has its counterpart
  std::array<std::uint64_t, unjoined_names.size()> not_joined{};  // by Unjoined, each group once
  std::uint64_t not_looked_at = 0;                                // none of its operations was kept
  std::uint64_t unusable = 0;                                     // lines that hold something that cannot be true
  std::string first_difference;                                   // printable; "": none
};

class GroupJoiner {
 public:
  static constexpr std::size_t usual_most = std::size_t{4} << 20;
  // `bounds` takes the times of operations that were joined, and clocks with groups, in result(); nullptr: nobody needs
  // them. So joiners that are put together may have the same bounds, also on several threads.
  explicit GroupJoiner(std::size_t most_operations = usual_most, ClockBounds* bounds = nullptr)
      : most_(most_operations), bounds_(bounds) {}

  // Throws as read_trace(). `also` takes the lines of the file that it wants, so that it is read once.
  void add_file(const std::string& path, TraceSink* also = nullptr, TraceClock clock = {},
                ReadProgress* progress = nullptr);

  // The same, record by record and in any order: those of one device of a process, and then end_process().
  void begin_process(TraceClock clock) { clock_ = clock; }
  void add(const CommunicatorRecord& communicator) { communicators_[communicator.communicator] = communicator; }
  void add(const GroupRecord& group);
  void add_unusable(std::uint64_t lines) { result_.unusable += lines; }
  void end_process();
  void forget_process();  // instead of ending it

  // All that was added to another one, as if it had been added here.
  void add(const GroupJoiner& other);

  // After everything has been added; once.
  GroupJoin result();

 private:
  // One side of a message, or one rank's part in a collective. Ranks are those in the communicator; of a collective
  // `from` and `to` are -1.
  struct Side {
    std::uint64_t id = 0, sequence = 0, bytes = 0;
    TimePoint not_before{}, not_after{};  // as in TimedSide
    std::int32_t from = -1, to = -1, rank = -1;
    std::uint32_t group = 0, clock = 0;
    Operation kind = Operation::send;
    bool is_root = false;
  };

  void add(const OperationRecord& operation, const GroupRecord& group);
  bool is_kept(const Side& side) const { return (side.sequence & ((std::uint64_t{1} << exponent_) - 1)) == 0; }
  void leave_out(const Side& side);
  void thin_out();
  bool place(Side& side) const;
  void look_at(std::size_t begin, std::size_t end);
  void mark(const Side& side, Unjoined reason);
  std::size_t expected(const Side& side) const;
  bool have_traces(const Side& side) const;
  bool lack_only_groupless(std::span<const Side> sides) const;
  void note_difference(const Side& one, const Side& other);
  void compare_times(std::span<const Side> sides);

  std::size_t most_;
  ClockBounds* bounds_;
  TraceClock clock_;  // of the process that is being added
  // Of the process that is being added. Until it has ended, its sides have the process's number of the communicator in
  // place of its id, and the peer in `to`.
  std::map<CommunicatorId, CommunicatorRecord> communicators_;
  std::size_t first_side_ = 0, first_group_ = 0;
  std::uint64_t recorded_ = 0;

  unsigned exponent_ = 0;  // operations are kept whose sequence is a multiple of 2 ^ this
  std::vector<Side> sides_;
  std::vector<std::uint8_t> verdicts_;                     // of each group: 0 joined, else 1 + Unjoined; or `thinned`
  std::map<std::uint64_t, std::int32_t> sizes_;            // ranks of each communicator
  std::set<std::pair<std::uint64_t, std::int32_t>> seen_;  // communicator and rank with a trace
  std::set<std::pair<std::uint64_t, std::int32_t>> groupless_;  // of those the ones whose trace has no groups
  std::map<std::uint64_t, std::int32_t> traced_;                // how many of its ranks have one
  std::set<std::uint32_t> clocks_;                              // those with groups
  GroupJoin result_;
};

}  // namespace weft
