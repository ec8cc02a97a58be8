// Texts of a report without the folders of the files that they name: a report is passed on, and where files lie says
// who made them.
//
// Used by `weft report`, for its notes and reasons, and by tests. Pure.
#pragma once

#include <string>
#include <vector>

namespace weft::report {

// Of each file in one of the directories (as they were given; the texts have them printable), and of each absolute
// path, the name alone.
std::string with_names_of_files(std::string text, const std::vector<std::string>& directories);

}  // namespace weft::report
