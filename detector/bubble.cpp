// Names of causes and patterns, as they are written into traces and messages. Any thread; no allocation.
#include "detector/bubble.h"

namespace weft {

const char* name_of(Cause cause) noexcept {
  switch (cause) {
    case Cause::unknown:
      return "unknown";
    case Cause::receive:
      return "receive";
    case Cause::send:
      return "send";
    case Cause::collective:
      return "collective";
  }
  return "unknown";
}

const char* name_of(Pattern pattern) noexcept {
  switch (pattern) {
    case Pattern::event_wait:
      return "event_wait";
    case Pattern::inline_group:
      return "inline_group";
    case Pattern::host_wait:
      return "host_wait";
  }
  return "event_wait";
}

}  // namespace weft
