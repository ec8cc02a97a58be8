// Whether bubbles have room for a fill job with variants: for the next slice of the present one, and for that of a
// better one which had none before.
//
// Fed by the thread that decides about slices, at each look into an open bubble; its finding is used where jobs are
// begun and ended. Pure. Iterations are counted, not bubbles: one bubble with room in each is enough to get on.
#pragma once

#include <cstdint>

#include "runner/policy/planner.h"

namespace weft {

// The open bubble, by the planner: it is of this iteration, and has room for a slice or not.
struct BubbleRoom {
  std::uint64_t iteration = 0;
  bool known = false;  // false: it says nothing, for it has no forecast, goes without fill or is not to be filled
  bool has_room = false;
};

// The questions.
struct RoomWish {
  std::uint32_t iterations = 1;  // in a row
  bool has_smaller = false;      // a variant that may fit: have they no room for the present one?
  Duration better{};             // have they room for a slice of this length of a better one? 0: they have refused none
  bool wants_any() const { return has_smaller || better > Duration{}; }
};

enum class RoomFinding : std::uint8_t { none, no_room, room_for_better };

class RoomWatch {
 public:
  explicit RoomWatch(const RoomWish& wish = {}) : wish_(wish) {}

  const RoomWish& wish() const { return wish_; }
  // `slice`: the shortest that may come next.
  void note_present(const BubbleRoom& room, Duration slice);
  void note_better(const BubbleRoom& room) { better_.note(room); }

  // Both, at a look: `room` answers for the slices that it is given; `next` are those of the job that may come next.
  template <class Room>
  void look(const Candidates& next, const Room& room) {
    if (!wish_.wants_any() || next.count == 0) return;
    note_present(room(next), next.alone[0]);
    if (wish_.better > Duration{}) note_better(room(Candidates{{wish_.better}, 1}));
  }

  RoomFinding finding() const;
  Duration refused() const { return refused_; }  // the latest slice without room

 private:
  // Of iterations that are over.
  struct Streak {
    void note(const BubbleRoom& room);

    std::uint64_t iteration = 0;
    bool has_begun = false, has_room = false;  // in this iteration
    std::uint32_t with = 0, without = 0;       // in a row
  };

  RoomWish wish_;
  Streak present_, better_;
  Duration refused_{};
};

}  // namespace weft
