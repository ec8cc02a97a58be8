// A file of results, as Weft has written it, as JSON Lines: one line for each record.
//
// Used by `weft jobs results`. Throws FileError.
#pragma once

#include <functional>
#include <string>
#include <string_view>

namespace weft {

// Some lines at a time. .jsonl as it is; of .npy and .safetensors, what has a `NAME.lengths` beside it has so many
// steps. A file of raw bytes and a folder of pictures have nothing to make lines of, and are refused.
void read_results_as_lines(const std::string& path, const std::function<void(std::string_view)>& take);

}  // namespace weft
