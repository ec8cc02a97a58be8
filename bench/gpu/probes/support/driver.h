// The CUDA driver, opened when a probe starts, so that a machine without one is told apart from a broken probe.
//
// Called by the probes and their support code on any thread; filled once, by driver() on the first thread that asks.
// Nothing of CUDA may be linked: a probe must start, and say why it cannot answer, where there is no driver.
#pragma once

#include <cuda.h>

#include <stdexcept>
#include <string>

namespace probe {

// The question cannot be answered here: exit code 77.
struct Skipped : std::runtime_error {
  using std::runtime_error::runtime_error;
};

struct Driver {
#define FUNCTION(name) decltype(&::name) name = nullptr;
#include "driver_functions.def"
#undef FUNCTION
  void* library = nullptr;  // of dlopen
};

// Functions that the driver is too old for are null; call() says so instead of crashing.
const Driver& driver();

std::string name_of(CUresult result);

// Throws std::runtime_error with the place of the call.
void check(CUresult result, const char* file = __builtin_FILE(), int line = __builtin_LINE());

// For calls whose refusal is an answer: the result as its name, "not exported" for a null function.
template <class Function, class... Arguments>
std::string try_call(Function* function, Arguments... arguments) {
  return function == nullptr ? "not exported" : name_of(function(arguments...));
}

}  // namespace probe
