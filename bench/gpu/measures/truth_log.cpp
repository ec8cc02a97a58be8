// Names, and one line per kernel or copy; see the header.
#include "truth_log.h"

#include <cxxabi.h>

#include <array>
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <memory>

namespace measures {
namespace {

using File = std::unique_ptr<std::FILE, int (*)(std::FILE*)>;

// Names of kernels and threads come from elsewhere: nothing in them may end the text of a JSON line.
std::string quoted(const std::string& text) {
  std::string result = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') result += '\\';
    if (static_cast<unsigned char>(c) >= 0x20) result += c;
  }
  return result + "\"";
}

const char* copy_kind(TruthLog::Kind kind) {
  switch (kind) {
    case TruthLog::Kind::host_to_device:
      return "h2d";
    case TruthLog::Kind::device_to_host:
      return "d2h";
    case TruthLog::Kind::set:
      return "set";
    default:
      return "d2d";
  }
}

void write_header(std::FILE* file, std::int64_t process, std::uint32_t device) {
  std::fprintf(file,
               "{\"type\":\"header\",\"format\":\"simgpu-log\",\"version\":1,\"pid\":%" PRId64 ",\"device\":%" PRIu32
               "}\n",
               process, device);
}

void write_work(std::FILE* file, const TruthLog::Work& work, const std::string& name, const std::string& thread) {
  if (work.kind == TruthLog::Kind::kernel) {
    const bool communication = name.rfind("ncclDevKernel", 0) == 0;
    std::fprintf(file, "{\"type\":\"kernel\",\"name\":%s,\"spin\":%s,\"blocks\":%" PRIu64, quoted(name).c_str(),
                 communication ? "true" : "false", work.blocks_or_bytes);
  } else {
    std::fprintf(file, "{\"type\":\"copy\",\"kind\":\"%s\",\"bytes\":%" PRIu64, copy_kind(work.kind),
                 work.blocks_or_bytes);
  }
  std::fprintf(file, ",\"stream\":%" PRIu32 ",\"start\":%" PRId64 ",\"end\":%" PRId64 ",\"thread\":%s}\n", work.stream,
               work.start, work.end, quoted(thread).c_str());
}

}  // namespace

std::string plain_kernel_name(const char* kernel) {
  int status = 0;
  const std::unique_ptr<char, decltype(&std::free)> demangled(abi::__cxa_demangle(kernel, nullptr, nullptr, &status),
                                                              &std::free);
  std::string name = status == 0 && demangled != nullptr ? demangled.get() : kernel;
  const std::size_t parameters = name.find('(');
  if (parameters != std::string::npos && parameters > 0) name.resize(parameters);
  return name;
}

std::uint32_t TruthLog::name(const char* kernel) {
  const auto [found, added] = numbers_.try_emplace(kernel, static_cast<std::uint32_t>(names_.size()));
  if (added) names_.push_back(plain_kernel_name(kernel));
  return found->second;
}

bool TruthLog::write(const std::string& directory, std::int64_t process) const {
  std::map<std::uint32_t, File> files;
  bool good = true;
  const std::string nobody;
  for (const Work& work : work_) {
    auto found = files.find(work.device);
    if (found == files.end()) {
      const std::string path =
          directory + "/gpu" + std::to_string(work.device) + "." + std::to_string(process) + ".jsonl";
      found = files.emplace(work.device, File(std::fopen(path.c_str(), "w"), &std::fclose)).first;
      if (found->second != nullptr) write_header(found->second.get(), process, work.device);
    }
    std::FILE* const file = found->second.get();
    if (file == nullptr) return false;
    const auto thread = threads_.find(work.correlation);
    write_work(file, work, work.kind == Kind::kernel ? names_[work.name] : nobody,
               thread == threads_.end() ? nobody : thread->second);
    good = good && std::ferror(file) == 0;
  }
  for (auto& [device, file] : files) good = std::fflush(file.get()) == 0 && good;
  return good;
}

}  // namespace measures
