// See the header.
#include "runner/validate/validation.h"

#include "runner/clock.h"
#include "runner/validate/truth_recorder.h"

namespace weft {
namespace {

constexpr Duration longest_start = std::chrono::seconds(10);
constexpr Duration longest_end = std::chrono::seconds(2);

}  // namespace

class Validation::Implementation {
 public:
  Implementation(const Options& options, const Variables& environment, void (*mark_own_thread)())
      : library_(options.cupti), environment_(environment), limit_(options.trace_limit.bytes), mark_(mark_own_thread) {}

  void begin(const TraceHeader& header, const std::string& directory);
  void fill_begins(CUctx_st* context, CUstream_st* stream);
  void add_device(int device, CUctx_st* context);
  void end();
  std::string state() const;

 private:
  bool records() const { return recorder_ && off_.empty() && !session_.exiting.load(); }

  const std::string library_;
  const Variables environment_;
  const std::uint64_t limit_;
  void (*const mark_)();
  CuptiSession session_;
  std::shared_ptr<TruthRecorder> recorder_;
  std::string directory_, name_;  // of the truth file
  std::string off_;               // why nothing is recorded
  bool over_ = false;
};

void Validation::Implementation::begin(const TraceHeader& header, const std::string& directory) {
  if (recorder_ && !recorder_->ended()) return;  // an earlier one hangs; off_ says so
  RecorderSettings settings;
  settings.library = library_;
  settings.environment = environment_;
  settings.limit = limit_;
  // The same file for the whole life of the process, also where it becomes another rank.
  if (name_.empty()) {
    directory_ = directory;
    name_ = "truth" + std::to_string(header.rank) + "." + std::to_string(header.process);
  }
  settings.directory = directory_;
  settings.name = name_;
  settings.mark_own_thread = mark_;
  settings.header.rank = header.rank;
  settings.header.host = header.host;
  settings.header.process = header.process;
  settings.header.start_id = header.start_id;
  recorder_ = std::make_shared<TruthRecorder>(std::move(settings), session_);
  over_ = false;
  off_.clear();
  if (!recorder_->start()) {
    off_ = "no thread could be started";
    recorder_.reset();
  } else if (!wait_at_most(longest_start, [&] { return recorder_->is_decided(); })) {
    off_ = "CUPTI does not answer within 10 s";
    recorder_->end();
  } else {
    off_ = recorder_->off();
  }
}

void Validation::Implementation::add_device(int device, CUctx_st* context) {
  std::uint32_t id = 0;
  if (!records()) return;
  if (session_.library.get_device_id(context, &id) == cupti::success) recorder_->add(TruthLines::device(id, device));
}

void Validation::Implementation::fill_begins(CUctx_st* context, CUstream_st* stream) {
  std::uint32_t id = 0, context_id = 0, device = 0;
  if (!records()) return;
  if (session_.library.get_device_id(context, &device) == cupti::success &&
      session_.library.get_context_id(context, &context_id) == cupti::success &&
      session_.library.get_stream_id(context, stream, 0, &id) == cupti::success)
    recorder_->add(TruthLines::fill_stream(device, context_id, id));
}

void Validation::Implementation::end() {
  if (!recorder_) return;
  recorder_->end();
  if (!wait_at_most(longest_end, [&] { return recorder_->ended(); })) off_ = "CUPTI does not give its last records";
  over_ = true;
}

std::string Validation::Implementation::state() const {
  if (!off_.empty()) return "no validation: " + off_;
  if (!recorder_) return "no validation: there is no trace";
  const std::string version = "CUPTI " + std::to_string(session_.library.version);
  if (!over_) return "validating with " + version + ", which slows the training down";
  const TruthCounts& counts = recorder_->counts();
  std::string text = std::to_string(counts.records) + " records of " + version;
  if (counts.dropped != 0) text += ", " + std::to_string(counts.dropped) + " dropped";
  if (counts.unwritten != 0) text += ", and some that could not be written";
  return text + "; the iteration times of this run are not those without validation";
}

Validation::Validation(const Options& options, const Variables& environment, void (*mark_own_thread)())
    : implementation_(options.validate ? std::make_unique<Implementation>(options, environment, mark_own_thread)
                                       : nullptr) {}

Validation::~Validation() = default;

void Validation::device_opened(const TraceHeader& header, const std::string& directory, CUctx_st* context) {
  if (!implementation_) return;
  const std::lock_guard lock(mutex_);
  if (devices_.empty()) implementation_->begin(header, directory);
  devices_.insert(header.device);
  implementation_->add_device(header.device, context);
}

void Validation::fill_begins(CUctx_st* context, CUstream_st* stream) {
  if (!implementation_) return;
  const std::lock_guard lock(mutex_);
  implementation_->fill_begins(context, stream);
}

void Validation::device_closed(int device) {
  if (!implementation_) return;
  const std::lock_guard lock(mutex_);
  if (devices_.erase(device) != 0 && devices_.empty()) implementation_->end();
}

std::string Validation::state() const {
  if (!implementation_) return "";
  const std::lock_guard lock(mutex_);
  return implementation_->state();
}

}  // namespace weft
