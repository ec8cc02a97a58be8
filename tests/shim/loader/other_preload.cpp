// Another preloaded library, which wraps a function of libc and asks for the next one as everybody does.
#include <dlfcn.h>
#include <sys/types.h>

extern "C" __attribute__((visibility("default"))) pid_t getppid(void) noexcept {
  auto* next = reinterpret_cast<pid_t (*)()>(dlsym(RTLD_NEXT, "getppid"));
  return next() + 1000000;
}
