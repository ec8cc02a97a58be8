// Setting up, rescuing and finishing one device; see the header for threads.
#include "runner/core/device.h"

#include <algorithm>
#include <utility>

#include "runner/clock.h"
#include "runner/core/pinned.h"
#include "runner/core/report.h"
#include "runner/core/scopes.h"
#include "runner/fill/exit_bracket.h"
#include "runner/log.h"
#include "runner/options/launcher.h"
#include "runner/options/output_path.h"

namespace weft {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr std::uint32_t marker_words = 65536;
constexpr std::size_t done_word_bytes = 4096;
constexpr Duration close_limit = seconds(2);
constexpr Duration last_groups_limit = milliseconds(100);
constexpr Duration context_limit = milliseconds(100);
// Each look makes an allocation of the main job wait for some milliseconds while the memory cannot be given back.
constexpr std::uint64_t looked_at_next = std::uint64_t{64} << 20;
constexpr Duration between_quiet_moments = milliseconds(100);  // that are tried, each of which may hold a host wait up
constexpr Duration answer_limit = milliseconds(10);            // of a dispatcher that has nothing in flight

std::string mebibytes(std::uint64_t bytes) {
  return std::to_string(bytes >> 20) + " MiB";
}

// The name of a fill job before it has been loaded: "matmul" for ".../fill_matmul.so:size=32".
std::string name_in_path(const std::string& fill) {
  const std::string path = parse_fill_spec(fill).path;
  std::string name = path.substr(path.rfind('/') + 1);
  if (name.starts_with("fill_")) name.erase(0, 5);
  return name.substr(0, name.find(".so"));
}

}  // namespace

void Device::open(const CommunicatorInfo& first, bool may_fill) {
  core_.router.add(ordinal_);
  const RelaxedCaptureMode relaxed(core_.driver);
  choose_rank(first);
  choose_context();
  const CurrentContext current(core_.driver, context_);
  if (!current.pushed()) throw SetUpError("the context of device " + std::to_string(ordinal_) + " cannot be used");
  try {
    prepare_words();
    prepare_fill(may_fill);
    open_trace();
    start_dispatcher();
    say_hello();
    communicator_opened(first);
    if (fill_) record_memory(MemoryEvent::reserved);
  } catch (...) {
    give_up();
    throw;
  }
}

// Setting up broke off.
void Device::give_up() noexcept {
  core_.shim.set_marker_words(ordinal_, {});
  if (dispatcher_) dispatcher_->stop(close_limit);
  let_go();
}

// To have ended is the last that a thread says: it looks at nothing after that. One that does not end keeps what it
// works with.
void Device::let_go() noexcept {
  leave_trial();
  if (!dispatcher_ || !dispatcher_->has_thread()) {
    dispatcher_.reset();
    trace_.reset();
    filler_.reset();
    fill_.reset();
    return;
  }
  [[maybe_unused]] const void* const left[] = {dispatcher_.release(), trace_.release(), filler_.release(),
                                               fill_.release()};
}

// The context the main job uses: the current one if it is of this device, else the device's primary one.
void Device::choose_context() {
  const Driver& driver = core_.driver;
  CUdevice device{}, current_device{};
  check(driver, driver.cuDeviceGet(&device, ordinal_), "cuDeviceGet");
  int count = 0;
  check(driver, driver.cuDeviceGetAttribute(&count, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, device),
        "cuDeviceGetAttribute");
  multiprocessors_ = static_cast<std::uint32_t>(count);
  if (driver.cuCtxGetCurrent(&context_) == CUDA_SUCCESS && context_ != nullptr &&
      driver.cuCtxGetDevice(&current_device) == CUDA_SUCCESS && current_device == device)
    return;
  unsigned flags = 0;
  int active = 0;
  check(driver, driver.cuDevicePrimaryCtxGetState(device, &flags, &active), "cuDevicePrimaryCtxGetState");
  if (active == 0) throw SetUpError("device " + std::to_string(ordinal_) + " has no context");
  // The main job holds it; our own hold would change when its context goes away.
  check(driver, driver.cuDevicePrimaryCtxRetain(&context_, device), "cuDevicePrimaryCtxRetain");
  check(driver, driver.cuDevicePrimaryCtxRelease_v2(device), "cuDevicePrimaryCtxRelease");
}

void Device::choose_rank(const CommunicatorInfo& first) {
  const JobPlace place = place_in_job(core_.variables, {first.rank, first.ranks});
  rank_ = place.rank;
  ranks_ = place.ranks;
  // A process with one device, as most are, has it in no name. Whichever device comes first counts as the one.
  int none = -1;
  is_further_device_ = !core_.first_device.compare_exchange_strong(none, ordinal_) && none != ordinal_;
}

void Device::prepare_words() {
  const std::lock_guard lock(core_.words_mutex);
  MarkerWords& words = core_.words[ordinal_];
  if (words.device != 0) return;
  constexpr std::size_t bytes = marker_words * sizeof(std::uint32_t);
  if (words.host == nullptr) words = {static_cast<std::atomic<std::uint32_t>*>(map_pages(bytes)), 0, marker_words};
  // Words that no stream can write: the hooks note groups and enqueue nothing.
  idle_unknown_ = why_unmarked(core_.variables);
  if (!is_unmarked()) words.device = register_pages(core_.driver, words.host, bytes);
}

void Device::warn_of_set_up(const std::string& text) const {
  // A fault on rank 0 is as a rule a fault everywhere: the other ranks leave it to their traces.
  log(rank_ == 0 ? LogLevel::warn : LogLevel::info, text);
}

void Device::prepare_fill(bool may_fill) {
  if (core_.options.mode != Mode::fill) return;
  try {
    const FillSettings settings = fill_settings();
    if (!may_fill) throw SetUpError("work next to an earlier reservation has not ended");
    if (is_tried(settings)) return make_fill();
    waits_for_trial_ = true;
    if (++core_.waiting_trials == 1) core_.shim.want_quiet_moments(true);
    warn_of_set_up("the trial of fill job " + settings.spec.path + " is not over yet: nothing is filled before it is");
  } catch (const SetUpError& error) {
    set_up_failure_ = error.what();
    warn_of_set_up(set_up_failure_ + (is_unmarked() ? "; nothing is filled" : "; observing only"));
  }
}

FillSettings Device::fill_settings() const {
  if (core_.options.fill.empty()) throw SetUpError("mode fill without a fill job (WEFT_FILL)");
  if (is_unmarked())
    throw SetUpError(std::string(idle_unknown_) + ": fill work and the training would wait for each other");
  const std::uint32_t queues = hardware_queues(core_.variables);
  const std::string crowd = too_many_streams(core_.shim.streams_in_use(ordinal_), queues);
  if (!crowd.empty()) throw SetUpError(crowd);
  if (!core_.driver.missing_to_fill.empty())
    throw SetUpError(std::string("this CUDA driver lacks ") + core_.driver.missing_to_fill.front() + " (it is " +
                     core_.shim.driver_path + ")");
  FillSettings settings;
  settings.spec = parse_fill_spec(core_.options.fill);
  check_fill_file(settings.spec);
  settings.device = ordinal_;
  settings.memory = core_.options.memory;
  settings.unit.slice_cap = core_.options.slice;
  settings.unit.max_blocks = blocks_left(multiprocessors_, core_.options.reserve_sms);
  settings.queues = queues;
  settings.streams_made = core_.shim.streams_made(ordinal_);
  check_head_room();
  return settings;
}

bool Device::is_tried(const FillSettings& settings) {
  if (!trial_)
    trial_ = core_.trials.join(settings,
                               trial_subject(settings, core_.options, core_.variables, core_.driver,
                                             core_.shim.driver_version, core_.shim.build_id),
                               core_.variables);
  if (!core_.trials.wait(*trial_)) {
    if (trial_->has_thread() || trial_->has_verdict()) return false;
    leave_trial();
    throw SetUpError("the fill job cannot be tried: no memory for it");
  }
  const std::string fault = trial_->verdict()->fault;
  leave_trial();
  if (!fault.empty()) throw SetUpError(fault);
  return true;
}

void Device::leave_trial() {
  if (trial_) core_.trials.leave(trial_);
  trial_ = nullptr;
  if (!std::exchange(waits_for_trial_, false)) return;
  if (--core_.waiting_trials == 0) core_.shim.want_quiet_moments(false);
}

void Device::quiet_moment(Hold hold) {
  if (!waits_for_trial_ || !trial_->has_verdict()) return;
  const TrialVerdict verdict = *trial_->verdict();
  if (hold == Hold::bounded && (verdict.preparation > longest_hold || now() < next_quiet_moment_)) return;
  next_quiet_moment_ = now() + between_quiet_moments;
  const RelaxedCaptureMode relaxed(core_.driver);
  const CurrentContext current(core_.driver, context_);
  if (!current.pushed()) return;
  if (!verdict.fault.empty() || nothing_is_pending()) begin_late(verdict);
  dispatcher_->resume();
}

// Of this thread that is so until it goes on; another one of the main job could begin something meanwhile.
bool Device::nothing_is_pending() {
  return dispatcher_->pause(answer_limit) && dispatcher_->groups_pending() == 0 && core_.shim.is_idle(ordinal_);
}

void Device::begin_late(const TrialVerdict& verdict) {
  const TimePoint began = now();
  try {
    if (!verdict.fault.empty()) throw SetUpError(verdict.fault);
    make_fill();
    header_.fill_job = fill_->job().name();
    dispatcher_->begin_filling(*filler_);
    record_memory(MemoryEvent::reserved);
    const auto held = std::chrono::duration_cast<milliseconds>(now() - began).count();
    log(LogLevel::info,
        label() + ": filling begins, after a late trial; the training stood for " + std::to_string(held) + " ms");
  } catch (const SetUpError& error) {
    return no_late_filling(error.what());
  }
  leave_trial();
}

void Device::no_late_filling(const std::string& reason) {
  dispatcher_->no_filling(reason);
  warn_of_set_up(reason + "; observing only");
  leave_trial();
}

void Device::trial_gave_way() {
  if (!waits_for_trial_) return;
  const auto verdict = trial_->verdict();
  if (verdict && verdict->is_local) no_late_filling(verdict->fault);
}

std::string Device::why_never_filled() const {
  const auto verdict = trial_->verdict();
  if (!verdict) return "the trial of the fill job was not over before the training was";
  if (!verdict->fault.empty()) return verdict->fault;
  if (verdict->preparation > longest_hold)
    return "the trial of the fill job was over too late, and to make it ready would have held the training up for " +
           std::to_string(std::chrono::duration_cast<seconds>(verdict->preparation).count()) + " s";
  return "no quiet moment came after the trial of the fill job, which took longer than the training waits for it";
}

void Device::make_fill() {
  const FillSettings settings = fill_settings();
  try {
    {
      const ExitBracket bracket(core_.shim);
      fill_ = std::make_unique<PreparedFill>(core_.driver, settings, [](const char*) {});
    }
    fill_->complete_lap(core_.shim.streams_made(ordinal_) - settings.streams_made);
    take_up_progress();
    done_word_ = map_pages(done_word_bytes);
    const DoneWord done{static_cast<std::atomic<std::uint32_t>*>(done_word_),
                        register_pages(core_.driver, done_word_, done_word_bytes)};
    filler_ = std::make_unique<Filler>(core_.driver, fill_->stream(), done, fill_->job(), fill_->unit());
  } catch (...) {
    filler_.reset();
    fill_.reset();
    claim_.reset();
    throw;
  }
  const auto longest = std::chrono::duration_cast<std::chrono::microseconds>(fill_->unit().longest()).count();
  if (fill_->unit().longest() > core_.options.slice)
    warn_of_set_up("the longest slice of fill job " + fill_->job().name() + " takes " + std::to_string(longest) +
                   " us, more than WEFT_SLICE: it runs only in bubbles that have room for it");
}

void Device::check_head_room() const {
  const Options& options = core_.options;
  std::size_t free = 0, total = 0;
  check(core_.driver, core_.driver.cuMemGetInfo_v2(&free, &total), "cuMemGetInfo");
  if (free >= options.memory && free - options.memory >= options.headroom) return;
  throw SetUpError("the reservation of " + mebibytes(options.memory) +
                   " (WEFT_MEMORY) cannot be had: " + mebibytes(free) + " of device memory are free, and " +
                   mebibytes(options.headroom) + " have to stay free beside it (WEFT_HEADROOM)");
}

void Device::take_up_progress() {
  if (core_.options.checkpoint.empty()) return;
  OutputNames names = output_names(core_.options, core_.variables);
  names.rank = rank_;
  const std::optional<int> device = is_further_device_ ? std::optional(ordinal_) : std::nullopt;
  const std::string path = progress_path(expand_output(core_.options.checkpoint, names), rank_, device);
  claim_ = std::make_unique<ProgressClaim>(path);
  if (!claim_->granted()) {
    log(LogLevel::warn,
        label() + ": the progress of the fill job begins anew and is not kept: another process of this rank has " +
            path + " (WEFT_CHECKPOINT; without a launcher set RANK and WORLD_SIZE)");
    return;
  }
  if (const auto progress = read_progress(path, fill_->job().name())) fill_->job().restore(*progress);
  if (fill_->job().keeps_progress())
    progress_path_ = path;  // from here on it may be replaced
  else
    warn_of_set_up("fill job " + fill_->job().name() + " keeps no progress: WEFT_CHECKPOINT does nothing");
}

// Asks the job, once, when nothing of it is in flight and its memory is still there.
void Device::save_progress() noexcept {
  if (progress_path_.empty() || progress_asked_) return;
  progress_asked_ = true;
  try {
    progress_ = fill_->job().save();
  } catch (const std::exception& error) {
    log_parts(LogLevel::warn, {"the progress of the fill job is lost: ", error.what()});
  }
}

void Device::keep_progress() {
  save_progress();
  if (!progress_) return;
  const std::string fault = write_progress(progress_path_, fill_->job().name(), *progress_, close_limit);
  if (!fault.empty()) log(LogLevel::warn, label() + ": " + fault);
}

void Device::open_trace() {
  header_.rank = rank_;
  header_.ranks = ranks_;
  header_.device = ordinal_;
  header_.device_in_name = is_further_device_;
  header_.mode = fill_ || waits_for_trial_ ? "fill" : "observe";
  header_.fill_job = fill_ ? fill_->job().name() : waits_for_trial_ ? name_in_path(core_.options.fill) : "";
  header_.idle_unknown = idle_unknown_;
  header_.nccl_version = core_.shim.nccl_version;
  header_.driver_version = core_.shim.driver_version;
  header_.multiprocessors = multiprocessors_;
  header_.started = now();
  OutputNames names = output_names(core_.options, core_.variables);
  names.rank = rank_;
  directory_ = expand_output(core_.options.output, names);
  names.of_all_ranks = true;
  directories_ = expand_output(core_.options.output, names);
  std::string error;
  trace_ = TraceWriter::open(
      directory_, header_, core_.options.trace_limit.bytes, [](const std::string& text) { log(LogLevel::warn, text); },
      error);
  if (!trace_) warn_of_set_up(error + "; there will be no trace");
}

void Device::say_hello() const {
  if (rank_ != 0) return;
  if (!core_.options.warned)
    for (const std::string& warning : core_.option_warnings) log(LogLevel::warn, warning);
  if (core_.options.summary) print(start_line(header_, directory_));
}

void Device::start_dispatcher() {
  DispatcherParts parts;
  parts.shim = &core_.shim;
  parts.router = &core_.router;
  parts.driver = &core_.driver;
  parts.trace = trace_.get();
  parts.filler = filler_.get();
  parts.context = context_;
  parts.words = core_.words[ordinal_];
  parts.note_failure = core_.note_failure;
  DispatcherOptions options;
  options.session.device = ordinal_;
  options.session.poll = core_.options.poll;
  options.session.planner.slice_cap = core_.options.slice;
  options.session.planner.guard = core_.options.guard;
  options.session.planner.floor = core_.options.floor;
  options.session.planner.most_in_flight = Filler::most_in_flight;
  options.session.slowdown_budget = core_.options.slowdown_budget;
  options.session.fills = filler_ != nullptr;
  options.label = label();
  options.queues = hardware_queues(core_.variables);
  options.speaks_for_all = rank_ == 0;
  dispatcher_ = std::make_unique<Dispatcher>(parts, options);
  if (!set_up_failure_.empty()) dispatcher_->note_set_up_failure(set_up_failure_);
  if (!dispatcher_->start()) throw SetUpError("no thread could be started");
  core_.shim.set_marker_words(ordinal_, parts.words);
}

void Device::communicator_opened(const CommunicatorInfo& communicator) {
  communicators_[communicator.id] = communicator;
  record_communicator(communicator, CommunicatorEvent::opened);
}

bool Device::communicator_closing(CommunicatorId communicator) {
  const auto found = communicators_.find(communicator);
  if (found == communicators_.end()) return false;
  record_communicator(found->second, CommunicatorEvent::closed);
  communicators_.erase(found);
  if (!communicators_.empty()) return false;
  finish();
  return true;
}

// The last communicator is going: nothing more will come. What the main job still has on the device is waited for a
// little, because freeing memory waits for all of it: also for a receive in a graph, of which no group tells and which
// perhaps only the abort ends that comes after this. Else the memory stays until it is needed or asked for anew.
void Device::finish() {
  const RelaxedCaptureMode relaxed(core_.driver);
  const CurrentContext current(core_.driver, context_);
  const bool settled = dispatcher_->ended() || (dispatcher_->pause(close_limit) && wait_at_most(last_groups_limit, [&] {
                                                  return dispatcher_->groups_pending() == 0;
                                                }));
  const bool quiet = settled && (!fill_ || wait_at_most(close_limit, [&] { return streams_are_idle(); })) &&
                     (!giving_back_ || fill_->reservation().give_device_back(close_limit));
  const bool stopped = dispatcher_->stop(close_limit);
  if (stopped && quiet && fill_ && current.pushed()) {
    note_given_back();
    release_fill();
    record_memory(MemoryEvent::released);
    fill_.reset();
  } else if (!progress_path_.empty()) {
    log(LogLevel::warn, label() + ": the progress of the fill job is not kept yet: work next to it does not end");
  }
  close_trace(stopped);
}

void Device::release_fill() {
  keep_progress();
  claim_.reset();
  fill_->release();
  give_pages_back(core_.driver, done_word_, done_word_bytes);
}

// Of the main job and of the fill job. With the context current.
bool Device::streams_are_idle() const {
  return core_.shim.is_idle(ordinal_) && core_.driver.cuStreamQuery(fill_->stream()) == CUDA_SUCCESS;
}

void Device::release_left_over(Duration limit) {
  if (!fill_ || !dispatcher_->ended()) return;
  const RelaxedCaptureMode relaxed(core_.driver);
  const CurrentContext current(core_.driver, context_);
  if (!current.pushed() || !wait_at_most(limit, [&] { return streams_are_idle(); })) return;
  if (giving_back_ && !fill_->reservation().give_device_back(limit)) return;
  release_fill();
  fill_.reset();
}

void Device::close_trace(bool stopped) {
  if (waits_for_trial_ && stopped) dispatcher_->note_set_up_failure(why_never_filled());
  leave_trial();
  if (!stopped) {
    log(LogLevel::warn, label() + ": the dispatcher does not answer; the trace has no summary");
    return;
  }
  const TraceSummary summary = dispatcher_->summary();
  if (trace_) trace_->finish(summary);
  if (rank_ != 0 || !core_.options.summary) return;
  for (const std::string& line : end_lines(header_, summary, directories_)) print(line);
}

// A dispatcher that has ended may have left slices behind: then the fill stream is asked.
bool Device::nothing_in_flight(Duration limit) {
  if (!dispatcher_->ended()) return dispatcher_->pause(limit);
  return dispatcher_->drained() ||
         wait_at_most(limit, [&] { return core_.driver.cuStreamQuery(fill_->stream()) == CUDA_SUCCESS; });
}

// As of a moment after this was asked; not so where the dispatcher does not answer.
bool Device::no_group_is_pending() {
  const bool answered = dispatcher_->pause(answer_limit);
  dispatcher_->resume();
  return answered && dispatcher_->groups_pending() == 0;
}

bool Device::give_memory_back(const char* reason, Duration limit, Beside beside) {
  if (!giving_back_ && !holds_memory()) return false;
  const RelaxedCaptureMode relaxed(core_.driver);
  const CurrentContext current(core_.driver, context_);
  const TimePoint deadline = now() + std::max(limit, answer_limit);
  if (!giving_back_) {
    giving_back_ = current.pushed() && nothing_in_flight(deadline - now());
    dispatcher_->stop_filling(reason);
    dispatcher_->resume();
  }
  if (!giving_back_ || (beside == Beside::no_group && !no_group_is_pending())) return false;
  save_progress();
  if (!fill_->reservation().give_device_back(std::max(deadline - now(), answer_limit))) return false;
  note_given_back();
  return true;
}

std::uint64_t Device::keep_head_room() {
  const std::uint64_t wanted = core_.options.headroom;
  std::size_t free = 0, total = 0;
  const RelaxedCaptureMode relaxed(core_.driver);
  const CurrentContext current(core_.driver, context_);
  if (!current.pushed() || core_.driver.cuMemGetInfo_v2(&free, &total) != CUDA_SUCCESS) return wanted / 4 + 1;
  if (free >= wanted) return free - wanted + 1;
  const std::string reason =
      "less device memory was left to the main job than the " + mebibytes(wanted) + " of WEFT_HEADROOM";
  // No allocation has failed yet: what might wait for a receive in the driver is left to one that does.
  give_memory_back(reason.c_str(), Duration{0}, Beside::no_group);
  return holds_memory() ? looked_at_next : 0;
}

void Device::note_given_back() {
  if (giving_back_) record_memory(MemoryEvent::rescued);
  giving_back_ = false;
}

void Device::context_closing() {
  core_.shim.set_marker_words(ordinal_, {});
  const bool stopped = dispatcher_->stop_without_cuda(context_limit);
  {
    const std::lock_guard lock(core_.words_mutex);
    core_.words[ordinal_].device = 0;
  }
  claim_.reset();
  close_trace(stopped);
  abandon_fill();
}

// Mapped memory is the process's: it does not go with the context.
void Device::abandon_fill() noexcept {
  if (fill_ && dispatcher_->ended() && dispatcher_->drained()) fill_->reservation().give_device_back(context_limit);
  [[maybe_unused]] const PreparedFill* const for_ever = fill_.release();
}

void Device::record_memory(MemoryEvent event) {
  std::size_t free = 0, total = 0;
  core_.driver.cuMemGetInfo_v2(&free, &total);
  const Reservation& reservation = fill_->reservation();
  const MemoryRecord record{reservation.cap(), reservation.reserved(), reservation.used(), free, total, event};
  dispatcher_->submit(Record(ordinal_, now(), record));
}

void Device::record_communicator(const CommunicatorInfo& communicator, CommunicatorEvent event) {
  const CommunicatorRecord record{communicator.id, communicator.rank, communicator.ranks, event};
  dispatcher_->submit(Record(ordinal_, now(), record));
}

}  // namespace weft
