// The file of one trace: directories and file made at opening, whole lines appended, never truncated, never synced.
//
// open_trace_file() may run on any thread; append() is the writer thread's, which has all signals blocked: a write past
// the file-size limit sends SIGXFSZ to the writing thread, and the main job must not get it.
#pragma once

#include <string>
#include <string_view>

namespace weft {

// Makes a directory with those above it. 0 or errno.
int make_directories(const std::string& path);
// Descriptor of the file; -1 with one line in `error`. The directory is made, with those above it.
int open_trace_file(const std::string& directory, const std::string& name, std::string& error);
// 0, or errno of the write that failed. A part of the text may have been written then.
int append(int descriptor, std::string_view text);

}  // namespace weft
