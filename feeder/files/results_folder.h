// A folder of results as PNG files, one for each record: how it is named, the names in it, and writing it.
//
// Used by the feeder when all results are there, and wherever the name of results is looked at. Results are such a
// folder where their name ends with a slash. Throws FileError.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "feeder/files/results_file.h"
#include "runner/feed/tensor.h"

namespace weft {

bool is_results_folder(const std::string& results);
// Without the slash: the name by which it appears, and to which others are appended.
std::string path_of_results(const std::string& results);
// Throws where the outputs of a job are no pictures.
void check_results_folder(const std::string& results, const std::vector<Tensor>& outputs);

// Of each record. `inputs`: the names of the files that records are of, with their endings, in order; none where they
// have no names, and then the record's number stands for it. An ending becomes .png; where that would give two one
// name, all keep theirs in front of it.
std::vector<std::string> picture_names(const std::vector<std::string>& inputs, std::uint64_t records);

// Throws FileError where a name is longer than names may be.
void check_picture_names(const std::string& results, const std::vector<std::string>& inputs, std::uint64_t records);

class ResultsFolder {
 public:
  ResultsFolder(std::string path, const Tensor& output, std::vector<std::string> names);  // made
  ~ResultsFolder();
  ResultsFolder(const ResultsFolder&) = delete;
  ResultsFolder& operator=(const ResultsFolder&) = delete;
  void append(const ResultsPart& pictures);  // the next ones, in order
  void sync();                               // to the disk

 private:
  const std::string path_;
  const Tensor output_;
  const std::vector<std::string> names_;
  int folder_ = -1;  // open since it was made, so that sync() hears of what went wrong since
  std::size_t written_ = 0;
};

}  // namespace weft
