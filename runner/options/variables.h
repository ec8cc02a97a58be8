// The environment of the process, read once and then passed along as a value.
//
// Used by the core when it starts (a main-job thread), and by the weft command. Nothing is changed here.
#pragma once

#include <functional>
#include <map>
#include <string>

namespace weft {

using Variables = std::map<std::string, std::string, std::less<>>;
Variables environment_variables();  // all of this process, as they are now

// As the process was given them. Nothing where that cannot be read; a program that writes its title over them, as some
// do, leaves some or none.
Variables first_environment_variables();

// The process may have changed a variable before or after somebody read it.
struct Environments {
  Variables now, first;
};

}  // namespace weft
