// NCCL and CUPTI as a program would find them that is started from here: for weft check, in its one thread.
//
// They are opened and asked for their versions, which starts nothing and makes no context. A framework may bring
// libraries of its own along, and a run goes by those.
#pragma once

#include <string>

#include "runner/options/variables.h"

namespace weft::cli {

struct FoundLibrary {
  int version = 0;    // as the library says it, e.g. 22809
  std::string path;   // where the loader found it
  std::string fault;  // why there is none that can be used; "": there is one
};

FoundLibrary find_nccl();
// `named`: the path of WEFT_CUPTI, or "".
FoundLibrary find_cupti(const std::string& named, const Variables& variables);

}  // namespace weft::cli
