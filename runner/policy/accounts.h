// Totals of one rank for the summary: its records added up, and what no record tells: the window of its groups, why
// bubbles stayed empty, what was lost.
//
// Kept by the dispatcher thread, read by it or after it has ended. Pure: events and records in, numbers out.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "detector/event.h"
#include "runner/policy/bubble_lengths.h"
#include "trace/sample.h"
#include "trace/totals.h"

namespace weft {

class Accounts {
 public:
  Accounts() {
    iteration_lengths_.reserve();
    uncertainties_.reserve();
  }
  void note(const Event& event);
  void note(const Record& record);
  void note(Unfilled reason) { totals_.add(reason); }
  // A bubble has ended, at a time that may be wrong by so much.
  void note_end_within(Duration uncertainty) { uncertainties_.add(uncertainty); }

  const JobRecord& record_of(std::uint32_t job) const { return jobs_[job]; }  // the latest
  const BubbleLengths& bubble_lengths() const { return bubble_lengths_; }
  const TraceSummary& totals() const { return totals_.summary(); }  // without median, start-up and causes
  std::optional<StartupRecord> startup() const { return totals_.startup(); }
  TraceSummary summary(std::uint64_t dropped_records) const;

 private:
  static constexpr std::size_t most_lengths = 4096;

  Totals totals_;
  BubbleLengths bubble_lengths_;
  std::array<JobRecord, most_jobs> jobs_{};
  Sample<Duration> iteration_lengths_{most_lengths};
  Sample<Duration> uncertainties_{most_lengths};
};

}  // namespace weft
