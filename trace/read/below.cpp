// See below.h.
#include "trace/read/below.h"

#include <filesystem>
#include <set>
#include <system_error>

namespace weft {

namespace fs = std::filesystem;

bool is_trace_name(const std::string& name) {
  return name.starts_with("rank") && name.ends_with(".jsonl");
}

std::vector<std::string> folders_with_traces_below(const std::string& directory) {
  constexpr int deepest = 3;
  constexpr int most_entries = 20'000;
  std::set<std::string> folders;
  std::error_code error;
  fs::recursive_directory_iterator entry(directory, fs::directory_options::skip_permission_denied, error);
  for (int seen = 0; !error && entry != fs::recursive_directory_iterator() && seen < most_entries; ++seen) {
    if (entry.depth() > 0 && is_trace_name(entry->path().filename().string()))
      folders.insert(entry->path().parent_path().string());
    if (entry.depth() >= deepest) entry.disable_recursion_pending();
    entry.increment(error);
  }
  return {folders.begin(), folders.end()};
}

}  // namespace weft
