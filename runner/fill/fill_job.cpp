// Loading and calling a fill job. The job is foreign code: whatever it throws is caught here, whatever it says is cut
// to one line.
#include "runner/fill/fill_job.h"

#include <dlfcn.h>
#include <sys/stat.h>

#include <algorithm>
#include <atomic>
#include <climits>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "runner/log.h"

namespace weft {
namespace {

constexpr std::uint64_t most_progress = std::uint64_t{1} << 30;

std::string absolute(const std::string& path) {
  char resolved[PATH_MAX];
  return ::realpath(path.c_str(), resolved) == nullptr ? std::string() : std::string(resolved);
}

const char* loader_message() {
  const char* text = ::dlerror();
  return text == nullptr ? "unknown reason" : text;
}

// Calls into the job; an exception that would leave it counts as an error of the call.
template <class Call>
int guarded(Call call) noexcept {
  try {
    return call();
  } catch (...) {
    return -1;
  }
}

std::int8_t verdict_of(int told) {
  return told < 0 ? std::int8_t{-1} : told == 0 ? std::int8_t{0} : std::int8_t{1};
}

}  // namespace

SetUpError no_such_job(const FillSpec& spec) {
  const bool is_short = spec.path.find('/') == std::string::npos;
  return SetUpError("fill job " + spec.path + ": no such file" +
                    (is_short ? "; short names are for weft run, WEFT_FILL takes the path of a shared object" : ""));
}

void check_fill_file(const FillSpec& spec) {
  struct stat status {};
  if (::stat(spec.path.c_str(), &status) != 0) throw no_such_job(spec);
  if (!S_ISREG(status.st_mode)) throw SetUpError("fill job " + spec.path + " is not a regular file");
}

FillJob::FillJob(const FillSpec& spec, Reservation& reservation, const FillLimits& limits)
    : spec_(spec),
      reservation_(reservation),
      feed_(reservation, limits.feed, absolute(spec.path)),
      label_("fill job " + spec.path) {
  host_.struct_size = sizeof host_;
  host_.abi_version = WEFT_FILL_ABI_VERSION;
  host_.device = limits.device;
  host_.max_blocks = limits.max_blocks;
  host_.memory_cap = reservation.cap();
  host_.context = this;
  host_.allocate = &FillJob::allocate;
  host_.allocate_host = &FillJob::allocate_host;
  host_.log = &FillJob::show;
  host_.fail = &FillJob::fail;
  host_.describe_parameter = &FillJob::describe_parameter;
  host_.describe_input = &FillJob::describe_input;
  host_.parameter = &FillJob::parameter;
  host_.records = &FillJob::records;
  host_.input = &FillJob::input;
  host_.output = &FillJob::output;
  host_.passes = &FillJob::passes;
  host_.between_bubbles_on_host = &FillJob::between_bubbles_on_host;
}

std::unique_ptr<FillJob> FillJob::load(const FillSpec& spec, Reservation& reservation, const FillLimits& limits) {
  std::unique_ptr<FillJob> job(new FillJob(spec, reservation, limits));
  job->open();
  job->initialise();
  return job;
}

// Under the name of its version; the table of an older one is a begin of the present one.
void FillJob::open() {
  check_fill_file(spec_);
  const std::string path = absolute(spec_.path);
  if (path.empty()) throw no_such_job(spec_);
  void* const object = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  if (object == nullptr) throw SetUpError(label_ + " cannot be loaded: " + loader_message());
  void* entry = nullptr;
  for (const char* const symbol : {"weft_fill_job_v2", "weft_fill_job_v1"})
    if (entry == nullptr) entry = ::dlsym(object, symbol);
  if (entry == nullptr) throw SetUpError(label_ + " does not export weft_fill_job_v2: not a fill job of this version");
  const weft_fill_functions* const table = reinterpret_cast<decltype(&weft_fill_job_v2)>(entry)();
  if (table == nullptr) throw SetUpError(label_ + ": its weft_fill_job function returned no table");
  std::memcpy(&functions_, table, std::min(table->struct_size, sizeof functions_));
  check_table();
  name_ = functions_.name == nullptr ? "unnamed" : functions_.name;
}

void FillJob::check_table() const {
  if (functions_.struct_size < offsetof(weft_fill_functions, check))
    throw SetUpError(label_ + ": its table of functions is too short (" + std::to_string(functions_.struct_size) +
                     " bytes); build it again with this Weft's weft/fill.h");
  if (functions_.abi_version == 0 || functions_.abi_version > WEFT_FILL_ABI_VERSION)
    throw SetUpError(label_ + " was built for version " + std::to_string(functions_.abi_version) +
                     " of the fill-job ABI, this Weft has version " + std::to_string(WEFT_FILL_ABI_VERSION));
  if (functions_.init == nullptr || functions_.record_unit == nullptr || functions_.destroy == nullptr)
    throw SetUpError(label_ + ": its table lacks one of init, record_unit, destroy");
}

void FillJob::initialise() {
  initialising_ = true;
  const int result = guarded([&] { return functions_.init(&host_, spec_.arguments.c_str(), &job_); });
  initialising_ = false;
  if (result == 0 && feed_fault_.empty()) {
    if (!feed_.has_records() && (functions_.begin_unit == nullptr || functions_.end_unit == nullptr))
      throw SetUpError(label_ + ": its table lacks begin_unit or end_unit, and it reads no records");
    return;
  }
  if (result != 0) job_ = nullptr;
  const std::string text = label_ + ": init failed: " + (feed_fault_.empty() ? failure() : feed_fault_);
  if (reservation_.refused() != 0)
    throw LacksMemory(text + " (it asked for " + std::to_string(reservation_.refused()) + " bytes with " +
                      std::to_string(reservation_.used()) + " of the cap of " + std::to_string(reservation_.cap()) +
                      " bytes in use; see WEFT_MEMORY)");
  throw SetUpError(text);
}

FillJob::~FillJob() {
  if (job_ != nullptr) guarded([&] { return functions_.destroy(job_), 0; });
}

void FillJob::record_unit(CUstream stream) {
  const int result = guarded([&] { return functions_.record_unit(job_, stream); });
  if (result != 0) throw SetUpError(label_ + ": record_unit failed: " + failure());
}

bool FillJob::begin_unit(std::uint64_t unit) noexcept {
  return feed_.has_records() || guarded([&] { return functions_.begin_unit(job_, unit); }) == 0;
}

bool FillJob::end_unit(std::uint64_t unit, std::int8_t& correct) noexcept {
  if (feed_.has_records()) return end_records(correct);
  int verdict = -1;
  if (guarded([&] { return functions_.end_unit(job_, unit, &verdict); }) != 0) return false;
  correct = verdict_of(verdict);
  return true;
}

bool FillJob::end_records(std::int8_t& correct) noexcept {
  Feed& feed = feed_.feed();
  const std::uint32_t number = feed.next();
  const FilledSlot& slot = feed.slot(number);
  const weft_fill_records records{sizeof records,
                                  feed.records_in(number),
                                  0,
                                  slot.numbers,
                                  slot.inputs.data(),
                                  slot.outputs.data(),
                                  slot.input_lengths.data(),
                                  slot.output_lengths.data()};
  int verdict = -1;
  const bool failed =
      functions_.check != nullptr && guarded([&] { return functions_.check(job_, &records, &verdict); }) != 0;
  correct = verdict_of(verdict);
  if (!failed) feed.unit_ended(correct != 0);
  return !failed;
}

FillJob::Next FillJob::pass_ended() noexcept {
  const bool again = std::atomic_ref(*again_).load(std::memory_order_acquire) != 0;
  if (++passes_ >= most_passes_ && again) {
    std::snprintf(failure_, sizeof failure_, "has a unit that is not over after %u passes", passes_);
    return Next::failure;
  }
  if (!again) passes_ = 0;
  return again ? Next::another_pass : Next::end;
}

std::optional<Progress> FillJob::save() {
  if (functions_.save == nullptr) return std::nullopt;
  Progress progress;
  std::uint64_t needed = 0;
  const auto ask = [&] {
    needed = functions_.save(job_, progress.empty() ? nullptr : progress.data(), progress.size());
    return 0;
  };
  if (guarded(ask) != 0) throw SetUpError(label_ + ": save failed: " + failure());
  if (needed == 0) return std::nullopt;
  if (needed > most_progress)
    throw SetUpError(label_ + ": its progress of " + std::to_string(needed) + " bytes is more than 1 GiB");
  const std::uint64_t first = needed;
  progress.resize(first);
  if (guarded(ask) != 0 || needed > first) throw SetUpError(label_ + ": save failed: " + failure());
  progress.resize(needed);
  return progress;
}

void FillJob::restore(const Progress& progress) {
  if (functions_.restore == nullptr) throw SetUpError(label_ + " cannot take up progress (it has no restore)");
  const int result = guarded([&] { return functions_.restore(job_, progress.data(), progress.size()); });
  if (result != 0) throw SetUpError(label_ + ": restore failed: " + failure());
}

std::string FillJob::failure() const {
  return failure_[0] == '\0' ? "it gave no reason" : failure_;
}

std::uint64_t FillJob::allocate(void* context, std::uint64_t bytes) {
  auto& self = *static_cast<FillJob*>(context);
  return self.initialising_ ? self.reservation_.allocate(bytes) : 0;
}

std::uint64_t FillJob::between_bubbles_on_host(void* context, std::uint64_t bytes) {
  auto& self = *static_cast<FillJob*>(context);
  return self.initialising_ ? self.reservation_.allocate_movable(bytes) : 0;
}

void* FillJob::allocate_host(void* context, std::uint64_t bytes) {
  auto& self = *static_cast<FillJob*>(context);
  try {
    return self.initialising_ ? self.reservation_.allocate_host(bytes) : nullptr;
  } catch (...) {
    return nullptr;
  }
}

void FillJob::show(void* context, const char* message) {
  const auto& self = *static_cast<FillJob*>(context);
  try {
    log(LogLevel::info, self.name_ + ": " + (message == nullptr ? "" : message));
  } catch (...) {
    // The line is lost; the job goes on.
  }
}

void FillJob::fail(void* context, const char* message) {
  auto& self = *static_cast<FillJob*>(context);
  std::snprintf(self.failure_, sizeof self.failure_, "%s", message == nullptr ? "" : message);
}

// A call of init(). Where it fails, that is the reason that is said, whatever the job makes of it.
template <class Call>
bool FillJob::declare(void* context, Call call) noexcept {
  auto& self = *static_cast<FillJob*>(context);
  try {
    if (!self.initialising_) return false;
    call(self.feed_);
    return true;
  } catch (const std::exception& error) {
    if (self.feed_fault_.empty()) self.feed_fault_ = error.what();
  } catch (...) {
    self.feed_fault_ = "no host memory";
  }
  return false;
}

int FillJob::describe_parameter(void* context, const char* name, weft_fill_tensor* found) {
  bool there = false;
  declare(context, [&](JobFeed& feed) { there = feed.describe(Feed::Of::weights, name, found); });
  return there ? 1 : 0;
}

int FillJob::describe_input(void* context, const char* name, weft_fill_tensor* found) {
  bool there = false;
  declare(context, [&](JobFeed& feed) { there = feed.describe(Feed::Of::input, name, found); });
  return there ? 1 : 0;
}

std::uint64_t FillJob::parameter(void* context, const weft_fill_tensor* tensor) {
  std::uint64_t address = 0;
  declare(context, [&](JobFeed& feed) { address = feed.parameter(*tensor); });
  return address;
}

int FillJob::records(void* context, std::uint32_t per_unit, std::uint64_t* count) {
  return declare(context, [&](JobFeed& feed) { feed.records(per_unit, count); }) ? 0 : 1;
}

std::uint64_t FillJob::input(void* context, const weft_fill_tensor* tensor, std::uint64_t* lengths) {
  std::uint64_t address = 0;
  const bool made = declare(context, [&](JobFeed& feed) { address = feed.input(*tensor, lengths); });
  return made ? address : 0;
}

std::uint64_t FillJob::output(void* context, const weft_fill_tensor* tensor, std::uint64_t* lengths) {
  std::uint64_t address = 0;
  const bool made = declare(context, [&](JobFeed& feed) { address = feed.output(*tensor, lengths); });
  return made ? address : 0;
}

std::uint32_t* FillJob::passes(void* context, std::uint32_t most) {
  auto& self = *static_cast<FillJob*>(context);
  const bool made = declare(context, [&](JobFeed&) {
    if (self.again_ != nullptr) throw SetUpError("it asks for passes a second time");
    if (most == 0) throw SetUpError("it asks for no passes");
    self.again_ = static_cast<std::uint32_t*>(allocate_host(context, sizeof *self.again_));
    if (self.again_ == nullptr) throw SetUpError("there is no pinned host memory for its passes");
    self.most_passes_ = most;
  });
  return made ? self.again_ : nullptr;
}

}  // namespace weft
