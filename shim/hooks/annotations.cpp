// weft_say_v1(): what the main job says of itself (include/weft/annotate.h) on its way into the ring. No hook, because
// it stands in front of nothing; dlsym finds it in the preloaded library. Any thread of the main job, at any time:
// before CUDA is there, in a child of fork(), with WEFT=off. No lock, no allocation; a tenth of a microsecond.
#include "shim/main_job/annotations.h"

#include <iterator>

#include "shim/caller.h"
#include "weft/annotate.h"

using namespace weft;

namespace {

// By weft_saying.
constexpr EventKind kinds[] = {EventKind::none,
                               EventKind::said_iteration_begun,
                               EventKind::said_iteration_ended,
                               EventKind::said_stage,
                               EventKind::said_microbatch_begun,
                               EventKind::said_microbatch_ended,
                               EventKind::said_bubble_begun,
                               EventKind::said_bubble_ended};
static_assert(std::size(kinds) == WEFT_END_BUBBLE + 1);

}  // namespace

extern "C" [[gnu::visibility("default")]] void weft_say_v1(std::uint32_t what, std::int32_t device, std::int64_t number,
                                                           std::int64_t part) noexcept {
  if (what == 0 || what >= std::size(kinds) || !is_outer_call()) return;
  if (!can_be_annotated(device)) return refuse_annotation();
  const int of = annotated_device(device);
  const Saying saying = saying_of(number, part);
  if (kinds[what] == EventKind::said_stage) keep_stage(of, saying);
  say(kinds[what], of, saying);
}
