// The progress of a fill job in a file, from one run to the next: what its save() gave and its restore() will get.
//
// Threads of the main job inside the core's services, at the start and at the end of a device. A file is read where it
// is wanted; it is written by a thread of its own, which is waited for only so long: a disk that does not answer must
// not hold up the main job, nor a full one signal it.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "detector/time.h"

namespace weft {

using Progress = std::vector<std::byte>;

// "<directory>/rank<rank>.progress", with ".device<device>" and ".<job>" before the end where they are given.
std::string progress_path(const std::string& directory, int rank, std::optional<int> device,
                          const std::string& job = "");

// The progress of the job of that name. Nothing when there is no such file. Throws SetUpError when the file cannot be
// read, is damaged, or is another job's: it may be worth something to somebody.
std::optional<Progress> read_progress(const std::string& path, const std::string& job);

// For as long as it lives nobody else may have the progress in that file: processes without a launcher can have the
// same rank, and two jobs the same folder. Held by a lock on "<path>.lock", which ends with the process and stays
// empty.
class ProgressClaim {
 public:
  explicit ProgressClaim(const std::string& path);
  ~ProgressClaim();
  ProgressClaim(const ProgressClaim&) = delete;
  ProgressClaim& operator=(const ProgressClaim&) = delete;
  bool granted() const { return granted_; }  // also where the folder knows no locks, or cannot be written
  // "" or why nothing can be written there, as far as that can be told before: a disk that is full later cannot.
  const std::string& fault() const { return fault_; }

 private:
  int descriptor_ = -1;
  std::string fault_;
  bool granted_ = true;
};

// Replaces the file in one step. "" or one line that says why it could not be done in `limit`.
std::string write_progress(const std::string& path, const std::string& job, const Progress& progress, Duration limit);

}  // namespace weft
