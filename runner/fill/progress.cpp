// See the header.
#include "runner/fill/progress.h"

#include <utility>

#include "runner/log.h"

namespace weft {

bool JobProgress::take_up(const std::string& path, FillJob& job, const Progress* state) {
  if (state != nullptr) job.restore(*state);
  claim_ = std::make_unique<ProgressClaim>(path);
  if (!claim_->granted()) return false;
  if (state == nullptr)
    if (const auto progress = read_progress(path, job.name())) job.restore(*progress);
  if (job.keeps_progress()) path_ = path;  // from here on it may be replaced
  return true;
}

void JobProgress::save(FillJob& job, bool also_unkept) noexcept {
  if (asked_ || !(is_kept() || (also_unkept && job.keeps_progress()))) return;
  try {
    ask(job);
  } catch (const std::exception& error) {
    log_parts(LogLevel::warn, {"the progress of the fill job is lost: ", error.what()});
  }
}

std::shared_ptr<const Progress> JobProgress::state(FillJob& job) {
  if (!job.keeps_progress()) return nullptr;
  ask(job);
  return progress_;
}

// Once, also where it fails: its memory may be gone by the next time.
void JobProgress::ask(FillJob& job) {
  asked_ = lost_ = true;
  std::optional<Progress> progress = job.save();
  progress_ = progress ? std::make_shared<const Progress>(std::move(*progress)) : nullptr;
  lost_ = false;
}

std::string JobProgress::keep(FillJob& job, Duration limit) {
  save(job);
  if (std::exchange(written_, true)) return "";
  if (!is_kept() || !progress_) return "";
  const std::string fault = write_progress(path_, job.name(), *progress_, limit);
  is_safe_ = fault.empty();
  return fault;
}

}  // namespace weft
