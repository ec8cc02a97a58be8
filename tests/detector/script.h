// Event scripts: one event per line, for tests that people can read. The format is described in scripts/README.md.
//
// Used by replay.cpp, on one thread.
#pragma once

#include <istream>
#include <string>
#include <vector>

#include "detector/bubble.h"
#include "detector/event.h"

namespace weft::testing {

// The events of a script, in the order of the lines; `error` says what is wrong with which line, or is empty.
std::vector<Event> read_script(std::istream& in, std::string& error);

// One line for what the detector found.
std::string describe(const Finding& finding);

}  // namespace weft::testing
