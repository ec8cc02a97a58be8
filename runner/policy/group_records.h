// The groups of one device that are under way, until each is a record for the trace.
//
// Used by the Session only, on its thread. Pure: times are those of the events. A group's record is ready when it is
// over, or when it is known that nobody will see its end. At most so many are remembered; what is older then is ready
// as it is.
//
// A communicator that is busy within microbatches (tensor parallelism) has thousands of groups in a second, which would
// fill the trace. Of such a one only groups with every second, fourth, eighth ... message of an edge or collective
// become records, until they are some hundred in a second. The numbers of operations are equal on all ranks, so both
// sides of those are left over. A group's other operations may have counterparts in groups that are not.
#pragma once

#include <cstddef>
#include <map>
#include <vector>

#include "detector/event.h"
#include "trace/record.h"

namespace weft {

class GroupRecords {
 public:
  // `within`: how far the times of what was found at this look may be from the true ones. Events of other kinds than
  // those of groups are passed over.
  void observe(const Event& event, Duration within);
  // All that are left, whether they are over or not.
  void give_up(TimePoint now);

  // Groups that became no record because there were too many.
  std::uint64_t thinned_out() const { return thinned_out_; }

  // The records that have become ready since the last call, without their iterations; valid until the next one.
  const std::vector<GroupRecord>& take_ready();

 private:
  static constexpr std::size_t most = 4096;
  struct Pending {
    GroupRecord record;    // `left_out`: the operations that have not come yet
    bool has_end = false;  // a marker is behind it
  };
  using Table = std::map<GroupId, Pending>;
  // How many groups of a communicator become records: one in 2 ^ `exponent`.
  struct Pace {
    unsigned exponent = 0;
    std::uint32_t records = 0;  // since `since`
    TimePoint since{};
  };

  void add(const Event& event);
  Pending& pending(GroupId id);
  void add_operations(Table::iterator group, const Event& event);
  void finish(Table::iterator group, TimePoint time);
  bool is_wanted(const GroupRecord& record, TimePoint time);

  Table pending_;
  std::vector<Table::node_type> spare_;
  std::map<CommunicatorId, Pace> paces_;
  std::uint64_t thinned_out_ = 0;
  std::vector<GroupRecord> ready_, taken_;
};

}  // namespace weft
