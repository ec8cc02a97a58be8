// See marking.h.
#include "runner/options/marking.h"

#include <cstdlib>

#include "runner/options/answers.h"

namespace weft {
namespace {

constexpr std::uint32_t default_queues = 8;

// As the driver reads numbers; 0: there is none.
int number_in(const Variables& variables, const char* name) {
  const auto found = variables.find(name);
  return found == variables.end() ? 0 : std::atoi(found->second.c_str());
}

Marking with_one_queue(const char* because, const Answers* answers) {
  if (answers == nullptr) return {Marks::events, true, because};
  if ((*answers)[Asked::event] == Found::holds)
    return {Marks::none, true, "one hardware queue, which an event holds up (weft check)"};
  return {(*answers)[Asked::write] == Found::passes ? Marks::writes : Marks::events, true, because};
}

}  // namespace

std::uint32_t hardware_queues(const Variables& variables) {
  const int value = number_in(variables, "CUDA_DEVICE_MAX_CONNECTIONS");
  return value < 1 || value > static_cast<int>(most_queues) ? default_queues : static_cast<std::uint32_t>(value);
}

Marking marking_for(const Environments& environments, const Answers* answers) {
  if (number_in(environments.now, "CUDA_LAUNCH_BLOCKING") == 1)
    return {Marks::none, false, "blocking launches (CUDA_LAUNCH_BLOCKING=1)"};
  if (number_in(environments.first, "CUDA_LAUNCH_BLOCKING") == 1)
    return {Marks::none, false, "perhaps blocking launches (CUDA_LAUNCH_BLOCKING was 1 when the process began)"};
  if (hardware_queues(environments.now) == 1)
    return with_one_queue("one hardware queue (CUDA_DEVICE_MAX_CONNECTIONS=1)", answers);
  if (hardware_queues(environments.first) == 1)
    return with_one_queue("perhaps one hardware queue (CUDA_DEVICE_MAX_CONNECTIONS was 1 when the process began)",
                          answers);
  return {};
}

}  // namespace weft
