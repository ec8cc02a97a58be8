// Folders that belong to this user alone, for the few small files that Weft keeps outside the folders that the user
// names.
//
// Used by the weft command, and by the core on a thread of its own. Their names can be guessed, so what is there
// already counts only when it is a real folder, belongs to this user and is closed to others.
#pragma once

#include <string>
#include <vector>

#include "runner/options/variables.h"

namespace weft {

// Where such folders may be: $XDG_RUNTIME_DIR, $TMPDIR, /tmp, as far as they are there. The first one that works
// counts.
std::vector<std::string> private_places(const Variables& variables);

// A descriptor of the folder, which is made when it is not there; -1: it cannot be made, or is not this user's alone.
int open_private_folder(const std::string& path);

}  // namespace weft
