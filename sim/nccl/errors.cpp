// The message of the last error of the process, kept for all threads because worker threads fail too.
#include "errors.h"

#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <string>

#include "driver.h"

namespace simgpu::nccl {
namespace {

struct LastError {
  std::mutex mutex;
  std::string text;
};

LastError& shared_error() {
  static auto* const error = new LastError;
  return *error;
}

bool talkative() {
  static const bool wanted = [] {
    const char* level = std::getenv("NCCL_DEBUG");
    return level != nullptr && (std::strcmp(level, "WARN") == 0 || std::strcmp(level, "INFO") == 0);
  }();
  return wanted;
}

}  // namespace

ncclResult_t fail(ncclResult_t code, const char* format, ...) {
  char text[512];
  std::va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  if (talkative()) std::fprintf(stderr, "simgpu: NCCL: %s: %s\n", ncclGetErrorString(code), text);
  const std::lock_guard lock(shared_error().mutex);
  shared_error().text = text;
  return code;
}

ncclResult_t driver_failed(const char* call, CUresult result) {
  const char* name = nullptr;
  if (const Driver* table = driver(); table != nullptr) table->cuGetErrorName(result, &name);
  return fail(ncclUnhandledCudaError, "%s failed: %s", call, name == nullptr ? "unknown error" : name);
}

const char* last_error() {
  thread_local std::string copy;
  const std::lock_guard lock(shared_error().mutex);
  copy = shared_error().text;
  return copy.c_str();
}

}  // namespace simgpu::nccl
