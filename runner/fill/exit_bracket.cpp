// Two exit handlers; the last one that is registered runs first. See the header.
#include "runner/fill/exit_bracket.h"

#include <atomic>
#include <cstdlib>

namespace weft {
namespace {

constinit std::atomic<void (*)(bool)> set_unload_refused{nullptr};

void job_begins_to_leave() {
  set_unload_refused.load()(true);
}
void job_has_left() {
  set_unload_refused.load()(false);
}

}  // namespace

ExitBracket::ExitBracket(const ShimServices& shim) {
  set_unload_refused.store(shim.set_unload_refused);
  std::atexit(&job_has_left);
}

ExitBracket::~ExitBracket() {
  std::atexit(&job_begins_to_leave);
}

}  // namespace weft
