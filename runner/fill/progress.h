// The progress of one device's fill job, from its file into the job when that has been made ready, and back at the end.
//
// Threads of the main job inside the core's services, while nothing of the job is in flight. The job is asked for its
// progress once, at the latest before its memory goes; the file is written later.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "detector/time.h"
#include "runner/fill/checkpoint.h"
#include "runner/fill/fill_job.h"

namespace weft {

class JobProgress {
 public:
  // False: another process has the file, so what is in it is not taken up and nothing is kept. Throws SetUpError when
  // what stands in the file is damaged or another job's. `state`: of another variant of the job that has just run,
  // which goes before the file; nullptr: there is none.
  bool take_up(const std::string& path, FillJob& job, const Progress* state);
  // "" or why it cannot be kept, of a job that would keep some. It is tried at the end all the same.
  std::string fault() const { return claim_ && is_kept() ? claim_->fault() : ""; }
  // The job has progress, and this is where it will be kept.
  bool is_kept() const { return !path_.empty(); }
  // `also_unkept`: also where it is not kept in a file, see taken().
  void save(FillJob& job, bool also_unkept = false) noexcept;
  // As the job gave it when it was asked; nullptr: it has none, or cannot take it up.
  const std::shared_ptr<const Progress>& taken() const { return progress_; }
  bool is_lost() const { return lost_; }  // the job could not say it
  bool was_asked() const { return asked_; }
  bool was_written() const { return written_; }  // or that was tried
  bool is_written() const { return is_safe_; }
  // For another variant of the job, before its progress is kept. nullptr: it has none, or cannot take it up. Throws
  // SetUpError: then the job may go on.
  std::shared_ptr<const Progress> state(FillJob& job);
  // The job goes on after that, and may be asked again.
  void goes_on() {
    asked_ = lost_ = written_ = is_safe_ = false;
    progress_ = nullptr;  // an old one is not written again
  }
  // Once. "" or one line that says why it could not be done in `limit`.
  std::string keep(FillJob& job, Duration limit);
  // Nothing is kept any more, and the file may be another process's from here on.
  void let_go() {
    path_.clear();
    claim_.reset();
  }

 private:
  void ask(FillJob& job);

  std::string path_;                      // "": none is kept
  std::unique_ptr<ProgressClaim> claim_;  // on that path
  bool asked_ = false;                    // the job, whose memory may be gone since
  bool lost_ = false;
  bool written_ = false;
  bool is_safe_ = false;                      // and that was done
  std::shared_ptr<const Progress> progress_;  // since nothing of the job runs any more; nullptr: there is none
};

}  // namespace weft
