// See frame_names.h.
#include "runner/sites/frame_names.h"

#include <cxxabi.h>
#include <dlfcn.h>

#include <cstdlib>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "runner/sites/traceback_text.h"

namespace weft {
namespace {

std::string_view base_name(std::string_view path) {
  return path.substr(path.rfind('/') + 1);  // npos + 1 is 0
}

// Of a long one the end, which tells more than the beginning.
std::string_view end_of(std::string_view text, std::size_t most) {
  return text.size() <= most ? text : text.substr(text.size() - most);
}

std::string readable(const char* symbol) {
  int status = 0;
  const std::unique_ptr<char, decltype(&std::free)> name(abi::__cxa_demangle(symbol, nullptr, nullptr, &status),
                                                         &std::free);
  return status == 0 && name ? name.get() : symbol;
}

bool is_of_weft(std::string_view library) {
  return library == "libweft.so" || library == "libweft-core.so";
}

void add_python(std::vector<CallFrameRecord>& frames, std::string_view text) {
  std::uint32_t number = 0;
  for (const PythonFrame& found : frames_of_traceback(text, most_named_frames)) {
    CallFrameRecord frame;
    frame.kind = FrameKind::python;
    frame.number = number++;
    frame.function = found.function;
    frame.file = end_of(found.file, decltype(frame.file)::capacity);
    frame.line = found.line;
    frames.push_back(frame);
  }
}

// The address of a frame is that behind its call, which may be the first one of the next function.
void add_native(std::vector<CallFrameRecord>& frames, std::span<void* const> addresses) {
  std::uint32_t number = 0;
  for (void* const address : addresses) {
    if (number == most_named_frames) return;
    const char* const call = static_cast<const char*>(address) - 1;
    Dl_info info{};
    const bool is_known = ::dladdr(call, &info) != 0 && info.dli_fname != nullptr;
    if (is_known && is_of_weft(base_name(info.dli_fname))) continue;
    CallFrameRecord frame;
    frame.kind = FrameKind::native;
    frame.number = number++;
    if (is_known) frame.file = end_of(base_name(info.dli_fname), decltype(frame.file)::capacity);
    if (is_known && info.dli_sname != nullptr) frame.function = readable(info.dli_sname);
    const char* const base = is_known ? static_cast<const char*>(info.dli_fbase) : nullptr;
    frame.offset = static_cast<std::uint64_t>(call - base);
    frames.push_back(frame);
  }
}

}  // namespace

std::vector<CallFrameRecord> named_frames(const CallStack& stack, std::string_view range) {
  std::vector<CallFrameRecord> frames;
  if (!range.empty()) {
    CallFrameRecord frame;
    frame.kind = FrameKind::nvtx;
    frame.function = range;
    frames.push_back(frame);
  }
  add_python(frames, {stack.text.data(), stack.text_bytes});
  add_native(frames, {stack.addresses.data(), stack.frames});
  return frames;
}

}  // namespace weft
