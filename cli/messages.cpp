// Lines on stderr, see cli/verb.h.
#include <cstdio>
#include <string>

#include "cli/colours.h"
#include "cli/verb.h"
#include "trace/read/printable.h"

namespace weft::cli {

// Texts repeat arguments and names of files, which may hold what moves the cursor.
void complain(const std::string& text) {
  const std::string head = has_colours(stderr) ? inked("error:", Ink::red) : "error:";
  std::fprintf(stderr, "weft: %s %s\n", head.c_str(), printable(text).c_str());
}

void warn(const std::string& text) {
  const std::string head = has_colours(stderr) ? inked("warning:", Ink::yellow) : "warning:";
  std::fprintf(stderr, "weft: %s %s\n", head.c_str(), printable(text).c_str());
}

void inform(const std::string& text) {
  std::fprintf(stderr, "weft: %s\n", printable(text).c_str());
}

}  // namespace weft::cli
