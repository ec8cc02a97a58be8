// The fill stream of one device: which slices are in flight, which unit they belong to, and whether all is well.
//
// Built on a thread of the main job at a quiet time, then used by the dispatcher thread only. In a bubble it launches,
// enqueues the write of a word, and reads that word; nothing else.
#pragma once

#include <cuda.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

#include "detector/time.h"
#include "runner/core/driver.h"
#include "runner/fill/fill_job.h"
#include "runner/fill/unit.h"
#include "runner/options/fillable.h"
#include "runner/policy/session.h"
#include "trace/record.h"

namespace weft {

// A word in pinned host memory that the fill stream writes a number into after each slice. In the only hardware queue,
// where such a write may hold up the main job until the slice is over, an event is recorded there in its place; there
// is one slice in flight then.
struct DoneMark {
  const std::atomic<std::uint32_t>* host = nullptr;
  CUdeviceptr device = 0;
  CUevent event = nullptr;
};

class Filler {
 public:
  static constexpr std::uint32_t most_in_flight = 2;

  // `fillable`: any, or one of those of one hardware queue; then with an event. `kind`: in a stream above those of the
  // training there is one slice in flight, because a second one would go first.
  Filler(const Driver& driver, CUstream stream, DoneMark done, FillJob& job, const Unit& unit,
         Fillable fillable = Fillable::any, FillStream kind = FillStream::plain)
      : driver_(driver), stream_(stream), done_(done), job_(job), unit_(unit), fillable_(fillable), kind_(kind) {}
  Fillable fillable() const { return fillable_; }

  // Appends the slices that have finished; ends a unit when its last one has.
  void reap(TimePoint now, std::vector<SliceRecord>& finished);

  // The next slice, and what is in flight. Ready: it may be launched.
  FillView view() const;
  // The next slice is the first of its unit, which has not begun. begin_unit() may take a millisecond of the job's
  // time: what was decided before it no longer holds.
  bool unit_has_to_begin() const { return !unit_begun_; }
  void begin_unit();  // see failure()
  // Launches the next slice of a unit that has begun. False: it is not in flight, see failure().
  bool launch(TimePoint now, std::uint64_t bubble, std::uint32_t candidate);

  InFlight in_flight() const;
  // Empty while all is well. After a failure nothing is launched any more.
  const std::string& failure() const { return failure_; }
  bool context_gone() const { return context_gone_; }  // the failure is only that the process is ending

 private:
  struct Launched {
    std::uint64_t unit = 0;
    std::uint32_t slice = 0;    // of the unit's cuts
    std::uint32_t in_unit = 0;  // slices of the unit before this one
    bool ends_unit = false;
    std::uint32_t number = 0;  // what the done word will say
    std::uint64_t bubble = 0;
    TimePoint launched{};
    TimePoint starts{};  // estimate
  };

  bool first_is_done();
  CUresult mark_end(std::uint32_t number) const;
  SliceRecord finish_first(TimePoint now);
  void fail(CUresult result, const char* what);

  const Driver& driver_;
  CUstream stream_;
  DoneMark done_;
  FillJob& job_;
  const Unit& unit_;
  const Fillable fillable_;
  const FillStream kind_;
  std::array<Launched, most_in_flight> launched_{};
  std::uint32_t count_ = 0;
  std::uint32_t last_number_ = 0;
  std::uint64_t unit_number_ = 0;
  std::size_t next_ = 0;       // node of the unit
  std::uint32_t in_unit_ = 0;  // slices of the unit that were launched
  bool unit_begun_ = false;
  std::string failure_;
  bool context_gone_ = false;
};

}  // namespace weft
