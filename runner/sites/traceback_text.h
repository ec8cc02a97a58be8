// Frames of Python in the text that its _Py_DumpTraceback writes: `  File "train.py", line 12 in forward`.
//
// Used by the thread that names frames. Pure. The text may have been cut anywhere.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace weft {

struct PythonFrame {
  std::string file;  // "": Python does not know
  std::string function;
  std::uint32_t line = 0;  // 0: Python does not know
};

// Innermost first, as in the text, at most `most`. A last line without its end is left out, as is all that is no frame.
std::vector<PythonFrame> frames_of_traceback(std::string_view text, std::size_t most);

}  // namespace weft
