// weft version: of the product and of its formats.
#include <cstdio>

#include "cli/parse.h"
#include "weft/fill.h"
#include "weft/version.h"

namespace weft::cli {

int version_verb(const Arguments& arguments) {
  CLI::App app("Prints the version of Weft, of the trace format and of the fill-job interface.", "weft version");
  if (const auto code = parse(app, arguments)) return *code;
  std::printf("weft %s, trace format %d, fill-job interface %u\n", WEFT_VERSION_STRING, WEFT_TRACE_VERSION,
              WEFT_FILL_ABI_VERSION);
  return 0;
}

}  // namespace weft::cli
