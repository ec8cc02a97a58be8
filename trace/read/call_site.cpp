// See call_site.h.
#include "trace/read/call_site.h"

#include <algorithm>
#include <string_view>

#include "trace/formatted.h"
#include "trace/read/printable.h"

namespace weft {

std::string text_of(const CallFrame& frame, bool whole_path) {
  if (frame.kind == FrameKind::nvtx) return "NVTX range " + printable(frame.function);
  std::string_view file = frame.file;
  if (!whole_path) file = file.substr(file.rfind('/') + 1);  // npos + 1 is 0
  std::string text = file.empty() ? "?" : printable(file);
  if (frame.kind == FrameKind::native)
    text += formatted("+0x%llx", number(frame.offset));
  else if (frame.line != 0)
    text += ":" + std::to_string(frame.line);
  return frame.function.empty() ? text : text + " " + printable(frame.function);
}

void CallSiteTable::add(const CallFrameRecord& frame) {
  const SlotKey slot{frame.rhythm, frame.ordinal};
  if (!slot.is_known() || (sites_.size() >= most_sites && !sites_.contains(slot))) return;
  CallSite& site = sites_[slot];
  if (site.size() >= most_frames) return;
  site.push_back({frame.kind, std::string(std::string_view(frame.function)), std::string(std::string_view(frame.file)),
                  frame.line, frame.offset});
  const auto by_kind = [](const CallFrame& one, const CallFrame& other) { return one.kind < other.kind; };
  std::stable_sort(site.begin(), site.end(), by_kind);
}

const CallSite* CallSiteTable::find(const SlotKey& slot, Cause cause) const {
  if (cause == Cause::schedule) return nullptr;
  const auto found = sites_.find(slot);
  return found == sites_.end() ? nullptr : &found->second;
}

}  // namespace weft
