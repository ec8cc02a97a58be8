// Decides what fills a rank of a pipeline in virtual time: Weft's own Session, or one of the systems it is compared
// with.
//
// Called by the model of a rank, one thread. Pure.
#pragma once

#include <optional>
#include <span>

#include "runner/policy/session.h"

namespace weft::model {

class Policy {
 public:
  virtual ~Policy() = default;
  // The times of what words say may be wrong by so much at the next look.
  virtual void looks_within(Duration /*uncertainty*/) {}
  // Of the events since the last look, in the order of their times, and the slices that have ended since.
  virtual void look(TimePoint now, std::span<const Event> events, std::span<const SliceRecord> finished,
                    const FillView& view) = 0;
  // Whether a slice is to be launched now, and which. Asked after a look until it says no.
  virtual Decision decide(TimePoint now, const FillView& view) = 0;
  // The slice of the latest decision was, in a call that took so long.
  virtual void launched(Duration took) = 0;
  // Of all that it has seen; nothing where it keeps no accounts.
  virtual std::optional<TraceSummary> summary() { return std::nullopt; }
  // The latest bubble belongs to an iteration that is to go without fill.
  virtual bool leaves_out() const { return false; }
  // It does not look at present.
  virtual bool is_dark() const { return false; }
  // Whether the open bubble has room for these slices; nothing is known where it does not plan so.
  virtual BubbleRoom room_for(TimePoint, const Candidates&) const { return {}; }
  // When it looks next; it need not where nothing has happened.
  virtual TimePoint next_look(TimePoint now, std::uint32_t in_flight) const = 0;
  // When it has to look even if nothing happens, because something may be decided then.
  virtual std::optional<TimePoint> next_decision() const = 0;
};

}  // namespace weft::model
