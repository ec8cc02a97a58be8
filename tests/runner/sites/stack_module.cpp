// Reads a stack as the core does: with the unwinder that it brings along, as a library that a program has loaded.
#include <memory>

#include "runner/core/exception_tables.h"
#include "runner/sites/stack_reader.h"

extern "C" [[gnu::visibility("default")]] unsigned frames_of_this_stack() {
  static weft::StackReader reader;
  static auto stack = std::make_unique<weft::CallStack>();
  if (!reader.is_loaded()) {
    weft::find_exception_tables_without_lock();
    reader.load("");
  }
  return reader.read(*stack) ? stack->frames : 0;
}
