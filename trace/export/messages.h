// Messages between ranks as an export shows them: a number that is the same on both sides, and when the sender began.
//
// Used by perfetto.cpp, in the weft command only, on one thread. The k-th send from a rank to another one on a
// communicator is the k-th receive there (docs/trace.md), so no side has to be kept until the other one comes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "trace/export/exported_run.h"

namespace weft {

struct GroupMessages {
  std::vector<std::uint64_t> sent, received;
};

// Those of a group whose other side can be told; none where the communicator is not known on other ranks.
GroupMessages messages_of(const ExportedRank& rank, const GroupRecord& group);

// When the groups of sends began, on the clocks of their ranks. Both ends of a message are seen by looks that are
// some time apart: a receive may be seen to end before its send begins, and an arrow would run backwards. Whoever draws
// it has to know. Memory is bounded: of more messages every second, fourth, eighth ... is kept, of all ranks alike.
class SendBegins {
 public:
  struct Begin {
    TimePoint time{};        // on the clock of the rank
    Duration within{};       // the true time is not farther away
    std::uint32_t rank = 0;  // index in ExportedRun::ranks
  };

  explicit SendBegins(std::size_t most = std::size_t{4} << 20) : most_(most) {}
  // A pass over the groups of all ranks; once.
  void read(const ExportedRun& run, ReadProgress* progress);
  std::optional<Begin> find(std::uint64_t message) const;
  bool is_sample() const { return exponent_ > 0; }  // there were more

 private:
  friend class SendReader;
  using Entry = std::pair<std::uint64_t, Begin>;

  bool is_kept(std::uint64_t message) const { return (message & ((std::uint64_t{1} << exponent_) - 1)) == 0; }
  void add(const Entry& begin);

  std::size_t most_;
  unsigned exponent_ = 0;      // of 2, by which messages are thinned out: they are evenly spread numbers
  std::vector<Entry> begins_;  // by message
};

}  // namespace weft
