// The file of one trace or recording: directories and file made at opening, whole lines or blocks appended, never
// synced.
//
// No file has two writers, nor two runs in it: process ids repeat (in containers the first process is always 1), so a
// process makes a file that was not there, and opens only that one again. open_trace_file() may run on any thread;
// append() is the writer thread's, which has all signals blocked: a write past the file-size limit sends SIGXFSZ to the
// writing thread, and the main job must not get it.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <string_view>

namespace weft {

// Makes a directory with those above it. 0 or errno.
int make_directories(const std::string& path);
struct TraceFileHandle {
  int descriptor = -1;  // -1: it cannot be opened, or is closed
  dev_t device = 0;     // with the inode: which file it is
  ino_t inode = 0;
  std::string path;
  std::string key{};        // under which the process knows its name
  std::uint64_t bytes = 0;  // that are there already
  bool torn = false;        // the last of them end no line
};
// "<directory>/<stem>.jsonl", or where that was there before this process "<stem>.2.jsonl" and so on; for the same stem
// always the same file. The directory is made, with those above it. One line in `error` where there is no descriptor.
// A recording has another extension.
TraceFileHandle open_trace_file(const std::string& directory, const std::string& stem, std::string& error,
                                const std::string& extension = ".jsonl");
// 0, or errno of the write that failed: a part of the text may have been written then.
int write_all(int descriptor, std::string_view text);
// Likewise. EBADF: the descriptor is not the file's any more. A program may close descriptors that it does not know,
// and get the number again for a file of its own.
int append(const TraceFileHandle& file, std::string_view text);
// Likewise, but a write that fails leaves nothing behind. Where what it has written cannot be taken back, the file is
// forgotten.
int append_whole(const TraceFileHandle& file, std::string_view text);
// These two may be called on any thread: of the handle they read only what never changes.
// The next opening makes another file.
void forget_trace_file(const TraceFileHandle& file);
// Whether that is said of the file for the first time: a device may be opened again many times.
enum class FileNote : std::uint8_t { half, limit };
bool is_new(FileNote note, const TraceFileHandle& file);
void close_trace_file(TraceFileHandle& file) noexcept;

// The file of a page, which is written over again and again: opened at the handle's path, and made where it is not
// there. These two are the writer thread's. 0 or errno.
int open_page_file(TraceFileHandle& file);
int write_page(const TraceFileHandle& file, std::string_view page);

}  // namespace weft
