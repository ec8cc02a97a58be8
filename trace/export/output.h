// Files that appear under their names only when they are whole: until then they have a name with ".tmp" and the number
// of the process. An export that fails leaves nothing, one that is killed leaves such a file.
//
// Used by the writers of `weft export`, on their one thread. Errors are std::runtime_error, one line.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace weft {

class OutputFile {
 public:
  // Takes the place of a regular file of that name; of anything else (a device, a folder) not.
  explicit OutputFile(std::string path);
  ~OutputFile();
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;

  void write(std::string_view bytes);
  void finish();  // once, at the end: now it is there
  std::uint64_t bytes() const { return bytes_; }

 private:
  void flush();
  [[noreturn]] void fail(int error) const;

  std::string path_, temporary_;
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

  std::string operator/(const std::string& name) const { return temporary_ + "/" + name; }
  void finish();  // once, at the end, when all its files are finished

 private:
  std::string path_, temporary_;
  bool finished_ = false;
};

}  // namespace weft
