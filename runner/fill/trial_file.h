// The file in which the ranks of a node share the verdict of a trial: weft-<uid>-trials/<key> in a private place.
//
// Used by the thread of the trial only. The file counts while a process that has it open lives: who opens it and is
// alone empties it, and removes files of earlier jobs next to it. So what an earlier job left is never read, and no
// more than the files of the living jobs and of the latest one are there. One process at a time tries; the lock that
// says so goes with it.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "runner/fill/file_identity.h"
#include "runner/fill/trial_verdict.h"

namespace weft {

class TrialFile {
 public:
  // In the first of the places (private_places()) that works. Nothing: none does.
  static std::unique_ptr<TrialFile> open(const std::vector<std::string>& places, const std::string& key);
  ~TrialFile();
  TrialFile(const TrialFile&) = delete;
  TrialFile& operator=(const TrialFile&) = delete;

  TrialNote read() const;
  bool write(const TrialNote& note) const;
  // True: this process is the one that tries, until end_trial() or its end.
  bool begin_trial() const;
  void end_trial() const;

 private:
  TrialFile(int descriptor, FileIdentity identity) : descriptor_(descriptor), identity_(identity) {}
  static std::unique_ptr<TrialFile> open_in(int folder, const std::string& key);
  bool is_ours() const { return identity_.is_behind(descriptor_); }

  const int descriptor_;
  const FileIdentity identity_;
};

}  // namespace weft
