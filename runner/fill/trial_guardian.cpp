// The guardian and its few system calls; see the header for what must not happen here. Compiled without stack protector
// and sanitizers, which both need thread-local storage.
#include "runner/fill/trial_guardian.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <csignal>
#include <ctime>

namespace weft {
namespace {

constexpr int transcript_descriptor = 3;
constexpr long look_every = 50'000'000;  // nanoseconds, where no signal says that something has happened
constexpr std::int64_t patience_of_an_orphan = 500'000'000;  // for a killed probe, when the training process is gone
constexpr long most_descriptors = 65536;                     // that are closed one by one on an old kernel
constexpr int last_signal = 64;

[[gnu::always_inline]] inline long call(long number, long a = 0, long b = 0, long c = 0, long d = 0, long e = 0) {
  long result = number;
  register long r10 asm("r10") = d;
  register long r8 asm("r8") = e;
  asm volatile("syscall" : "+a"(result) : "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8) : "rcx", "r11", "memory");
  return result;
}

template <class Type>
[[gnu::always_inline]] inline long address(Type* pointer) {
  return reinterpret_cast<long>(pointer);
}

// Runs function(argument) in the new process, on its own stack; the process ends when the function returns.
[[gnu::noinline]] long clone_onto(std::byte* stack, long flags, int (*function)(GuardianTask*), GuardianTask* argument,
                                  void* process_word) {
  void** const top = reinterpret_cast<void**>(stack) - 2;
  top[0] = argument;
  top[1] = reinterpret_cast<void*>(function);
  long result = __NR_clone;
  register void* r10 asm("r10") = process_word;
  register long r8 asm("r8") = 0;
  asm volatile(
      "syscall\n\t"
      "test %%rax, %%rax\n\t"
      "jnz 1f\n\t"
      "xor %%ebp, %%ebp\n\t"
      "pop %%rdi\n\t"
      "pop %%rax\n\t"
      "call *%%rax\n\t"
      "mov %%eax, %%edi\n\t"
      "mov %[exit], %%eax\n\t"
      "syscall\n\t"
      "ud2\n"
      "1:"
      : "+a"(result)
      : "D"(flags), "S"(top), "d"(process_word), "r"(r10), "r"(r8), [exit] "i"(__NR_exit)
      : "rcx", "r11", "memory");
  return result;
}

std::int64_t monotonic_now() {
  timespec time;
  call(__NR_clock_gettime, CLOCK_MONOTONIC, address(&time));
  return time.tv_sec * 1'000'000'000 + time.tv_nsec;
}

struct KernelSignalAction {
  void* handler;
  unsigned long flags;
  void* restorer;
  unsigned long mask;
};

// None of the main job's handlers may run here, and the probe starts with the defaults. All signals stay blocked.
void forget_handlers() {
  KernelSignalAction by_default;
  by_default.handler = nullptr;
  by_default.flags = 0;
  by_default.restorer = nullptr;
  by_default.mask = 0;
  for (int signal = 1; signal <= last_signal; ++signal)
    call(__NR_rt_sigaction, signal, address(&by_default), 0, sizeof by_default.mask);
}

void close_from(long first) {
  if (call(__NR_close_range, first, ~0U, 0) == 0) return;
  for (long descriptor = first; descriptor < most_descriptors; ++descriptor) call(__NR_close, descriptor);
}

// The process that becomes the probe. The guardian stands still until the exec.
int become_probe(GuardianTask* task) {
  call(__NR_setsid);
  call(__NR_prctl, PR_SET_PDEATHSIG, SIGKILL);
  call(__NR_dup2, task->transcript, transcript_descriptor);
  close_from(transcript_descriptor + 1);
  static constexpr char nothing[] = "/dev/null";
  const long sink = call(__NR_open, address(nothing), O_RDWR);
  for (int descriptor = 0; descriptor < transcript_descriptor; ++descriptor) call(__NR_dup2, sink, descriptor);
  if (sink > transcript_descriptor) call(__NR_close, sink);
  const unsigned long none = 0;
  call(__NR_rt_sigprocmask, SIG_SETMASK, address(&none), 0, sizeof none);
  call(__NR_execve, address(task->program), address(task->arguments), address(task->environment));
  task->end.store(ProbeEnd::not_started);
  return 127;
}

// Until a child has ended, the thread that has started the guardian has, or some time has passed. The signal, or less
// than 0.
long wait_a_little() {
  const unsigned long awaited = 1UL << (SIGCHLD - 1) | 1UL << (SIGTERM - 1);
  timespec limit;
  limit.tv_sec = 0;
  limit.tv_nsec = look_every;
  return call(__NR_rt_sigtimedwait, address(&awaited), 0, address(&limit), sizeof awaited);
}

// It stays unreaped, so that its number names its group of processes.
bool has_ended(long probe) {
  siginfo_t information;
  information.si_pid = 0;
  call(__NR_waitid, P_PID, probe, address(&information), WEXITED | WNOHANG | WNOWAIT);
  return information.si_pid != 0;
}

bool rank_lives(const GuardianTask& task, long parent) {
  return call(__NR_getppid) == parent && parent == task.rank;
}

ProbeEnd watch(const GuardianTask& task, long probe, long parent) {
  for (;;) {
    if (has_ended(probe)) return ProbeEnd::ended;
    if (task.stop.load() || !rank_lives(task, parent)) return ProbeEnd::stopped;
    if (monotonic_now() >= task.deadline) return ProbeEnd::overdue;
    // The thread waits for the guardian: it goes first only with its process, or when that becomes another program.
    if (wait_a_little() == SIGTERM) return ProbeEnd::stopped;
  }
}

// Processes that the probe has left behind in other sessions are the guardian's by now.
void kill_children() {
  static constexpr char path[] = "/proc/thread-self/children";
  const long file = call(__NR_open, address(path), O_RDONLY | O_CLOEXEC);
  if (file < 0) return;
  char text[256];
  const long size = call(__NR_read, file, address(text), sizeof text);
  call(__NR_close, file);
  long number = 0;
  for (long index = 0; index < size; ++index) {
    if (text[index] >= '0' && text[index] <= '9') {
      number = 10 * number + (text[index] - '0');
    } else {
      if (number > 1) call(__NR_kill, number, SIGKILL);
      number = 0;
    }
  }
}

// All of the probe's processes go before the guardian does: none is handed on to anybody.
void end_all(const GuardianTask& task, long probe, long parent) {
  call(__NR_kill, -probe, SIGKILL);
  std::int64_t orphan_since = 0;
  for (;;) {
    const long child = call(__NR_wait4, -1, 0, WNOHANG | __WALL, 0);
    if (child < 0) return;
    if (child > 0) continue;
    if (!rank_lives(task, parent)) {
      if (orphan_since == 0) orphan_since = monotonic_now();
      if (monotonic_now() - orphan_since > patience_of_an_orphan) return;
    }
    kill_children();
    wait_a_little();
  }
}

int guard(GuardianTask* task) {
  forget_handlers();
  call(__NR_setsid);  // who kills the ranks as a group leaves it the time to clear up
  call(__NR_prctl, PR_SET_NAME, address("weft-guardian"));
  call(__NR_prctl, PR_SET_CHILD_SUBREAPER, 1);
  call(__NR_prctl, PR_SET_PDEATHSIG, SIGKILL);  // until the exec of the probe nothing else would reach it
  const long parent = call(__NR_getppid);
  if (!rank_lives(*task, parent)) return 0;
  const long probe = clone_onto(task->probe_stack, CLONE_VM | CLONE_VFORK | SIGCHLD, &become_probe, task, nullptr);
  if (probe < 0) {
    task->end.store(ProbeEnd::not_started);
    return 0;
  }
  call(__NR_prctl, PR_SET_PDEATHSIG, SIGTERM);  // blocked, as all are: it ends a wait_a_little()
  const ProbeEnd end = watch(*task, probe, parent);
  ProbeEnd none = ProbeEnd::none;
  task->end.compare_exchange_strong(none, end);  // one that was not started has said so
  end_all(*task, probe, parent);
  return 0;
}

}  // namespace

// With the flags of a thread of old, before they were one process: without exit signal, with its own signal handlers.
long start_guardian(GuardianTask& task, std::byte* stack) {
  constexpr long flags = CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_PARENT_SETTID | CLONE_CHILD_CLEARTID;
  return clone_onto(stack, flags, &guard, &task, &task.process);
}

}  // namespace weft
