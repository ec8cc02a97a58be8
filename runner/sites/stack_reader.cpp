// See stack_reader.h.
//
// _Py_DumpTraceback is made for handlers of fatal signals: it takes no lock, allocates nothing, and needs no GIL. The
// frames that it walks are those of the thread that calls it, which stand still meanwhile. That thread has released the
// GIL as a rule, so the interpreter may be taken down by another one: then nothing is read.
#include "runner/sites/stack_reader.h"

#include <dlfcn.h>
#include <sys/mman.h>
#include <unistd.h>
#include <unwind.h>

#include <array>
#include <cerrno>
#include <csignal>

extern "C" const void* _Unwind_Find_FDE(void* address, void* bases);  // of libgcc, which has no header for it

namespace weft {
namespace {

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

struct Addresses {
  void** place;
  int most;
  int found = 0;
};

_Unwind_Reason_Code add_address(_Unwind_Context* frame, void* data) {
  auto& addresses = *static_cast<Addresses*>(data);
  void* const address = reinterpret_cast<void*>(_Unwind_GetIP(frame));
  if (address == nullptr || addresses.found == addresses.most) return _URC_END_OF_STACK;  // behind the outermost one
  addresses.place[addresses.found++] = address;
  return _URC_NO_REASON;
}

// The frames that an exception would go through: it ends where a function has no tables.
int unwind(void** addresses, int most) noexcept {
  Addresses found{addresses, most};
  _Unwind_Backtrace(&add_address, &found);
  return found.found;
}

// The unwinder ends the process where it does not find its own caller's tables.
bool can_unwind() {
  std::array<void*, 3> bases{};
  return _Unwind_Find_FDE(reinterpret_cast<void*>(&unwind), bases.data()) != nullptr;
}

}  // namespace

std::vector<std::string> StackReader::load(const std::string& unwinder) {
  std::vector<std::string> missing;
  for (const std::string& fault : {load_unwinder(unwinder), find_python()})
    if (!fault.empty()) missing.push_back(fault);
  return missing;
}

// RTLD_LOCAL: libunwind has functions of the names of libgcc's, which are not to be found by others. LLVM's has no
// unw_backtrace.
std::string StackReader::load_unwinder(const std::string& path) {
  void* const library = path.empty() ? nullptr : ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library != nullptr && find(library, "unw_backtrace", unwind_)) return "";
  if (!can_unwind()) return "the tables of Weft's own functions are not found: call sites have no native frames";
  unwind_ = &unwind;
  return path.empty() ? "" : path + " is no libunwind: Weft reads native frames without it";
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
         " does not let its frames be read without the GIL (3.7, 3.8, 3.11, 3.12 and 3.15 do): call sites have no "
         "Python frames";
}

bool StackReader::read(CallStack& stack) const noexcept {
  stack.frames = stack.text_bytes = 0;
  if (in_signal_handler()) return false;
  const int before = errno;
  if (unwind_ != nullptr) {
    const int frames = unwind_(stack.addresses.data(), static_cast<int>(stack.addresses.size()));
    stack.frames = frames > 0 ? static_cast<std::uint32_t>(frames) : 0;
  }
  const bool has_all = dump_ == nullptr || dump_python(stack);
  errno = before;
  return has_all && (stack.frames != 0 || stack.text_bytes != 0);
}

// The file exists only meanwhile: a program that closes all descriptors, and opens others, is not to find its own
// written to. False: this thread has frames of Python, and they could not be read.
bool StackReader::dump_python(CallStack& stack) const noexcept {
  if (is_initialized_() == 0 || is_finalizing_() != 0) return true;
  void* const state = thread_state_();
  if (state == nullptr) return true;  // a thread that Python does not know
  const int file = ::memfd_create("weft-call-site", MFD_CLOEXEC);
  if (file < 0) return false;
  dump_(file, state);
  const ssize_t read = ::pread(file, stack.text.data(), stack.text.size(), 0);
  ::close(file);
  stack.text_bytes = read > 0 ? static_cast<std::uint32_t>(read) : 0;
  return read > 0;
}

}  // namespace weft
