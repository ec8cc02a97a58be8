// A command beside a weft-feeder of its own: weft run where fill jobs read records or weights.
//
// weft run stays the parent of both then. The command sees what it would see without: the signals that were meant for
// it, the terminal, the exit code. The feeder has a process group of its own, is started again when it dies, and ends
// with the command.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace weft::cli {

// A new folder in shared memory, of this user alone. Throws std::runtime_error.
std::string make_feeder_folder();

// The exit code of the command; of one that a signal ended, this process ends by it, too. 126, 127: it cannot be run.
// Removes the folder. Throws std::runtime_error when nothing could be started.
int run_beside_feeder(const std::vector<std::string>& command, const std::filesystem::path& feeder,
                      const std::string& folder);

}  // namespace weft::cli
