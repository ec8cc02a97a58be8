// See the header.
#include "runner/core/device_setup.h"

#include "runner/core/marked_events.h"
#include "runner/core/pinned.h"
#include "runner/core/scopes.h"
#include "runner/options/answers.h"
#include "runner/options/launcher.h"

namespace weft {
namespace {

constexpr std::uint32_t marker_words = 65536;
constexpr std::uint32_t marker_events = 8192;  // each takes memory of the driver

CUdevice device_of(const Driver& driver, int ordinal) {
  CUdevice device{};
  check(driver, driver.cuDeviceGet(&device, ordinal), "cuDeviceGet");
  return device;
}

std::uint32_t multiprocessors_of(const Driver& driver, CUdevice device) {
  int count = 0;
  check(driver, driver.cuDeviceGetAttribute(&count, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, device),
        "cuDeviceGetAttribute");
  return static_cast<std::uint32_t>(count);
}

std::string name_of(const Driver& driver, CUdevice device) {
  char name[256] = "";
  check(driver, driver.cuDeviceGetName(name, sizeof name, device), "cuDeviceGetName");
  return name;
}

// Answers that were kept for one queue decide with any number of them, see marking.h.
void decide_marking(const CoreContext& core, CUdevice device, DeviceSetup& setup) {
  const Purpose purpose = core.options.mode == Mode::fill ? Purpose::fill : Purpose::observe;
  setup.marking = marking_for(core.environments);
  if (setup.is_unmarked()) return;
  const Machine machine = machine_of(name_of(core.driver, device), core.shim.driver_version, core.environments.now);
  Answers answers;
  const std::string folder = answers_folder(core.options.answers, core.environments.now);
  if (read_deciding_answers(folder, machine, answers, setup.answers_fault))
    setup.marking = marking_for(core.environments, &answers, purpose, core.options.one_queue);
}

// The current context if it is of this device, else the device's primary one.
CUcontext context_of(const Driver& driver, CUdevice device, int ordinal) {
  CUcontext context = nullptr;
  CUdevice current_device{};
  if (driver.cuCtxGetCurrent(&context) == CUDA_SUCCESS && context != nullptr &&
      driver.cuCtxGetDevice(&current_device) == CUDA_SUCCESS && current_device == device)
    return context;
  unsigned flags = 0;
  int active = 0;
  check(driver, driver.cuDevicePrimaryCtxGetState(device, &flags, &active), "cuDevicePrimaryCtxGetState");
  if (active == 0) throw SetUpError("device " + std::to_string(ordinal) + " has no context");
  // The main job holds it; our own hold would change when its context goes away.
  check(driver, driver.cuDevicePrimaryCtxRetain(&context, device), "cuDevicePrimaryCtxRetain");
  check(driver, driver.cuDevicePrimaryCtxRelease_v2(device), "cuDevicePrimaryCtxRelease");
  return context;
}

// With words_mutex and the context.
MarkerEvent* events_of(const Driver& driver, KeptWords& kept) {
  if (kept.places == nullptr) kept.places = static_cast<MarkerEvent*>(map_pages(marker_events * sizeof(MarkerEvent)));
  make_marker_events(driver, kept.places, marker_events);
  return kept.places;
}

void forget_context(KeptWords& kept) {
  kept.words.device = 0;
  kept.words.events = nullptr;
  kept.context = nullptr;
}

// The next communicator is opened in another context of the device. The one before is there: its end would have been
// told. Streams there may still write what is outstanding, so those pages remain theirs.
void leave_context(const Driver& driver, KeptWords& kept) {
  const CurrentContext before(driver, kept.context);
  if (before.pushed() && kept.words.events != nullptr)
    destroy_marker_events(driver, kept.words.events, kept.words.count);
  if (kept.words.device != 0) kept.words.host = nullptr;
  forget_context(kept);
}

// With this context current. Words that no stream can write and without events where the device is unmarked: the hooks
// note groups and enqueue nothing.
MarkerWords words_of(CoreContext& core, int ordinal, CUcontext context, Marks marks) {
  const std::lock_guard lock(core.words_mutex);
  KeptWords& kept = core.words[ordinal];
  MarkerWords& words = kept.words;
  if (kept.context != nullptr && kept.context != context) leave_context(core.driver, kept);
  if (words.device != 0 || words.events != nullptr) return words;
  constexpr std::size_t bytes = marker_words * sizeof(std::uint32_t);
  if (words.host == nullptr) words.host = static_cast<MarkerWord*>(map_pages(bytes));
  words.count = marks == Marks::events ? marker_events : marker_words;
  if (marks == Marks::writes) words.device = register_pages(core.driver, words.host, bytes);
  if (marks == Marks::events) words.events = events_of(core.driver, kept);
  kept.context = context;
  return words;
}

}  // namespace

void DeviceSetup::take_answers(const std::string& letters, OneQueue wish) {
  if (marking.fillable != Fillable::unasked) return;
  Answers answers;
  parse_letters(letters, answers);
  decide_fillable(answers, wish, marking);
}

void forget_words(CoreContext& core, int ordinal) {
  const std::lock_guard lock(core.words_mutex);
  forget_context(core.words[ordinal]);
}

DeviceSetup set_up_device(CoreContext& core, int ordinal, const CommunicatorInfo& first) {
  DeviceSetup setup;
  setup.ordinal = ordinal;
  const JobPlace place = place_in_job(core.environments.now, {first.rank, first.ranks});
  setup.rank = place.rank;
  setup.ranks = place.ranks;
  // A process with one device, as most are, has it in no name. Whichever device comes first counts as the one.
  int none = -1;
  setup.is_further_device = !core.first_device.compare_exchange_strong(none, ordinal) && none != ordinal;
  const CUdevice device = device_of(core.driver, ordinal);
  setup.multiprocessors = multiprocessors_of(core.driver, device);
  setup.context = context_of(core.driver, device, ordinal);
  decide_marking(core, device, setup);
  const CurrentContext current(core.driver, setup.context);
  if (!current.pushed()) throw SetUpError("the context of device " + std::to_string(ordinal) + " cannot be used");
  setup.words = words_of(core, ordinal, setup.context, setup.marking.marks);
  return setup;
}

}  // namespace weft
