// weft run --print-env: the variables that weft run would set, as a launcher takes them that starts ranks by itself.
//
// Used by weft run. Pure. A value that a form cannot hold is refused: it would be another one in the ranks.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace weft::cli {

using SetVariables = std::vector<std::pair<std::string, std::string>>;  // in the order in which they are printed

// "plain", "docker", ...: the first is that of --print-env alone.
std::vector<std::string> env_forms();

// The use of each, as a line of help.
std::string env_forms_help();

// Throws std::runtime_error, one line, where a value cannot be written in this form.
std::string env_text(const std::string& form, const SetVariables& variables);

}  // namespace weft::cli
