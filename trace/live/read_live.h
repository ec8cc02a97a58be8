// Reads the pages of ranks, whatever their bytes are: a page may be half written, of another Weft, or of somebody who
// wishes the reader ill.
//
// Used by `weft top` and tests, in the weft command only. No file is mapped, and no more of one is read than a page
// has.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "trace/live/live_page.h"

namespace weft {

// A page that can be shown, or why there is none: one line without the path.
struct LiveReading {
  std::optional<LivePage> page;
  std::string fault;     // "": there is a page
  bool is_torn = false;  // it was being written: another look may find it whole
};

// Of the bytes of a file. A page whose numbers cannot be true has a fault; numbers that are none (NaN) are not known.
LiveReading read_live_page(std::string_view bytes);

// Looks again for some milliseconds where the page is torn.
LiveReading read_live_file(const std::string& path);

// All files there that have the name of a page, sorted. Throws std::runtime_error where a directory cannot be read.
std::vector<std::string> live_files_in(const std::vector<std::string>& directories);

}  // namespace weft
