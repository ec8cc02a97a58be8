// Who holds something in a folder that processes share: the names of feeders in file names, and whether the process of
// such a name has ended.
//
// Used by the ledger and by the queue, on any thread. Reads /proc, writes nothing.
#pragma once

#include <string>

namespace weft {

std::string host_name();
// Of this process: its host since its start, its process and when that started. Fit for a file name, without dots.
std::string own_name();
// Whether the process of that name has certainly ended. Of another host nobody knows.
bool has_ended(const std::string& owner);

}  // namespace weft
