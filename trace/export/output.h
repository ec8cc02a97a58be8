// Files that appear under their names only when they are whole: until then they have a name with ".tmp" and the number
// of the process. An export that fails leaves nothing, one that is killed leaves such a file.
//
// Used by the writers of `weft export`, on their one thread. Errors are std::runtime_error, one line.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <system_error>

namespace weft {

// Where it would be written: links are followed, so two names of one place are the same.
std::string resolved_output(const std::string& path);

// An output takes the place of an older one of its kind alone: a file that holds something else was hardly meant.
// Throws where a regular file is there that is not empty and whose first bytes `is_of_kind` does not know. `kind`:
// "page of a report".
void refuse_other_file(const std::string& path, bool (*is_of_kind)(std::string_view begin), const std::string& kind);

class OutputFile {
 public:
  // Takes the place of a regular file of that name; of anything else (a device, a folder, a trace) not.
  explicit OutputFile(std::string path);
  ~OutputFile();
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;

  void write(std::string_view bytes);
  void finish();  // once, at the end: now it is there
  std::uint64_t bytes() const { return bytes_; }
  const std::string& path() const { return path_; }

 private:
  void flush();
  [[noreturn]] void fail(int error) const;

  std::string path_, target_, temporary_;
  int file_ = -1;
  std::string buffer_;
  std::uint64_t bytes_ = 0;
};

// A folder whose files come together. It may exist before if it is empty: among files of an earlier export nobody could
// tell the old ones from the new ones.
class OutputFolder {
 public:
  explicit OutputFolder(std::string path);
  ~OutputFolder();
  OutputFolder(const OutputFolder&) = delete;
  OutputFolder& operator=(const OutputFolder&) = delete;

  const std::string& path() const { return path_; }
  std::string operator/(const std::string& name) const { return temporary_ + "/" + name; }
  void finish();  // once, at the end, when all its files are finished

 private:
  void move_files(std::error_code& error) const;

  std::string path_, target_, temporary_;
  bool is_there_ = false;  // and empty; else it comes into being at the end
  bool finished_ = false;
};

}  // namespace weft
