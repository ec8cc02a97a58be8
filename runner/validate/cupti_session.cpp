// See the header.
#include "runner/validate/cupti_session.h"

#include <unistd.h>

#include <cstdlib>

#include "runner/clock.h"

namespace weft {
namespace {

using std::chrono::seconds;

void ignore_callback(void*, std::uint32_t, std::uint32_t, const void*) {}

constexpr Duration longest_at_exit = seconds(2);

constinit std::atomic<CuptiSession*> session_to_end{nullptr};

// The process leaves, on whatever thread called exit(): the recorder's thread writes its last lines meanwhile. A forked
// child has this handler and no such thread.
void end_at_exit() {
  CuptiSession& session = *session_to_end.load();
  if (::getpid() != session.process) return;
  session.exiting.store(true);
  wait_at_most(longest_at_exit, [&] { return !session.in_use.load(); });
  session.gone.store(true);
}

// Exit handlers run in the reverse order of their registration: this one runs before all that CUPTI has registered up
// to here, and before its destructors.
void end_before_cupti(CuptiSession& session) {
  session.process = ::getpid();
  session_to_end.store(&session);
  std::atexit(&end_at_exit);
}

std::string enable(CuptiSession& session) {
  if (const auto result = session.library.register_callbacks(&cupti::request_buffer, &cupti::complete_buffer);
      result != cupti::success)
    return "cuptiActivityRegisterCallbacks: " + cupti::name_of(result);
  session.buffers.lend(true);
  for (const cupti::Kind kind : {cupti::concurrent_kernel, cupti::memory_copy, cupti::memory_set})
    if (const auto result = session.library.enable(kind); result != cupti::success)
      return "cuptiActivityEnable: " + cupti::name_of(result);
  return "";
}

}  // namespace

std::string subscribe(CuptiSession& session, const std::string& named, const Variables& environment) {
  if (session.enabled || !session.failure.empty()) return session.failure;
  // One library, whatever it answers: one that has been called stays in the process, and so would the next one.
  session.failure = cupti::open(named, environment, session.library);
  if (!session.failure.empty()) return session.failure;
  if (!session.buffers.make() || !cupti::use_for_callbacks(session.buffers))
    return session.failure = "no memory for CUPTI's buffers";
  // First of all: it tells whether another profiler is there, and tells others that this one is.
  if (const auto result = session.library.subscribe(&session.subscriber, &ignore_callback, nullptr);
      result != cupti::success)
    return session.failure = cupti::name_of(result);
  session.failure = enable(session);
  session.enabled = session.failure.empty();
  if (session.enabled) {
    end_before_cupti(session);
  } else {
    session.buffers.lend(false);
    session.library.unsubscribe(session.subscriber);
  }
  return session.failure;
}

}  // namespace weft
