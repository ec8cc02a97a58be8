// CUPTI as this process has it: opened at run time, never linked. Finding it, asking for its version, and the table of
// its functions.
//
// Only made where validation is on, on the validation's own thread. Nothing here starts anything: CUPTI initialises
// itself at the first call.
#pragma once

#include <string>

#include "runner/options/variables.h"
#include "runner/validate/cupti_abi.h"

namespace weft::cupti {

struct Library {
#define FUNCTION(member, name, parameters) Result(*member) parameters = nullptr;
  WEFT_CUPTI_FUNCTIONS(FUNCTION)
#undef FUNCTION
  std::uint32_t version = 0;
  std::string path;  // as it was opened
};

// `named`: the path of WEFT_CUPTI, or "". Without one: the library that the process has already, then the sonames
// through the loader's search, then CUDA_HOME, CUDA_PATH and /usr/local/cuda. "" or one line why there is none that can
// be used. It is never closed again.
std::string open(const std::string& named, const Variables& environment, Library& library);

// Why no validation can be tried in such an environment, because another profiler will have CUPTI: "" if it can.
std::string other_profiler(const Variables& environment);

// "CUPTI error 15".
std::string name_of(Result result);

// Version of the headers at build time, 0 without them or where their newest records do not begin as cupti_abi.h says.
std::uint32_t version_of_headers();

}  // namespace weft::cupti
