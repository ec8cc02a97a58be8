// Setting up, rescuing and finishing one device; see the header for threads.
#include "runner/core/device.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "runner/clock.h"
#include "runner/core/fill_settings.h"
#include "runner/core/report.h"
#include "runner/core/scopes.h"
#include "runner/core/spin_share.h"
#include "runner/fill/queues.h"
#include "runner/log.h"
#include "runner/options/launcher.h"
#include "runner/options/output_path.h"
#include "runner/options/quantity.h"

namespace weft {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr Duration last_groups_limit = milliseconds(100);
constexpr Duration context_limit = milliseconds(100);
// Each look makes an allocation of the main job wait for some milliseconds while the memory cannot be given back.
constexpr std::uint64_t looked_at_next = std::uint64_t{64} << 20;
constexpr Duration busy_limit = milliseconds(100);  // of work in flight when the device is opened

}  // namespace

void Device::open(const CommunicatorInfo& first, bool may_fill) {
  core_.router.add(ordinal_);
  const RelaxedCaptureMode relaxed(core_.driver);
  setup_ = set_up_device(core_, ordinal_, first);
  reporter_ = std::make_unique<Reporter>(setup_.rank);
  if (!setup_.answers_fault.empty()) reporter_->warn(Audience::one_rank, setup_.answers_fault);
  const CurrentContext current(core_.driver, setup_.context);
  if (!current.pushed()) throw SetUpError("the context of device " + std::to_string(ordinal_) + " cannot be used");
  try {
    prepare_fill(may_fill);
    open_trace();
    open_recording();
    begin_validation();
    prepare_call_sites();
    start_dispatcher();
    say_hello();
    communicator_opened(first);
    if (jobs_.exist()) record(jobs_.memory(MemoryEvent::reserved));
  } catch (...) {
    give_up();
    throw;
  }
}

// Setting up broke off.
void Device::give_up() noexcept {
  core_.shim.set_marker_words(ordinal_, {});
  if (dispatcher_) dispatcher_->stop(close_limit);
  core_.validation->device_closed(ordinal_);
  let_go();
}

// To have ended is the last that a thread says: it looks at nothing after that. One that does not end keeps what it
// works with.
void Device::let_go() noexcept {
  leave_queue("the rank has left");
  jobs_.leave_trials();
  if (!dispatcher_ || !dispatcher_->has_thread()) {
    dispatcher_.reset();
    sites_.reset();
    trace_.reset();
    recording_.reset();
    jobs_.take_down(close_limit);
    return jobs_.leave();
  }
  jobs_.leave();
  [[maybe_unused]] const void* const left[] = {dispatcher_.release(), trace_.release(),  recording_.release(),
                                               reporter_.release(),   filler_.release(), sites_.release()};
}

void Device::prepare_fill(bool may_fill) {
  if (core_.options.mode != Mode::fill) return;
  say_unheeded();
  try {
    if (core_.options.fill.empty() && core_.options.queue.empty())
      throw SetUpError("mode fill without a fill job (WEFT_FILL, WEFT_QUEUE)");
    if (!may_fill) throw SetUpError("work next to an earlier reservation has not ended");
    jobs_.plan();
  } catch (const std::exception& error) {
    return cannot_fill(error.what());
  }
  Preparations& preparations = core_.preparations[ordinal_];
  preparations.opened(now());
  if (!preparations.is_one_more_allowed(now(), core_.options.slowdown_budget)) return not_again();
  filler_ = std::make_unique<Filler>(core_.driver, jobs_.policy());
  making_ = {};
  for (DeviceJob& job : jobs_.all())
    if (!job.is_of_queue()) prepare_job(job);
  prepare_jobs_of_queue();
  if (jobs_.exist()) note_preparation();
  if (jobs_.exist() || jobs_.are_awaited() || queue_) return;
  filler_.reset();
  cannot_fill(refused_.size() == 1 || !why_no_queue_.empty() ? why_refused_ : "none of the fill jobs can be run");
}

void Device::cannot_fill(const std::string& reason) {
  set_up_failure_ = reason;
  reporter_->warn(Audience::one_rank, reason + (setup_.is_unmarked() ? "; nothing is filled" : "; observing only"));
}

void Device::prepare_job(DeviceJob& job) {
  if (jobs_.one_was_given_up()) return refuse(job, "fill job " + job.name() + ": " + still_made);
  if (never_fits(job)) {
    job.end = JobEnd::lacks_memory;
    return refuse(job, job.why_it_never_fits());
  }
  // The thread that waits for memory is not to find a further trial there.
  if (core_.rescues_of(ordinal_) != 0) return job.trial.await(TrialWait::turn);
  FillSettings settings;
  try {
    if (!chooses_variant(job) || jobs_.trial_is_under_way()) return job.trial.await(TrialWait::turn);
    settings = fill_settings(core_, setup_, job.plan());
  } catch (const SetUpError& error) {
    return refuse(job, error.what());  // whatever the variant
  }
  try {
    const auto verdict = job.trial.passed(settings);
    // Next to work of the training the job could neither be timed nor be sure to become ready.
    if (verdict && wait_at_most(busy_limit, [&] { return core_.shim.is_idle(ordinal_); })) {
      job.trial.leave();
      return make_job(job, *verdict);
    }
    job.trial.await(verdict ? TrialWait::quiet_moment : TrialWait::verdict);
    if (verdict)
      reporter_->info("the GPU is at work: fill job " + settings.spec.path + " is made ready at a quiet moment");
    else
      reporter_->warn(Audience::one_rank, "the trial of fill job " + settings.spec.path +
                                              " is not over yet: nothing is filled before it is");
  } catch (const SetUpError& error) {
    if (!has_another_variant(job, error)) return refuse(job, error.what());
    const bool later = job.fill.is_at_work() || dynamic_cast<const PassingFault*>(&error) != nullptr;
    return later ? job.trial.await(TrialWait::turn) : prepare_job(job);
  }
}

// The whole reason is said here where there are other jobs, and with what follows from it where there are none.
void Device::refuse(DeviceJob& job, const std::string& reason) {
  if (job.is_of_queue() && job.end == JobEnd::over) return return_to_queue(job, job.end, reason);
  if (refused_.empty()) why_refused_ = reason;
  refused_.push_back(job.record(JobEvent::refused, reason));
  if (!job.place.is_only_one) reporter_->warn(Audience::one_rank, reason);
  if (job.is_of_queue()) return_to_queue(job, job.end, reason);
}

// The dispatcher is there, started or not.
void Device::add_job(DeviceJob& job, Duration held) {
  const ReadyJob ready = job.ready(setup_.marking);  // before the job forgets where it comes from
  job_was_ready_ = true;
  job.own_name = job.fill.name();
  job.withdrawn = job.rests = false;
  job.why_it_rests.clear();
  stays_here(job);
  short_since_.reset();
  job.state = nullptr;
  JobRecord record = job.record(JobEvent::ready, job.variants.why());
  record.held = held;
  job.variants.began(now());
  job.change.set(job.variants.may_change() || job.fill.progress_is_kept());
  job.next_keeping = now() + core_.options.checkpoint_every;
  if (job.is_of_queue()) queue_->runs(*job.queue_place, job.fill.longest_slice());
  dispatcher_->add_job(ready, record);
}

void Device::not_again() {
  set_up_failure_ =
      "the training makes its communicators anew so often that to make the fill job ready each time would cost more "
      "than WEFT_SLOWDOWN_BUDGET";
  if (core_.preparations[ordinal_].is_to_be_said())
    reporter_->warn(Audience::one_rank, set_up_failure_ + "; most of them are observed only");
}

// With settings of this moment, which may be against filling once the machine has answered.
void Device::make_job(DeviceJob& job, const TrialVerdict& verdict, const FillWork::GiveUp& give_up) {
  job.preparation = verdict.preparation;
  const bool unasked = setup_.marking.fillable == Fillable::unasked;
  setup_.take_answers(verdict.found, core_.options.one_queue);
  if (unasked) say_unheeded();
  ListedJob listed = job.listed();
  listed.movable = verdict.movable;
  const TimePoint began = now();
  // The memory of the other jobs cannot be given back before this thread goes on.
  const auto is_in_the_way = [&] {
    return (give_up && give_up()) || (jobs_.exist() && core_.rescues_of(ordinal_) != 0);
  };
  try {
    job.fill.make(listed, jobs_.lane(), setup_, *reporter_, longest_preparation(verdict.preparation), is_in_the_way);
  } catch (...) {
    making_ += now() - began;
    throw;
  }
  making_ += now() - began;
}

// Once for all jobs of this opening.
void Device::note_preparation() {
  if (std::exchange(preparation_noted_, true))
    core_.preparations[ordinal_].go_on(making_);
  else
    core_.preparations[ordinal_].note(now() - making_, now());
}

void Device::say_unheeded() const {
  if (*setup_.marking.unheeded != '\0') reporter_->warn(Audience::one_rank, setup_.marking.unheeded);
}

void Device::trial_gave_way() {
  for (DeviceJob& job : jobs_.all()) {
    const auto verdict = job.trial.verdict();
    if (!verdict || !verdict->is_local) continue;
    const PassingFault fault(verdict->fault);
    if (!rests_on(job, fault) && !awaits_another_variant(job, fault)) not_late(job, verdict->fault);
  }
}

// As the trace names it; "": there is none, or not yet.
RecordText Device::fill_stream() const {
  return jobs_.exist() ? name_of(setup_.marking.stream) : std::string_view();
}

std::string Device::caution() const {
  std::string all;
  const auto add = [&](const std::string& text) { all += (all.empty() ? "" : "; ") + text; };
  if (!setup_.is_unmarked() && *setup_.marking.because != '\0')
    add(std::string(setup_.marking.because) + ": some time may be uncertain");
  if (!core_.options.launches)
    add("launches are not counted (WEFT_LAUNCHES=off): a bubble may be reported, and filled, while a stream computes");
  const char* const unseen = core_.shim.unseen_nccl != nullptr ? core_.shim.unseen_nccl() : nullptr;
  if (unseen != nullptr)
    add("unseen NCCL: the time in which its kernels run is uncertain, which were loaded by " + std::string(unseen));
  return all;
}

void Device::open_trace() {
  header_.rank = setup_.rank;
  header_.ranks = setup_.ranks;
  header_.device = ordinal_;
  header_.device_in_name = setup_.is_further_device;
  header_.mode = jobs_.exist() || jobs_.are_awaited() || queue_ ? "fill" : "observe";
  header_.fill_job = jobs_.names();
  header_.fill_stream = fill_stream();
  header_.fill_confinement = jobs_.confinement();
  header_.idle_unknown = setup_.is_unmarked() ? setup_.marking.because : "";
  header_.caution = caution();
  header_.nccl_version = core_.shim.nccl_version;
  header_.driver_version = core_.shim.driver_version;
  header_.multiprocessors = setup_.multiprocessors;
  header_.started = now();
  OutputNames names = output_names(core_.options, core_.environments.now);
  names.rank = setup_.rank;
  directory_ = expand_output(core_.options.output, names);
  names.of_all_ranks = true;
  directories_ = expand_output(core_.options.output, names);
  std::string error;
  trace_ = TraceWriter::open(
      directory_, header_, core_.options.trace_limit.bytes,
      [reporter = *reporter_](Audience audience, const std::string& text) { reporter.warn(audience, text); }, error);
  if (!trace_) reporter_->warn(Audience::one_rank, error + "; there will be no trace");
}

void Device::open_recording() {
  if (!core_.options.record) return;
  std::string error;
  recording_ = Recording::open(
      directory_, completed(header_), core_.options.record_limit.bytes,
      [reporter = *reporter_](Audience audience, const std::string& text) { reporter.warn(audience, text); }, error);
  if (!recording_) reporter_->warn(Audience::one_rank, error + "; there will be no recording");
}

// After the fill job was timed: what its slices took then is no part of the run.
void Device::begin_validation() {
  if (!trace_) return;
  core_.validation->device_opened(completed(header_), directory_, setup_.context);
  if (jobs_.exist()) core_.validation->fill_begins(context_of(core_.driver, jobs_.stream()), jobs_.stream());
}

void Device::say_hello() const {
  if (!reporter_->speaks_for_all()) return;
  if (!core_.options.warned)
    for (const std::string& warning : core_.option_warnings) log(LogLevel::warn, warning);
  if (!core_.options.summary) return;
  const std::string validation = core_.validation->state();
  const std::string traces = trace_ ? directory_ : "", recordings = recording_ ? directory_ : "";
  print(start_line(header_, traces, recordings) + (validation.empty() ? "" : "; " + validation));
}

void Device::prepare_call_sites() {
  if (!core_.options.call_sites || !trace_ || setup_.is_unmarked()) return;
  CallSamples* const samples = core_.call_sites.make_samples(ordinal_);
  if (samples == nullptr) return;
  core_.call_sites.begin(core_.options.unwinder);
  sites_ = std::make_unique<CallSites>(core_.call_sites, *samples, core_.shim, ordinal_);
}

void Device::start_dispatcher() {
  DispatcherParts parts;
  parts.shim = &core_.shim;
  parts.router = &core_.router;
  parts.driver = &core_.driver;
  parts.reporter = reporter_.get();
  parts.trace = trace_.get();
  parts.recording = recording_.get();
  parts.filler = filler_.get();
  parts.context = setup_.context;
  parts.words = setup_.words;
  parts.note_failure = core_.note_failure;
  parts.sites = sites_.get();
  DispatcherOptions options;
  options.session.device = ordinal_;
  options.session.poll = core_.options.poll;
  options.session.spin = spin_share(core_.options.spin);
  if (options.session.spin == 0 && std::isfinite(core_.options.spin) && core_.options.spin > 0 && jobs_.exist())
    reporter_->info("this process may use less than two processors: Weft's thread does not look without sleep");
  options.session.planner.most_in_flight = Filler::most_in_flight;
  options.session.slowdown_budget = core_.options.slowdown_budget;
  options.session.detector.one_queue = setup_.marking.one_queue;
  options.session.records_groups = core_.options.trace_groups;
  // CUPTI's truth is compared with what Weft saw: it looks all the time.
  options.session.dark = Budget::is_limit(core_.options.slowdown_budget) && !core_.options.validate;
  options.queues = hardware_queues(core_.environments.now);
  options.slack_copies = core_.options.slack_copies;
  options.live = core_.options.live;
  dispatcher_ = std::make_unique<Dispatcher>(parts, options);
  if (!set_up_failure_.empty()) dispatcher_->note_set_up_failure(set_up_failure_);
  for (const JobRecord& refused : refused_) dispatcher_->submit(Record(ordinal_, now(), refused));
  for (DeviceJob& job : jobs_.all())
    if (job.fill.exists()) add_job(job);
  dispatcher_->expect_jobs(jobs_.expected());
  queue_wish_.set(queue_ != nullptr);
  if (jobs_.exist() && jobs_.one_was_given_up()) dispatcher_->stop_filling(still_made);
  if (!dispatcher_->start()) throw SetUpError("no thread could be started");
  if (core_.shim.set_launches_counted != nullptr) core_.shim.set_launches_counted(core_.options.launches);
  if (core_.shim.set_operations_noted != nullptr) core_.shim.set_operations_noted(core_.options.trace_groups);
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

// The last communicator is going: nothing more will come. Work of the main job still on the device is waited for a
// little, because freeing memory waits for all of it: also for a receive in a graph, of which no group tells and which
// perhaps only the abort ends that comes after this. Else the memory stays until it is needed or asked for anew.
void Device::finish() {
  const bool none_ran = none_runs();
  const RelaxedCaptureMode relaxed(core_.driver);
  const CurrentContext current(core_.driver, setup_.context);
  const bool settled = dispatcher_->ended() || (dispatcher_->pause(close_limit) && wait_at_most(last_groups_limit, [&] {
                                                  return dispatcher_->groups_pending() == 0;
                                                }));
  const bool quiet = settled && (!jobs_.exist() || wait_at_most(close_limit, [&] { return streams_are_idle(); })) &&
                     (!jobs_.are_giving_back() || jobs_.give_device_back(close_limit));
  const bool stopped = dispatcher_->stop(close_limit);
  // Nobody looks at markers any more: none is enqueued, none is waited for, until a communicator is opened again.
  core_.shim.set_marker_words(ordinal_, {});
  if (stopped && quiet && jobs_.exist() && current.pushed()) {
    note_given_back();
    note_units_of_queue();
    release_fill();
  } else if (jobs_.progress_is_kept()) {
    reporter_->warn(Audience::every_rank, "the progress of the fill job is not kept yet: work next to it does not end");
  }
  close_trace(stopped, none_ran);
}

// Of the main job and of the fill job. With the context current.
bool Device::streams_are_idle() const {
  return core_.shim.is_idle(ordinal_) && jobs_.stream_is_idle();
}

void Device::release_left_over(Duration limit) {
  if (jobs_.are_at_work(limit)) return;
  if (!jobs_.exist() || !dispatcher_->ended()) return;
  const RelaxedCaptureMode relaxed(core_.driver);
  const CurrentContext current(core_.driver, setup_.context);
  if (!current.pushed() || !wait_at_most(limit, [&] { return streams_are_idle(); })) return;
  if (jobs_.are_giving_back() && !jobs_.give_device_back(limit)) return;
  jobs_.release(*reporter_, close_limit);
}

void Device::release_fill() {
  if (const auto released = jobs_.release(*reporter_, close_limit)) return record(*released);
  reporter_->warn(Audience::every_rank,
                  "what the fill job had is not freed yet: the driver waits for work that has not ended");
}

void Device::close_trace(bool stopped, bool none_ran) {
  for (DeviceJob& job : jobs_.all()) {
    if (!job.trial.is_awaited() || !stopped || job.is_of_queue()) continue;
    const std::string why = why_not_again(job);
    const char* const not_run = job.rests       ? " was not run again after its memory went back to the training: "
                                : job.withdrawn ? " was not run again after a change of its variant: "
                                                : " was not run: ";
    const std::string text = "fill job " + job.name() + not_run + why;
    // Of memory each rank has its own story.
    if (job_was_ready_) reporter_->warn(job.rests ? Audience::every_rank : Audience::one_rank, text);
    JobRecord refused = job.record(JobEvent::refused, why);
    refused.held = job.stood;
    dispatcher_->submit(Record(ordinal_, now(), refused));
    if (!job_was_ready_) dispatcher_->note_set_up_failure(why);
    if (job.rests && none_ran) dispatcher_->note_set_up_failure(text);
  }
  if (stopped && queue_ && !job_was_ready_)
    dispatcher_->note_set_up_failure("no job of the queue came that this rank could run");
  if (stopped) say_what_is_away();
  leave_queue("the training has ended");
  jobs_.leave_trials();
  rest_wish_.set(false);
  core_.validation->device_closed(ordinal_);
  if (!stopped) {
    reporter_->warn(Audience::every_rank, "the dispatcher does not answer; the trace has no summary");
    return;
  }
  TraceSummary summary = dispatcher_->summary();
  summary.fill_stream = header_.fill_stream;
  summary.fill_confinement = header_.fill_confinement;
  if (trace_) trace_->finish(summary);
  if (recording_) recording_->finish(summary);
  if (!reporter_->speaks_for_all() || !core_.options.summary) return;
  if (const std::string validation = core_.validation->state(); !validation.empty())
    print("rank " + std::to_string(header_.rank) + ": " + validation);
  for (const std::string& line : end_lines(header_, summary, trace_ ? directories_ : "")) print(line);
}

// A dispatcher that has ended may have left slices behind: then the fill stream is asked.
bool Device::nothing_in_flight(Duration limit) {
  if (!dispatcher_->ended()) return dispatcher_->pause(limit);
  return dispatcher_->nothing_in_flight() || wait_at_most(limit, [&] { return jobs_.stream_is_idle(); });
}

// As of a moment after this was asked; not so where the dispatcher does not answer.
bool Device::no_group_is_pending() {
  const bool answered = dispatcher_->pause(answer_limit);
  dispatcher_->resume();
  if (!answered || dispatcher_->groups_pending() != 0) return false;
  return !dispatcher_->groups_may_be_unmarked() || core_.shim.is_idle(ordinal_);
}

bool Device::give_memory_back(const char* reason, Duration limit) {
  rests_.go_on(now());
  if (!jobs_.are_giving_back() && !holds_memory()) return false;
  const RelaxedCaptureMode relaxed(core_.driver);
  const CurrentContext current(core_.driver, setup_.context);
  const TimePoint deadline = now() + std::max(limit, answer_limit);
  if (!jobs_.are_giving_back() && current.pushed() && nothing_in_flight(deadline - now())) jobs_.begin_giving_back();
  dispatcher_->stop_filling(reason);  // also where the jobs were to rest only
  dispatcher_->resume();
  if (!jobs_.are_giving_back()) return false;
  const Duration left = deadline - now();
  if (limit > Duration{}) jobs_.await_answers();
  if (!jobs_.give_device_back(std::max(left, answer_limit))) return false;
  note_given_back();
  return true;
}

std::uint64_t Device::keep_head_room() {
  const std::uint64_t wanted = core_.options.headroom;
  std::size_t free = 0, total = 0;
  const RelaxedCaptureMode relaxed(core_.driver);
  const CurrentContext current(core_.driver, setup_.context);
  if (!current.pushed() || core_.driver.cuMemGetInfo_v2(&free, &total) != CUDA_SUCCESS) return wanted / 4 + 1;
  if (free >= wanted && !rest_wish_.is_set()) return short_since_.reset(), free - wanted + 1;
  const std::uint64_t allowed = rest_wish_.is_set() ? 0 : let_marked_leave(free);
  if (allowed != 0) return std::min(allowed, looked_at_next);
  rest(answer_limit);
  return holds_memory() ? looked_at_next : 0;
}

void Device::note_given_back() {
  if (jobs_.are_giving_back()) record(jobs_.memory(MemoryEvent::rescued));
  jobs_.end_giving_back();
  short_since_.reset();
  rest_wish_.set(false);
}

void Device::context_closing() {
  const bool none_ran = none_runs();
  core_.shim.set_marker_words(ordinal_, {});
  dispatcher_->pause(context_limit);  // the last look that may ask the driver: events tell of what is over by now
  const bool stopped = dispatcher_->stop_without_cuda(context_limit);
  jobs_.let_progress_go();
  close_trace(stopped, none_ran);
  abandon_fill();
}

void Device::abandon_fill() noexcept {
  jobs_.abandon(dispatcher_->ended() && nothing_in_flight(context_limit), context_limit);
}

void Device::record(const MemoryRecord& memory) {
  dispatcher_->submit(Record(ordinal_, now(), memory));
}

void Device::record_communicator(const CommunicatorInfo& communicator, CommunicatorEvent event) {
  const RecordText name = std::string_view(communicator.name.text);
  const CommunicatorRecord record{communicator.id, communicator.rank,      communicator.ranks,
                                  event,           communicator.shared_id, name};
  dispatcher_->submit(Record(ordinal_, now(), record));
}

}  // namespace weft
