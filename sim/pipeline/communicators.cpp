// See communicators.h.
#include "sim/pipeline/communicators.h"

#include <map>

namespace weft::pipeline {
namespace {

// The second of two is that farther down the pipeline.
int number_of_two(int place, int other) {
  return place < other ? 0 : 1;
}

const Message& message_of(const Step& step) {
  return step.send.channel >= 0 ? step.send : step.receive;
}

bool is_of_all(const Step& step) {
  return step.kind == Step::Kind::whole_sum || step.kind == Step::Kind::loss_sum;
}

}  // namespace

CommunicatorId communicator_of(const Programs& programs, const Step& step) {
  const std::size_t number = is_of_all(step)                      ? programs.pairs + 1
                             : step.kind == Step::Kind::stage_sum ? programs.pairs
                             : programs.is_paired                 ? 0
                                                                  : static_cast<std::size_t>(message_of(step).pair);
  return static_cast<CommunicatorId>(number + 1);
}

int peer_of(const Programs& programs, const Message& message, int place) {
  return programs.is_paired || message.peer < 0 ? message.peer : number_of_two(message.peer, place);
}

std::vector<Membership> communicators_of(const Programs& programs, int replicas, int rank) {
  const auto places = static_cast<int>(programs.of_place.size());
  const int replica = rank / places, place = rank % places;
  // Of each number all replicas have one, or each place, or there is but one.
  const auto identity = [&](CommunicatorId number, int which) {
    return std::uint64_t{number} << 32 | static_cast<std::uint32_t>(which + 1);
  };
  std::map<CommunicatorId, Membership> found;
  for (const Program& program : programs.of_place[static_cast<std::size_t>(place)]) {
    for (const Step& step : program.steps) {
      const CommunicatorId number = communicator_of(programs, step);
      if (is_of_all(step))
        found[number] = {number, identity(number, 0), rank, replicas * places};
      else if (step.kind == Step::Kind::stage_sum)
        found[number] = {number, identity(number, place), replica, replicas};
      else if (step.kind == Step::Kind::post && programs.is_paired)
        found[number] = {number, identity(number, replica), place, places};
      else if (step.kind == Step::Kind::post)
        found[number] = {number, identity(number, replica), number_of_two(place, message_of(step).peer), 2};
    }
  }
  std::vector<Membership> memberships;
  for (const auto& [number, membership] : found) memberships.push_back(membership);
  return memberships;
}

}  // namespace weft::pipeline
