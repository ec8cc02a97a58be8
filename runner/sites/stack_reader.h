// Reads the stack of the calling thread, as addresses and as the text that Python writes of its own frames. The
// libraries for it are those of the process or of the system; each may be absent.
//
// load() on a thread of Weft's. read() on threads of the main job, inside a hook behind the call of NCCL: no lock of
// Weft's, no allocation, bounded. It keeps errno.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace weft {

struct CallStack {
  static constexpr std::size_t most_frames = 48;  // native ones, Weft's own among them
  static constexpr std::size_t most_text = 8192;

  std::array<void*, most_frames> addresses;
  std::uint32_t frames;
  std::uint32_t text_bytes;
  std::array<char, most_text> text;
};

class StackReader {
 public:
  // Once. Returns the reasons for what is missing, one line each. `unwinder`: path of a library that has unw_backtrace;
  // "": one of the usual names.
  std::vector<std::string> load(const std::string& unwinder);
  bool reads_anything() const { return unwind_ != nullptr || dump_ != nullptr; }

  // False: not now, because a handler of a signal or an exception is under way on this thread.
  bool read(CallStack& stack) const noexcept;

 private:
  std::string load_unwinder(const std::string& named);
  std::string find_python();
  std::uint32_t dump_python(char* text, std::size_t bytes) const noexcept;

  int (*unwind_)(void** addresses, int most) = nullptr;  // unw_backtrace
  int (*exceptions_under_way_)() = nullptr;              // std::uncaught_exceptions of the process
  // Of Python. All of them or none.
  void (*dump_)(int descriptor, void* thread_state) = nullptr;
  void* (*thread_state_)() = nullptr;
  int (*is_initialized_)() = nullptr;
  int (*is_finalizing_)() = nullptr;
};

}  // namespace weft
