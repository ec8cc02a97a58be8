// CUPTI as this process has subscribed to it: once, whatever is opened and closed, and until the process leaves.
//
// Made by Validation, changed by the recorder's thread and by an exit handler, which runs on whatever thread called
// exit(). Nothing here may call CUPTI once its own destructors can have run.
#pragma once

#include <atomic>
#include <string>

#include "runner/options/variables.h"
#include "runner/validate/buffers.h"
#include "runner/validate/cupti.h"

namespace weft {

struct CuptiSession {
  cupti::Library library;
  cupti::Buffers buffers;
  void* subscriber = nullptr;
  bool enabled = false;
  std::string failure;  // why it could not be subscribed to: that stays so
  int process = 0;      // that has subscribed, not a forked child
  // From the process's exit handlers on. CUPTI's own destructors run after them, and no call may be made then.
  std::atomic<bool> exiting{false}, gone{false};
  std::atomic<bool> in_use{false};  // the recorder's thread calls CUPTI
};

// "" once records are taken, or one line why not. A second try after a failure would only find ourselves: the first
// reason stays. The recorder's thread; `session` lives as long as the process.
std::string subscribe(CuptiSession& session, const std::string& named, const Variables& environment);

}  // namespace weft
