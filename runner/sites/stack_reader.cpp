// See stack_reader.h.
//
// _Py_DumpTraceback is made for handlers of fatal signals: it takes no lock, allocates nothing, and needs no GIL. The
// frames that it walks are those of the thread that calls it, which stand still meanwhile. That thread has released the
// GIL as a rule, so the interpreter may be taken down by another one: then nothing is read.
#include "runner/sites/stack_reader.h"

#include <dlfcn.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>

namespace weft {
namespace {

// LLVM's libunwind, which is libunwind.so.1, has no unw_backtrace.
constexpr std::array unwinders{"libunwind.so.8", "libunwind.so"};

template <class Function>
bool find(void* scope, const char* name, Function& function) {
  function = reinterpret_cast<Function>(::dlsym(scope, name));
  return function != nullptr;
}

// Only a handler that has a stack of its own can be told.
bool in_signal_handler() noexcept {
  stack_t stack{};
  return ::sigaltstack(nullptr, &stack) != 0 || (stack.ss_flags & SS_ONSTACK) != 0;
}

}  // namespace

std::vector<std::string> StackReader::load(const std::string& unwinder) {
  std::vector<std::string> missing;
  for (const std::string& fault : {load_unwinder(unwinder), find_python()})
    if (!fault.empty()) missing.push_back(fault);
  find(RTLD_DEFAULT, "_ZSt19uncaught_exceptionsv", exceptions_under_way_);
  return missing;
}

// RTLD_LOCAL: libunwind has functions of the names of libgcc's, which are not to be found by others.
std::string StackReader::load_unwinder(const std::string& named) {
  std::vector<std::string> paths(unwinders.begin(), unwinders.end());
  if (!named.empty()) paths = {named};
  for (const std::string& path : paths) {
    void* const library = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (library != nullptr && find(library, "unw_backtrace", unwind_)) return "";
  }
  return (named.empty() ? "no libunwind.so.8 is found" : named + " is no libunwind") +
         ": call sites have no native frames";
}

std::string StackReader::find_python() {
  if (!find(RTLD_DEFAULT, "Py_IsInitialized", is_initialized_)) return "";  // no Python in this process
  const bool is_whole =
      find(RTLD_DEFAULT, "PyGILState_GetThisThreadState", thread_state_) &&
      (find(RTLD_DEFAULT, "Py_IsFinalizing", is_finalizing_) ||
       find(RTLD_DEFAULT, "_Py_IsFinalizing", is_finalizing_)) &&
      (find(RTLD_DEFAULT, "PyUnstable_DumpTraceback", dump_) || find(RTLD_DEFAULT, "_Py_DumpTraceback", dump_));
  if (is_whole) return "";
  dump_ = nullptr;
  const char* (*version)() = nullptr;
  const std::string text = find(RTLD_DEFAULT, "Py_GetVersion", version) ? version() : "";
  return "Python " + text.substr(0, text.find(' ')) +
         " does not let its frames be read without the GIL (3.7, 3.8, 3.11, 3.12 and 3.15 do): call sites have no Python frames";
}

bool StackReader::read(CallStack& stack) const noexcept {
  const int before = errno;
  const bool may = !in_signal_handler() && (exceptions_under_way_ == nullptr || exceptions_under_way_() == 0);
  stack.frames = stack.text_bytes = 0;
  if (may && unwind_ != nullptr) {
    const int frames = unwind_(stack.addresses.data(), static_cast<int>(stack.addresses.size()));
    stack.frames = frames > 0 ? static_cast<std::uint32_t>(frames) : 0;
  }
  if (may && dump_ != nullptr) stack.text_bytes = dump_python(stack.text.data(), stack.text.size());
  errno = before;
  return may;
}

// The file exists only meanwhile: a program that closes all descriptors, and opens others, is not to find its own
// written to.
std::uint32_t StackReader::dump_python(char* text, std::size_t bytes) const noexcept {
  if (is_initialized_() == 0 || is_finalizing_() != 0) return 0;
  void* const state = thread_state_();
  if (state == nullptr) return 0;  // a thread that Python does not know
  const int file = ::memfd_create("weft-call-site", MFD_CLOEXEC);
  if (file < 0) return 0;
  dump_(file, state);
  const ssize_t read = ::pread(file, text, bytes, 0);
  ::close(file);
  return read > 0 ? static_cast<std::uint32_t>(read) : 0;
}

}  // namespace weft
