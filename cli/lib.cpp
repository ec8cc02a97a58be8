// weft lib: the path to put into LD_PRELOAD by hand.
#include <cstdio>

#include "cli/locate.h"
#include "cli/parse.h"

namespace weft::cli {

int lib_verb(const Arguments& arguments) {
  CLI::App app("Prints the path of libweft.so: LD_PRELOAD=$(weft lib) COMMAND", "weft lib");
  if (const auto code = parse(app, arguments)) return *code;
  std::printf("%s\n", preloadable_library().c_str());
  return 0;
}

}  // namespace weft::cli
