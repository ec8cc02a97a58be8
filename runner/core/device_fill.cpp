// See the header.
#include "runner/core/device_fill.h"

#include <atomic>
#include <utility>

#include "runner/clock.h"
#include "runner/core/fill_settings.h"
#include "runner/fill/exit_bracket.h"
#include "runner/options/launcher.h"
#include "runner/options/output_path.h"
#include "runner/options/quantity.h"

namespace weft {
namespace {

constexpr Duration keep_limit = std::chrono::seconds(2);  // of the thread that writes the file
constexpr Duration longest_answer = std::chrono::seconds(10);

std::string why_given_up(const std::string& path, Duration waited) {
  return "fill job " + path + " could not be made ready within " +
         std::to_string(std::chrono::duration_cast<std::chrono::seconds>(waited).count()) +
         " s: the job takes long, or the driver waits for work of the training that has not ended";
}

}  // namespace

// The thread works on this, and may outlast the device with it.
struct DeviceFill::Making {
  Making(CoreContext& core, const ListedJob& which, std::shared_ptr<FillLane> of_others, const DeviceSetup& of_device,
         const Reporter& words)
      : fill(core),
        place(which),
        lane(std::move(of_others)),
        setup(of_device),
        reporter(words),
        settings(fill_settings(core, of_device, which.plan)) {
    settings.feed.given_up = &given_up;
    settings.movable = which.movable;
  }
  DeviceFill fill;
  const ListedJob place;
  std::shared_ptr<FillLane> lane;
  DeviceSetup setup;
  const Reporter reporter;
  FillSettings settings;
  std::atomic<bool> given_up{false};
};

void DeviceFill::make(const ListedJob& place, std::shared_ptr<FillLane> lane, DeviceSetup& setup,
                      const Reporter& reporter, Duration limit, const FillWork::GiveUp& give_up) {
  const auto making = std::make_shared<Making>(core_, place, std::move(lane), setup, reporter);
  making->fill.context_ = context_ = setup.context;
  const ExitBracket bracket(core_.shim);  // nothing of the training is registered until this thread goes on
  work_ = FillWork::start(core_, context_,
                          {[making, gate = std::move(gate_)] { making->fill.make_here(*making); },
                           [making] { making->fill.discard(); }, [making] { making->fill.leave(); }});
  if (!work_) throw SetUpError("no thread could be started to make the fill job ready");
  const TimePoint began = now();
  given_up_ = !work_->is_over_within(limit, give_up);
  making->given_up = given_up_;
  if (given_up_) throw PassingFault(why_given_up(making->settings.spec.path, now() - began));
  take(making->fill);
  setup = making->setup;
}

void DeviceFill::make_here(Making& making) {
  const FillSettings& settings = making.settings;
  const bool is_first = making.lane == nullptr;
  try {
    {
      const ExitBracket bracket(core_.shim);  // also where nobody waits any more
      fill_ = std::make_unique<PreparedFill>(core_.driver, settings, std::move(making.lane), [](const char*) {});
    }
    if (is_first) check_stream(making.setup.marking, making.reporter);
    core_.shim.memory_reserved(making.setup.ordinal);
    fill_->lane()->complete_lap(core_.shim.streams_made(making.setup.ordinal) - settings.lane.streams_made);
    take_up_progress(making);
    fill_->lane()->done_mark(making.setup.marking.fillable != Fillable::any);
  } catch (...) {
    discard();
    core_.memory_came_back();  // also what a job that is not ready had reserved
    throw;
  }
  say_how_it_runs("fill job " + making.place.name(name()), making.reporter);
}

void DeviceFill::say_how_it_runs(const std::string& job, const Reporter& reporter) const {
  const auto microseconds = [](Duration time) {
    return std::to_string(std::chrono::duration_cast<std::chrono::microseconds>(time).count()) + " us";
  };
  const Duration longest = fill_->unit().longest();
  if (longest > core_.options.slice)
    reporter.warn(Audience::one_rank,
                  "a kernel or copy of " + job + " takes " + microseconds(longest) +
                      ", more than WEFT_SLICE: it runs only in bubbles that are expected to outlast it");
  if (const std::uint64_t marked = fill_->reservation().movable().bytes; marked != 0)
    reporter.info(job + " has marked " + mebibytes(marked) +
                  " of its memory, which may be on the host between two bubbles");
  const Confined& confined = fill_->unit().confined();
  if (confined.how == Confinement::green)
    reporter.info(job + " is confined to " + std::to_string(confined.multiprocessors) +
                  " multiprocessors by a green context");
  if (confined.how == Confinement::none)
    reporter.warn(Audience::one_rank, "the kernels of " + job + " are not confined (" + confined.why_not +
                                          "): NCCL may wait for one of them, " + microseconds(confined.longest) +
                                          " at most");
}

void DeviceFill::take(DeviceFill& other) noexcept {
  std::swap(context_, other.context_);
  std::swap(progress_, other.progress_);
  std::swap(fill_, other.fill_);
}

void DeviceFill::check_stream(Marking& marking, const Reporter& reporter) {
  const std::string& fault = fill_->lane()->fault();
  if (fault.empty()) return;
  fall_back_to_plain_stream(marking);
  const std::string text = "fill work gets no hardware queue of its own: " + fault;
  const std::string why = why_nothing_is_filled(core_, marking);
  if (!why.empty()) throw SetUpError(text + "; " + why);
  reporter.warn(Audience::one_rank, text + "; only bubbles in which the host waits for the GPU are filled");
}

ReadyJob DeviceFill::ready(const ListedJob& place, const Marking& marking) const {
  const DoneMark& done = fill_->lane()->done_mark(marking.fillable != Fillable::any);
  ReadyJob ready;
  ready.number = place.number;
  ready.name = place.name(fill_->job().name());
  ready.job = &fill_->job();
  ready.unit = &fill_->unit();
  ready.mover = fill_->mover();
  ready.feed = fill_->job().feed().has_records() ? &fill_->job().feed().feed() : nullptr;
  ready.terms = place.plan.terms;
  ready.track = {fill_->stream(), done, marking.fillable, marking.stream};
  return ready;
}

void DeviceFill::take_up_progress(const Making& making) {
  const Progress* const state = making.place.state.get();
  const bool is_of_queue = making.place.is_of_queue;
  if (is_of_queue ? making.place.progress_file.empty() : core_.options.checkpoint.empty()) {
    if (state != nullptr) fill_->job().restore(*state);
    return;
  }
  const DeviceSetup& setup = making.setup;
  const Reporter& reporter = making.reporter;
  OutputNames names = output_names(core_.options, core_.environments.now);
  names.rank = setup.rank;
  const std::optional<int> device = setup.is_further_device ? std::optional(setup.ordinal) : std::nullopt;
  const std::string path = is_of_queue ? making.place.progress_file
                                       : progress_path(expand_output(core_.options.checkpoint, names), setup.rank,
                                                       device, making.place.progress);
  if (!progress_.take_up(path, fill_->job(), state))
    reporter.warn(Audience::every_rank, std::string("the progress of the fill job ") +
                                            (state != nullptr ? "" : "begins anew and ") +
                                            "is not kept: another process of this rank has " + path +
                                            (is_of_queue ? ""
                                                         : " (WEFT_CHECKPOINT; without a launcher set RANK and "
                                                           "WORLD_SIZE)"));
  else if (!progress_.is_kept() && !is_of_queue)
    reporter.warn(Audience::one_rank, "fill job " + name() + " keeps no progress: WEFT_CHECKPOINT does nothing");
  else if (const std::string fault = progress_.fault(); !fault.empty())
    reporter.warn(Audience::every_rank, "the progress of the fill job cannot be kept in " + path +
                                            (is_of_queue ? ": " : " (WEFT_CHECKPOINT): ") + fault);
}

MemoryRecord DeviceFill::memory(MemoryEvent event) const {
  std::size_t free = 0, total = 0;
  core_.driver.cuMemGetInfo_v2(&free, &total);
  const Reservation& reservation = fill_->reservation();
  return {reservation.cap(), reservation.reserved(), reservation.used(), free, total, event};
}

// The thread has the progress, and may outlast the device with it; the job stays then, see leave().
struct DeviceFill::Saving {
  Saving(FillJob& which, const Reporter& words) : job(which), reporter(words) {
    state.fault = "the context of the training cannot be used on another thread";  // until save() is called
  }
  void save(For purpose) noexcept {
    state.fault.clear();
    ask(purpose);
    was_asked.store(true, std::memory_order_release);
    if (state.fault.empty()) write();
  }
  void ask(For purpose) noexcept {
    try {
      if (purpose == For::variant)
        state.progress = progress.state(job);
      else
        progress.save(job, purpose == For::rest);
    } catch (const std::exception& error) {
      state.fault = error.what();
    }
  }
  void write() noexcept {
    try {
      if (const std::string why = progress.keep(job, keep_limit); !why.empty())
        reporter.warn(Audience::every_rank, why);
    } catch (const std::exception& error) {
      state.fault = error.what();
    }
  }
  FillJob& job;
  const Reporter reporter;
  JobProgress progress;
  StateOfJob state;
  const TimePoint began = now();
  std::atomic<bool> was_asked{false};  // the job is touched no more, only what it gave
};

void DeviceFill::begin_saving(const Reporter& reporter, For purpose) {
  saving_ = std::make_shared<Saving>(fill_->job(), reporter);
  std::swap(saving_->progress, progress_);
  const auto save = [saving = saving_, purpose] { saving->save(purpose); };
  work_ = FillWork::start(core_, context_, {save, [] {}, [] {}});
  if (work_) return;
  saving_->state.fault = "no thread could be started to save the progress of the fill job";
  has_progress_within({});
}

bool DeviceFill::has_progress_within(Duration limit) noexcept {
  if (!saving_) return true;
  if (is_at_work(limit)) return false;
  std::swap(saving_->progress, progress_);
  state_ = std::move(saving_->state);
  saving_ = nullptr;
  return true;
}

bool DeviceFill::is_to_be_saved() {
  if (!is_at_work()) has_progress_within({});
  return progress_.is_kept() && !progress_.was_written();
}

bool DeviceFill::progress_is_written() {
  has_progress_within({});
  return progress_.is_written();
}

std::shared_ptr<const Progress> DeviceFill::take_state() {
  has_progress_within({});
  const StateOfJob state = std::exchange(state_, {});
  if (!state.fault.empty()) throw SetUpError(state.fault);
  return state.progress;
}

// The file may take longer to write.
bool DeviceFill::was_asked_within(Duration limit) noexcept {
  return wait_at_most(limit, [&] { return saving_->was_asked.load(std::memory_order_acquire) || !is_at_work(); });
}

bool DeviceFill::is_being_asked() const noexcept {
  return saving_ && !saving_->was_asked.load(std::memory_order_acquire) && is_at_work();
}

void DeviceFill::await_answer() noexcept {
  if (saving_) was_asked_within(saving_->began + longest_answer - now());
}

bool DeviceFill::is_asked_within(const Reporter& reporter, Duration limit) {
  if (!saving_ && !progress_.was_asked() && fill_->job().keeps_progress()) begin_saving(reporter, For::rest);
  return !saving_ || was_asked_within(limit);
}

bool DeviceFill::give_device_back(Duration limit, bool rests) {
  const TimePoint deadline = now() + limit;
  if (saving_ && !was_asked_within(limit)) return false;
  if (!is_at_work()) has_progress_within({});
  if (!saving_) progress_.save(fill_->job(), rests);
  limit = std::max(deadline - now(), Duration{0});
  if (!fill_->reservation().give_device_back(limit)) return false;
  core_.memory_came_back();
  return true;
}

std::shared_ptr<const Progress> DeviceFill::state_at_rest() {
  has_progress_within({});
  state_ = {};  // it may have been asked for another variant, too
  if (progress_.is_lost()) throw SetUpError("its progress could not be taken before its memory went");
  return progress_.taken();
}

void DeviceFill::keep_progress(const Reporter& reporter, Duration limit) {
  if (!has_progress_within(limit))
    return reporter.warn(Audience::every_rank,
                         "the progress of fill job " + name() + " is not kept yet: it takes long");
  const std::string fault = progress_.keep(fill_->job(), limit);
  if (!fault.empty()) reporter.warn(Audience::every_rank, fault);
  progress_.let_go();
}

// All that is on its way out; its thread frees it, however long the driver makes it wait.
struct DeviceFill::Going {
  explicit Going(CoreContext& core) : fill(core) {}
  void free() {
    fill.fill_->release();
    released = fill.memory(MemoryEvent::released);
    fill.discard();
    fill.core_.memory_came_back();
  }
  DeviceFill fill;
  MemoryRecord released{};
};

std::optional<MemoryRecord> DeviceFill::take_down(Duration limit) noexcept {
  std::shared_ptr<Going> going;
  if (!has_progress_within(limit)) return std::nullopt;
  try {
    going = std::make_shared<Going>(core_);
    going->fill.take(*this);
    work_ = nullptr;
    work_ =
        FillWork::start(core_, going->fill.context_,
                        {[going, gate = std::move(gate_)] { going->free(); }, [] {}, [going] { going->fill.leave(); }});
    if (work_ && work_->is_over_within(limit)) return going->released;
  } catch (...) {
    // No memory for it, or the context cannot be used.
  }
  if (!work_ && going) take(going->fill);
  return std::nullopt;
}

void DeviceFill::abandon(bool nothing_in_flight, Duration limit) noexcept {
  context_is_going();
  if (work_) work_->has_ended(limit);
  nothing_in_flight = nothing_in_flight && has_progress_within({});
  if (fill_ && nothing_in_flight && fill_->reservation().give_device_back(limit)) core_.memory_came_back();
  if (fill_ && nothing_in_flight) fill_->lane()->let_context_go();
  leave();
}

void DeviceFill::discard() noexcept {
  const bool held = held_memory() != 0;
  fill_.reset();
  progress_.let_go();
  if (held) core_.memory_came_back();
}

void DeviceFill::leave() noexcept {
  if (fill_ && fill_->has_job()) fill_->job().feed().close();
  [[maybe_unused]] const void* const left = fill_.release();
}

}  // namespace weft
