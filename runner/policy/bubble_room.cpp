// See bubble_room.h.
#include "runner/policy/bubble_room.h"

namespace weft {

void RoomWatch::Streak::note(const BubbleRoom& room) {
  if (!room.known) return;
  if (has_begun && room.iteration != iteration) {
    (has_room ? with : without) += 1;
    (has_room ? without : with) = 0;
    has_room = false;
  }
  iteration = room.iteration;
  has_begun = true;
  has_room = has_room || room.has_room;
}

void RoomWatch::note_present(const BubbleRoom& room, Duration slice) {
  present_.note(room);
  if (room.known && !room.has_room) refused_ = slice;
}

RoomFinding RoomWatch::finding() const {
  if (wish_.has_smaller && present_.without >= wish_.iterations && !present_.has_room) return RoomFinding::no_room;
  if (wish_.better > Duration{} && better_.with >= wish_.iterations) return RoomFinding::room_for_better;
  return RoomFinding::none;
}

}  // namespace weft
