// See the header.
#include "runner/core/fill_settings.h"

#include "runner/fill/queues.h"
#include "runner/options/answers.h"
#include "runner/options/quantity.h"

namespace weft {
namespace {

// The reservation must leave the head-room to the main job, which may have more left later.
void check_head_room(const CoreContext& core, std::uint64_t memory) {
  const Options& options = core.options;
  std::size_t free = 0, total = 0;
  check(core.driver, core.driver.cuMemGetInfo_v2(&free, &total), "cuMemGetInfo");
  if (free >= memory && free - memory >= options.headroom) return;
  throw PassingFault("the reservation of " + mebibytes(memory) + " (WEFT_MEMORY) cannot be made: " + mebibytes(free) +
                     " of device memory are free, and " + mebibytes(options.headroom) +
                     " have to stay free beside it (WEFT_HEADROOM)");
}

// A server at its usual place is joined without the variable, which only the driver knows.
bool shares_gpu_by_mps(const CoreContext& core, int ordinal) {
  CUdevice device{};
  int enabled = 0;
  const bool told = core.driver.cuDeviceGet(&device, ordinal) == CUDA_SUCCESS &&
                    core.driver.cuDeviceGetAttribute(&enabled, CU_DEVICE_ATTRIBUTE_MPS_ENABLED, device) == CUDA_SUCCESS;
  return (told && enabled != 0) || is_under_mps(core.environments.now) || is_under_mps(core.environments.first);
}

void check_mps(const CoreContext& core, int ordinal) {
  if (core.options.mps || !shares_gpu_by_mps(core, ordinal)) return;
  throw SetUpError(
      "the process is a client of MPS, where a fault of the fill job's trial would end the training, too (WEFT_MPS=on "
      "fills all the same)");
}

}  // namespace

std::string why_nothing_is_filled(const CoreContext& core, const Marking& marking) {
  if (marking.fillable == Fillable::nothing) return marking.unfillable;
  const bool hangs_on_launches = marking.one_queue && marking.fillable != Fillable::any;
  if (hangs_on_launches && !core.options.launches)
    return "with WEFT_LAUNCHES=off it is not known what is enqueued there";
  return "";
}

void check_fillable(const CoreContext& core, const DeviceSetup& setup) {
  check_mps(core, setup.ordinal);
  const Marking& marking = setup.marking;
  const std::string why = why_nothing_is_filled(core, marking);
  if (!why.empty()) throw SetUpError(std::string(marking.because) + ": " + why);
  const std::uint32_t queues = hardware_queues(core.environments.now);
  const std::string crowd = too_many_streams(core.shim.streams_in_use(setup.ordinal), queues);
  if (!marking.one_queue && !crowd.empty()) throw SetUpError(crowd);
  if (!core.driver.missing_to_fill.empty())
    throw SetUpError(std::string("this CUDA driver lacks ") + core.driver.missing_to_fill.front() + " (it is " +
                     core.shim.driver_path + ")");
}

FillSettings fill_settings(const CoreContext& core, const DeviceSetup& setup, const JobPlan& plan) {
  check_fillable(core, setup);
  const Marking& marking = setup.marking;
  FillSettings settings;
  settings.spec = parse_fill_spec(plan.spec);
  settings.stamp = plan.stamp;
  if (!plan.stamp.is_known()) check_fill_file(settings.spec);
  settings.feed = {core.options.feeder, plan.files.input, plan.files.results, plan.files.weights, plan.arguments};
  settings.feed.claims = plan.files.claims;
  settings.lane.device = setup.ordinal;
  settings.uuid = core.driver.uuid_of(setup.ordinal);
  settings.memory = plan.memory;
  settings.unit.slice_cap = core.options.slice;
  settings.unit.confine = {core.options.confine, blocks_left(setup.multiprocessors, core.options.reserve_sms),
                           core.options.reserve_sms, shares_gpu_by_mps(core, setup.ordinal)};
  settings.lane.queues = hardware_queues(core.environments.now);
  settings.asks_machine = marking.fillable == Fillable::unasked;
  settings.wish = core.options.one_queue;
  settings.lane.stream = marking.stream;
  settings.lane.streams_made = core.shim.streams_made(setup.ordinal);
  check_head_room(core, plan.memory);
  return settings;
}

}  // namespace weft
