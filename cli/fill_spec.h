// A first look at the fill job that a user names, before a whole job is started with it: the file is found and checked,
// nothing of it is run.
#pragma once

#include <filesystem>
#include <string>

namespace weft::cli {

// "PATH[:ARGUMENTS]" with the path made absolute, so that it means the same in every folder. A name without '/' that is
// no file here is looked for among the jobs that come with Weft: matmul is fill_matmul.so in `jobs`.
// Throws std::runtime_error, one line, when there is no such file or it is not a fill job.
std::string checked_fill_spec(const std::string& spec, const std::filesystem::path& jobs);

}  // namespace weft::cli
