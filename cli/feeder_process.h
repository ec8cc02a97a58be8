// A weft-feeder beside the command of weft run, where fill jobs read records or weights.
//
// weft run becomes the command as always, so that signals, terminal, exit code and parent are those of the command. A
// second process of weft run, in a session of its own, watches the command from outside: it starts the feeder, starts
// it again when it dies, and ends it when the command has ended. Neither holds anything of the command but stderr.
#pragma once

#include <filesystem>
#include <string>

namespace weft::cli {

// Starts both for this process, which is about to become the command; when it returns the feeder serves the folder that
// is returned. Throws std::runtime_error.
std::string start_feeder_beside(const std::filesystem::path& feeder);

}  // namespace weft::cli
