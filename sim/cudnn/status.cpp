// Why a call failed. On the program's threads.
#include <cstdarg>
#include <cstdio>
#include <mutex>
#include <set>
#include <string>

#include "numbers.h"

namespace simgpu::cudnn {
namespace {

thread_local std::string last_text;

void say_once(const std::string& text) {
  static std::mutex mutex;
  static auto* const said = new std::set<std::string>;
  const std::lock_guard lock(mutex);
  if (said->insert(text).second) std::fprintf(stderr, "simulated cuDNN: %s\n", text.c_str());
}

}  // namespace

Status fail(Status status, const char* format, ...) {
  char text[256];
  va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  last_text = text;
  if (status / 1000 * 1000 == CUDNN_STATUS_NOT_SUPPORTED) say_once(last_text);
  return status;
}

const char* last_error() {
  return last_text.c_str();
}

}  // namespace simgpu::cudnn
