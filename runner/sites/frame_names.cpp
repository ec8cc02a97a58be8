// See frame_names.h.
#include "runner/sites/frame_names.h"

#include <cxxabi.h>

#include <cstdlib>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "runner/sites/traceback_text.h"

namespace weft {
namespace {

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
std::uintptr_t call_of(void* frame) {
  return reinterpret_cast<std::uintptr_t>(frame) - 1;
}

void add_native(std::vector<CallFrameRecord>& frames, std::span<void* const> addresses, const CodeNames& names) {
  std::uint32_t number = 0;
  for (void* const address : addresses) {
    if (number == most_named_frames) return;
    const CodeName& code = names.at(call_of(address));
    if (is_of_weft(code.file)) continue;
    CallFrameRecord frame;
    frame.kind = FrameKind::native;
    frame.number = number++;
    frame.offset = code.offset;
    frame.file = end_of(code.file, decltype(frame.file)::capacity);
    frame.function = readable(code.symbol.c_str());
    frames.push_back(frame);
  }
}

}  // namespace

void add_calls(const CallStack& stack, std::vector<std::uintptr_t>& calls) {
  for (std::uint32_t i = 0; i < stack.frames; ++i) calls.push_back(call_of(stack.addresses[i]));
}

std::vector<CallFrameRecord> named_frames(const CallStack& stack, std::string_view range, const CodeNames& names) {
  std::vector<CallFrameRecord> frames;
  if (!range.empty()) {
    CallFrameRecord frame;
    frame.kind = FrameKind::nvtx;
    frame.function = range;
    frames.push_back(frame);
  }
  add_python(frames, {stack.text.data(), stack.text_bytes});
  add_native(frames, {stack.addresses.data(), stack.frames}, names);
  return frames;
}

}  // namespace weft
