// Folders that processes share, also on several hosts: what is in them, and how old it is by the clock of the file
// system, whatever those of the hosts say.
//
// Used by the ledger and by the queue, on any thread. Throws FileError where it is said.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "detector/time.h"

namespace weft {

bool is_there(const std::string& path);
void make_folder(const std::string& path);  // a new one. Throws
// In a folder that is there: more that are missing are a mistyped path, or a file system that is not mounted. Throws;
// false: it is there.
bool make_folder_unless_there(const std::string& path);
std::vector<std::string> names_in(const std::string& folder);  // in no order. Throws
std::optional<std::uint64_t> number_of(std::string_view name);

// An empty file of a new name. Throws; false: the name is taken.
bool make_empty(const std::string& path);
void touch(const std::string& path);  // its time is now
// When it was touched, in seconds. Nothing: it is gone.
std::optional<std::int64_t> time_of(const std::string& path);
// That of a new file of this name, which goes again. Nothing: it cannot be told.
std::optional<std::int64_t> time_by(const std::string& clock);
bool is_older(std::optional<std::int64_t> time, std::int64_t now, Duration limit);

}  // namespace weft
