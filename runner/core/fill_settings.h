// The settings of a fill job of a device, from the options and from the state of the device at this moment.
//
// On a thread of the main job inside the core's services, with the device's context current.
#pragma once

#include <string>

#include "runner/core/device_setup.h"
#include "runner/fill/prepared_fill.h"
#include "runner/options/fill_plan.h"

namespace weft {

// "": something is, as far as marks and counts of launches say.
std::string why_nothing_is_filled(const CoreContext& core, const Marking& marking);

// Throws SetUpError where the device or its environment is against filling.
// Throws SetUpError where no job at all can be run on this device.
void check_fillable(const CoreContext& core, const DeviceSetup& setup);
FillSettings fill_settings(const CoreContext& core, const DeviceSetup& setup, const JobPlan& plan);

}  // namespace weft
