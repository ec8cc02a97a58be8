// Sayings: what the framework says of itself by annotations, and whether that can be true. Numbers and order only: what
// the GPU does is not known here.
//
// Fed by the detector with each said_... event, one thread. An annotation that contradicts the ones before it is
// counted and not believed; iterations are believed again once two whole ones have followed that fit.
#pragma once

#include <cstdint>

#include "detector/bubble.h"
#include "detector/event.h"

namespace weft {

class Sayings {
 public:
  // Nothing (nullptr), or why it is not believed: a string literal. `issued`: groups so far.
  const char* iteration_begun(const Saying& saying, std::uint64_t issued);
  const char* iteration_ended(const Saying& saying, std::uint64_t issued);
  const char* stage(const Saying& saying);
  const char* microbatch_begun(const Saying& saying);
  const char* microbatch_ended(const Saying& saying);
  const char* bubble_begun(const Saying& saying);
  const char* bubble_ended(const Saying& saying);
  // A group is issued now: in a bubble only those that it waits for.
  const char* group_issued();
  // At each beginning and end of an iteration, before it: no microbatch or bubble may be open then. The next one
  // counts.
  const char* microbatch_left_open();
  const char* bubble_left_open();

  bool iterations_are_believed() const { return whole_ >= enough_whole; }
  // The framework has stopped saying iterations: nothing was heard for several iterations' worth of groups.
  bool iterations_have_ceased(std::uint64_t issued) const;
  // A bubble has begun, and not ended.
  bool in_bubble() const { return bubble_.open; }
  // Where the schedule is now.
  const Said& present() const { return present_; }
  std::uint64_t refused() const { return refused_; }

 private:
  // Something with a beginning and an end.
  struct Span {
    bool heard = false;  // an annotation of this kind: the first of all may be an end, its beginning came before Weft
    bool open = false;
    bool given_up = false;  // its end is still to come, and counts for nothing
    std::int64_t number = 0;
    std::uint64_t thread = 0;
  };
  static constexpr std::uint64_t enough_whole = 2;
  // Without a word for so many of the longest iterations, or so many groups if that is more, they have ceased. One that
  // has begun may be longer than all before it.
  static constexpr std::uint64_t patience = 8, least_patience = 256, open_patience = 65536;
  static constexpr std::uint32_t most_in_bubble = 2;  // groups: a send, and the receive that is waited for

  const char* refuse(const char* why);
  static void begin(Span& span, const Saying& saying);
  const char* left_open(Span& span, const char* why);

  Span iteration_, microbatch_, bubble_;
  Said present_{};
  std::uint64_t whole_ = enough_whole;                       // iterations since the latest contradiction
  std::uint64_t begun_at_ = 0, heard_at_ = 0, longest_ = 0;  // groups
  std::uint32_t in_bubble_ = 0;                              // groups
  std::uint64_t refused_ = 0;
};

}  // namespace weft
