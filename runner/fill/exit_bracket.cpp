// Two exit handlers; the last one that is registered runs first. See the header.
#include "runner/fill/exit_bracket.h"

#include <atomic>
#include <cstdlib>

namespace weft {
namespace {

constinit std::atomic<void (*)(bool)> refuse_unloading{nullptr};

void job_begins_to_leave() {
  refuse_unloading.load()(true);
}
void job_has_left() {
  refuse_unloading.load()(false);
}

}  // namespace

ExitBracket::ExitBracket(const ShimServices& shim) {
  refuse_unloading.store(shim.refuse_unloading);
  std::atexit(&job_has_left);
}

ExitBracket::~ExitBracket() {
  std::atexit(&job_begins_to_leave);
}

}  // namespace weft
