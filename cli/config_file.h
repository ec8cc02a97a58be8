// The flags of a verb from a TOML file, with the names of the flags as keys: `weft simulate --config FILE`.
//
// Used by the verbs that take such a file. CLI11 has a parser of its own for that, which takes most broken files for
// empty ones.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

namespace weft::cli {

// Behind all other flags of the verb. A flag on the command line wins over the file.
CLI::Option* add_config_file(CLI::App& app, const std::string& about);

}  // namespace weft::cli
