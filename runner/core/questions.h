// Asks streams of the main job whether they have work left, where the detector wants to know.
//
// Used by the dispatcher thread only. A question orders nothing on the GPU. An answer is true at its time only, so all
// are asked anew at each look.
#pragma once

#include <vector>

#include "detector/event.h"
#include "runner/policy/session.h"
#include "shim/seam/core_interface.h"

namespace weft {

class Questions {
 public:
  Questions(const ShimServices& shim, int device) : shim_(shim), device_(device) {}

  // The answers of this time that are news to the session; valid until the next call. `ask`: streams may be asked.
  const std::vector<Event>& answers(const Session& session, TimePoint time, bool ask);

 private:
  bool name_streams(const Session& session, bool ask);
  void answer(TimePoint time, StreamId stream, Answer answer);

  const ShimServices& shim_;
  const int device_;
  std::vector<Event> answers_;
  std::vector<StreamId> streams_;
  StreamId busy_ = 0;  // that had work left last
};

}  // namespace weft
