// Questions to streams of the main job: has this one any work left? And what keeps a question from doing harm.
//
// Streams may be asked on any thread at any time; but a stream that is destroyed must not be, and a question to one
// that captures ends its capture. Whoever is about to do either first makes it known (forget_stream(),
// capture_begins()) and then waits here for those who ask already. No lock; nothing here waits for longer than a tenth
// of a second.
#pragma once

#include <atomic>
#include <cstdint>

#include "detector/event.h"
#include "shim/main_job/capture.h"
#include "shim/process.h"

namespace weft {

// Asks one stream whether it has work left; unknown when it is gone or while a stream captures. Then every explicit
// stream of the device, and the legacy one; per-thread default streams answer only to their own threads. See
// ShimServices.
Answer ask_stream(int device, StreamId stream) noexcept;
bool is_idle(int device) noexcept;
// It answers that it has nothing left, copies and waits included. False also where it must not be asked.
bool is_dry(const Stream& stream) noexcept;
// A blocking stream has gone whose work nobody sees to end: the legacy stream answers for it, and is really asked.
void note_unseen_end(int device) noexcept;

// See ShimServices.
bool nothing_is_enqueued(int device) noexcept;

// The streams that ask_stream() may be called for, explicit ones and the legacy one, into `found`; -1: more than `most`
// or than can be told.
int list_streams_to_ask(int device, StreamId* found, int most) noexcept;

// Another number when anything was launched meanwhile on one of those. False: see ShimServices.
bool launches_on(int device, std::uint32_t* launches) noexcept;
// Likewise, also while a host waits; on any thread. False: they are not all counted.
bool all_launches(int device, std::uint32_t* launches) noexcept;

// Until nobody asks any more: microseconds. After a tenth of a second the caller goes on although somebody may.
void wait_for_questions() noexcept;

// The hooks are pass-throughs. Whoever still asked a stream when Weft was turned off has got the answer then, because
// destruction and captures are made known no more.
inline bool is_off() noexcept {
  if (level() != Level::pass) return false;
  wait_for_questions();
  return true;
}

// Calls ask() where it does no harm, else false. Where it did none before ask() it does none until the answer.
template <class Ask>
bool ask_undisturbed(Ask ask) noexcept {
  std::atomic<std::uint32_t>& questions = present_page().questions;
  questions.fetch_add(1, std::memory_order_seq_cst);
  const bool answer = level() == Level::observe && !any_capture() && ask();
  questions.fetch_sub(1, std::memory_order_release);
  return answer;
}

}  // namespace weft
