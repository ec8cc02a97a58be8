// SetUpError: why a device cannot be observed, or a fill job not be used. Thrown and caught on a thread of the main job
// inside the core's services, and in the fill probe.
#pragma once

#include <stdexcept>

namespace weft {

// A set-up step that failed; what() is one line that a user can act on. Never leaves the core.
class SetUpError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// Likewise: a fill job asked for more device memory than it may have. Less of it, or more memory, would do.
class LacksMemory : public SetUpError {
 public:
  using SetUpError::SetUpError;
};

// Likewise: all of the fill job's records have their results.
class NothingToDo : public SetUpError {
 public:
  using SetUpError::SetUpError;
};

// Likewise: what is in the way now says nothing about the fill job. Later it may be otherwise.
class PassingFault : public SetUpError {
 public:
  using SetUpError::SetUpError;
};

}  // namespace weft
