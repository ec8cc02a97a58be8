// The call sites of one trace: for each slot the frames of the stack that issued one of its groups (WEFT_CALL_SITES).
//
// Used by readers in the weft command only. Pure. Memory is bounded.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "trace/record.h"

namespace weft {

struct CallFrame {
  FrameKind kind = FrameKind::native;
  std::string function, file;  // as in the trace; "": not known
  std::uint32_t line = 0;
  std::uint64_t offset = 0;
};

// The NVTX range first, then Python's frames, as those tell most; of each kind the innermost one first.
using CallSite = std::vector<CallFrame>;

// "NVTX range forward-recv", "train.py:120 forward_step", "libtorch_cuda.so+0x1f c10d::send()". Printable.
// `whole_path`: with the folders of a file of Python.
std::string text_of(const CallFrame& frame, bool whole_path);

class CallSiteTable {
 public:
  void add(const CallFrameRecord& frame);
  // Of bubbles of this cause. nullptr: none is known, or the training itself says that it is idle there: the slots of
  // call sites are those of groups.
  const CallSite* find(const SlotKey& slot, Cause cause) const;

 private:
  static constexpr std::size_t most_sites = 1024;  // a trace of Weft has a fourth of that
  static constexpr std::size_t most_frames = 64;

  std::map<SlotKey, CallSite> sites_;
};

}  // namespace weft
