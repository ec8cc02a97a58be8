// The numbers of a rank's page that no total has: its latest iterations, idle time by cause and by peer, how good
// forecasts are, what its fill jobs and their memory are. The sums come from the accounts of the device.
//
// Fed by the dispatcher thread with every record that it makes, and asked by it some times in a second. Pure; fixed
// size, no memory is asked for.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "runner/policy/session.h"
#include "trace/live/live_page.h"
#include "trace/record.h"
#include "trace/record_sink.h"

namespace weft {

class LiveAccounts final : public RecordSink {
 public:
  void push(const Record& record) noexcept override;
  // All of the page's numbers but those that set_totals() fills in. `filling`: as the session stands.
  void fill(const Snapshot& filling, LiveNumbers& numbers) const;

 private:
  static constexpr std::size_t latest_errors = 64;
  struct Wait {
    CommunicatorId communicator = 0;
    std::int32_t peer = -1;
    Duration idle{};
  };
  struct Opened {
    CommunicatorId communicator = 0;
    LiveCommunicator known;  // id 0: this place is free
  };

  void add(const Bubble& bubble);
  void add(const SliceRecord& slice) { filled_ += slice.alone.count(); }
  void add(const Iteration& iteration);
  void add(const MemoryRecord& memory);
  void add(const JobRecord& job);
  void add(const AnomalyRecord& anomaly);
  void add(const CommunicatorRecord& communicator);
  void add(const SlowdownRecord&) {}
  void add(const WatchingRecord&) {}
  void add(const UncertainRecord&) {}
  void add(const DarkTime&) {}
  void add(const MoveRecord&) {}
  void add(const LimitRecord&) {}
  void add(const GroupRecord&) {}
  void add(const ClockRecord&) {}
  void add(const CallFrameRecord&) {}

  void add_wait(CommunicatorId communicator, std::int32_t peer, Duration idle);
  void add_forecast(const Forecast& forecast, Duration length);
  LiveCommunicator known(CommunicatorId communicator) const;
  double forecast_error() const;
  void fill_iterations(LiveNumbers& numbers) const;
  void fill_waits(LiveNumbers& numbers) const;
  void fill_jobs(LiveNumbers& numbers) const;

  std::array<std::int64_t, live_causes> idle_by_cause_{};
  std::array<LiveIteration, live_iterations> recent_{};  // a ring
  std::uint64_t iterations_ = 0;                         // that were put into it
  std::uint64_t last_iteration_ = 0;
  TimePoint last_iteration_ended_{};
  std::int64_t filled_ = 0;                    // since the latest iteration
  std::array<float, latest_errors> errors_{};  // a ring
  std::uint64_t forecasts_ = 0, within_ = 0;
  MemoryRecord memory_{};
  bool memory_known_ = false;
  std::array<JobName, most_jobs> jobs_{};  // by number; "": it is not ready
  RecordText anomaly_, stopped_;           // the latest; the one that stopped filling
  std::uint32_t anomalies_ = 0;
  std::array<Wait, live_waits> waits_{};
  std::size_t wait_count_ = 0;
  Duration other_waits_{};
  std::array<Opened, live_communicators> communicators_{};
  std::uint32_t communicators_left_out_ = 0;
};

// The sums, as the summary of the trace has them. `startup`: of `totals` where these are of a summary, else as the
// accounts know it by now.
void set_totals(const TraceSummary& totals, const std::optional<StartupRecord>& startup, LiveNumbers& numbers);

}  // namespace weft
