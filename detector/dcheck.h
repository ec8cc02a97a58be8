// WEFT_DCHECK(condition): an invariant of the code around it, checked where Weft is built for development or tests.
//
// Used in detector/ and runner/, on any thread. A broken invariant is thrown, never an abort: in the training
// process it ends as any other failure of the core does, Weft turns itself off and the job goes on; a test fails. So it
// does not belong into a noexcept function, nor into the shim, which has no exceptions. The condition has no side
// effects: without checks it is compiled but not evaluated.
#pragma once

#include <stdexcept>

namespace weft {

struct BrokenInvariant : std::logic_error {
  using std::logic_error::logic_error;
};

}  // namespace weft

#define WEFT_DCHECK_TEXT_OF(line) #line
#define WEFT_DCHECK_TEXT(line) WEFT_DCHECK_TEXT_OF(line)

#ifdef WEFT_DCHECKS
#define WEFT_DCHECK(condition)                                                                                \
  do {                                                                                                        \
    if (!(condition)) throw ::weft::BrokenInvariant(__FILE__ ":" WEFT_DCHECK_TEXT(__LINE__) ": " #condition); \
  } while (false)
#else
#define WEFT_DCHECK(condition) static_cast<void>(sizeof(!(condition)))
#endif
