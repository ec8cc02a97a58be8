// Finding and checking a fill job's file; see the header.
#include "cli/fill_spec.h"

#include <stdexcept>

#include "cli/elf_symbols.h"

namespace weft::cli {
namespace {

namespace fs = std::filesystem;

fs::path find_job(const std::string& name, const fs::path& jobs) {
  if (fs::is_regular_file(name)) return fs::absolute(name);
  const bool bare = name.find('/') == std::string::npos;
  if (bare && fs::is_regular_file(jobs / name)) return jobs / name;
  if (bare && fs::is_regular_file(jobs / ("fill_" + name + ".so"))) return jobs / ("fill_" + name + ".so");
  if (fs::exists(name)) throw std::runtime_error("fill job '" + name + "' is not a file");
  throw std::runtime_error("fill job '" + name + "': no such file" + (bare ? ", and none of Weft's own" : ""));
}

}  // namespace

std::string checked_fill_spec(const std::string& spec, const fs::path& jobs) {
  const std::size_t colon = spec.find(':');
  const std::string name = spec.substr(0, colon);
  const fs::path file = find_job(name, jobs);
  if (const std::string fault = why_not_exported(file, "weft_fill_job_v1"); !fault.empty())
    throw std::runtime_error("fill job '" + name + "' " + fault);
  if (file.string().find(':') != std::string::npos)
    throw std::runtime_error("fill job '" + name + "': a ':' in its path " + file.string() + " would end the path");
  return file.string() + (colon == std::string::npos ? "" : spec.substr(colon));
}

}  // namespace weft::cli
