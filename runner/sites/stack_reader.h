// Reads the stack of the calling thread: native frames as addresses, Python's as the text that the interpreter writes.
//
// load() on a thread of Weft's. read() on threads of the main job, inside a hook behind the call of NCCL: no lock, no
// allocation, bounded; of a build for, or on, a glibc before 2.35 the
// loader's lock of its list of libraries. It keeps errno.
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
  // Once. Returns the reasons for what is missing, one line each. `unwinder`: path of a libunwind that is to read the
  // native frames; "": the compiler's own runtime does, which each build brings along.
  std::vector<std::string> load(const std::string& unwinder);
  bool is_loaded() const { return unwind_ != nullptr || dump_ != nullptr; }

  // False: not now, or not all that there is.
  bool read(CallStack& stack) const noexcept;

 private:
  std::string load_unwinder(const std::string& path);
  std::string find_python();
  bool dump_python(CallStack& stack) const noexcept;

  int (*unwind_)(void** addresses, int most) = nullptr;
  // Of Python. All of them or none.
  void (*dump_)(int descriptor, void* thread_state) = nullptr;
  void* (*thread_state_)() = nullptr;
  int (*is_initialized_)() = nullptr;
  int (*is_finalizing_)() = nullptr;
};

}  // namespace weft
