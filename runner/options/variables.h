// The environment of the process, read once and then passed along as a value.
//
// Used by the core when it starts (a main-job thread), and by the weft command. Nothing is changed here.
#pragma once

#include <functional>
#include <map>
#include <string>

namespace weft {

using Variables = std::map<std::string, std::string, std::less<>>;
Variables environment_variables();  // all of this process

}  // namespace weft
