// Which paths lead to the same file: a folder may be named twice, also by a link.
//
// Used by `weft summary` and `weft validate`, never inside the training process. Reads no contents.
#pragma once

#include <string>
#include <vector>

namespace weft {

// Without those that lead where an earlier one does. One that leads nowhere stays, for whoever opens it to say so.
std::vector<std::string> each_once(const std::vector<std::string>& paths);

}  // namespace weft
