// The folder that node exporter reads, with one file for each rank: weft-RUN-rank3.prom.
//
// Used by `weft export --prometheus` and tests, on one thread. A file changes its contents at once, and never holds
// half of them: the collector would leave it out and count an error. Files of the same run that another process has
// left are removed at the begin, its own ones at the end: nobody else would ever. A lock keeps two processes from
// writing the same run, as the same series in two files is an error at each scrape. Errors are std::runtime_error, one
// line.
#pragma once

#include <map>
#include <set>
#include <string>

namespace weft {

class MetricsFolder {
 public:
  // The folder is there already: a mistyped one would be read by nobody.
  MetricsFolder(std::string path, const std::string& run);
  ~MetricsFolder();
  MetricsFolder(const MetricsFolder&) = delete;
  MetricsFolder& operator=(const MetricsFolder&) = delete;

  // The texts by the names of their ranks. Files of ranks that are not among them are removed.
  void write(const std::map<std::string, std::string>& texts);
  // They stay when this object goes.
  void keep() { files_.clear(); }

 private:
  void lock();
  void remove_left_files() const;

  std::string path_, prefix_, lock_path_;
  int lock_ = -1;
  std::set<std::string> files_;  // names, written by this process
};

}  // namespace weft
