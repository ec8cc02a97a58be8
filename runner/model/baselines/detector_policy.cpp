// See detector_policy.h.
#include "runner/model/baselines/detector_policy.h"

namespace weft::model {

void DetectorPolicy::look(TimePoint now, std::span<const Event> events, std::span<const SliceRecord> finished,
                          const FillView&) {
  for (const Event& event : events)
    for (const Finding& finding : detector_.observe(event))
      if (finding.kind == FindingKind::bubble_closed) closed(finding.bubble);
  detector_.looked(now);
  answers_.give(detector_, now);
  for (const SliceRecord& slice : finished) finished_one(slice.finished);
}

}  // namespace weft::model
