// Sharing a verdict through a file; see the header. Locks are those of an open file: they go when the last descriptor
// of it does, and another descriptor of the same process is somebody else.
#include "runner/fill/trial_file.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runner/clock.h"
#include "runner/options/private_folder.h"

namespace weft {
namespace {

// Bytes of the file that are locked.
constexpr off_t presence = 0;  // shared by all that use the file
constexpr off_t trial = 1;     // of the one that tries

constexpr int most_attempts = 8;  // at a file that others remove meanwhile
constexpr Duration longest_sweep = std::chrono::seconds(1);

bool lock(int descriptor, off_t byte, short kind) {
  struct flock wanted {};
  wanted.l_type = kind;
  wanted.l_whence = SEEK_SET;
  wanted.l_start = byte;
  wanted.l_len = 1;
  return ::fcntl(descriptor, F_OFD_SETLK, &wanted) == 0;
}

int open_file(int folder, const char* name, int flags) {
  return ::openat(folder, name, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC | flags, 0600);
}

bool is_own_file(int descriptor, struct stat& status) {
  return ::fstat(descriptor, &status) == 0 && S_ISREG(status.st_mode) && status.st_uid == ::geteuid();
}

// A file that no process has open any more goes.
void remove_if_left(int folder, const char* name) {
  const int descriptor = open_file(folder, name, 0);
  if (descriptor < 0) return;
  struct stat status {};
  if (is_own_file(descriptor, status) && lock(descriptor, presence, F_WRLCK)) ::unlinkat(folder, name, 0);
  ::close(descriptor);
}

void remove_left_ones(int folder, const std::string& but) {
  const int again = ::openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  DIR* const entries = again < 0 ? nullptr : ::fdopendir(again);
  if (entries == nullptr) {
    if (again >= 0) ::close(again);
    return;
  }
  while (const dirent* const entry = ::readdir(entries))
    if (entry->d_name[0] != '.' && but != entry->d_name) remove_if_left(folder, entry->d_name);
  ::closedir(entries);
}

}  // namespace

std::unique_ptr<TrialFile> TrialFile::open(const std::vector<std::string>& places, const std::string& key) {
  for (const std::string& place : places) {
    const int folder = open_private_folder(place + "/weft-" + std::to_string(::geteuid()) + "-trials");
    if (folder < 0) continue;
    std::unique_ptr<TrialFile> file = open_in(folder, key);
    ::close(folder);
    if (file) return file;
  }
  return nullptr;
}

std::unique_ptr<TrialFile> TrialFile::open_in(int folder, const std::string& key) {
  for (int attempt = 0; attempt < most_attempts; ++attempt) {
    const int descriptor = open_file(folder, key.c_str(), O_CREAT);
    struct stat status {};
    if (descriptor < 0) return nullptr;
    std::unique_ptr<TrialFile> file;
    if (is_own_file(descriptor, status)) file.reset(new TrialFile(descriptor, {status.st_dev, status.st_ino}));
    if (!file) {
      ::close(descriptor);
      return nullptr;
    }
    if (lock(descriptor, presence, F_WRLCK)) {
      if (::ftruncate(descriptor, 0) != 0) return nullptr;
      remove_left_ones(folder, key);
    }
    // The first one looks through the folder before it lets others in.
    if (!wait_at_most(longest_sweep, [&] { return lock(descriptor, presence, F_RDLCK); })) return nullptr;
    if (::fstat(descriptor, &status) == 0 && status.st_nlink != 0) return file;
  }
  return nullptr;
}

TrialFile::~TrialFile() {
  if (is_ours()) ::close(descriptor_);
}

TrialNote TrialFile::read() const {
  char text[longest_note];
  const ssize_t size = is_ours() ? ::pread(descriptor_, text, sizeof text, 0) : -1;
  return size <= 0 ? TrialNote{} : parse_note({text, static_cast<std::size_t>(size)});
}

bool TrialFile::write(const TrialNote& note) const {
  const std::string text = text_of(note);
  return is_ours() && ::pwrite(descriptor_, text.data(), text.size(), 0) == static_cast<ssize_t>(text.size());
}

bool TrialFile::begin_trial() const {
  return is_ours() && lock(descriptor_, trial, F_WRLCK);
}

void TrialFile::end_trial() const {
  if (is_ours()) lock(descriptor_, trial, F_UNLCK);
}

}  // namespace weft
