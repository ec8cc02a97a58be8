// See results_folder.h.
#include "feeder/files/results_folder.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstring>
#include <span>
#include <utility>

#include "feeder/files/folder.h"
#include "feeder/files/open_file.h"
#include "feeder/files/png_image.h"
#include "feeder/files/written_file.h"

namespace weft {
namespace {

constexpr const char* ending = ".png";

bool is_picture(const Tensor& tensor) {
  const bool is_rgb = tensor.dimensions == 3 && tensor.shape[2] == 3, is_grey = tensor.dimensions == 2;
  return tensor.type == WEFT_UINT8 && tensor.variable == 0 && (is_rgb || is_grey) &&
         std::max(tensor.shape[0], tensor.shape[1]) <= longest_image_side &&
         tensor.shape[0] * tensor.shape[1] <= most_image_pixels;
}

std::string numbered(std::uint64_t record, std::uint64_t records) {
  const std::string number = std::to_string(record), last = std::to_string(records - 1);
  return std::string(last.size() - number.size(), '0') + number + ending;
}

}  // namespace

bool is_results_folder(const std::string& results) {
  return results.ends_with('/');
}

std::string path_of_results(const std::string& results) {
  return results.substr(0, results.find_last_not_of('/') + 1);
}

void check_results_folder(const std::string& results, const std::vector<Tensor>& outputs) {
  if (path_of_results(results).empty()) throw FileError(results, "cannot be the folder of results");
  if (outputs.size() != 1 || !is_picture(outputs.front()))
    throw FileError(results,
                    "is to be a folder of PNG files, for one output of uint8 [height, width, 3] or [height, width]; "
                    "the job gives " +
                        (outputs.size() == 1 ? described(outputs.front()) : std::to_string(outputs.size())));
}

std::vector<std::string> picture_names(const std::vector<std::string>& inputs, std::uint64_t records) {
  std::vector<std::string> names;
  for (std::uint64_t record = 0; record < records && inputs.empty(); ++record)
    names.push_back(numbered(record, records));
  for (const std::string& input : inputs) names.push_back(input.substr(0, input.rfind('.')) + ending);
  std::vector<std::string> sorted = names;
  std::ranges::sort(sorted);
  if (std::ranges::adjacent_find(sorted) == sorted.end()) return names;
  std::ranges::transform(inputs, names.begin(), [](const std::string& input) { return input + ending; });
  return names;
}

void check_picture_names(const std::string& results, const std::vector<std::string>& inputs, std::uint64_t records) {
  for (const std::string& name : picture_names(inputs, records))
    if (name.size() > NAME_MAX)
      throw FileError(
          results, "cannot have a picture '" + name + "': a name has " + std::to_string(NAME_MAX) + " bytes at most");
}

ResultsFolder::ResultsFolder(std::string path, const Tensor& output, std::vector<std::string> names)
    : path_(std::move(path)), output_(output), names_(std::move(names)) {
  make_folder(path_);
  folder_ = ::open(path_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (folder_ < 0) throw FileError(path_, std::strerror(errno));
}

ResultsFolder::~ResultsFolder() {
  ::close(folder_);
}

void ResultsFolder::append(const ResultsPart& pictures) {
  const ImageSize size{static_cast<std::uint32_t>(output_.shape[0]), static_cast<std::uint32_t>(output_.shape[1])};
  const std::uint64_t bytes = bytes_of(output_);
  const std::uint32_t channels = output_.dimensions == 3 ? 3 : 1;
  for (std::span<const std::byte> left = pictures.values; left.size() >= bytes; left = left.subspan(bytes)) {
    const std::string path = path_ + "/" + names_.at(written_++);
    if (is_there(path)) throw FileError(path, "is there twice: the file system takes two names for one");
    WrittenFile file(path);
    file.write(0, encode_png(size, channels, left.first(bytes)));
    file.close();
  }
}

// All at once: to wait for each of many small files would take minutes.
void ResultsFolder::sync() {
  if (::syncfs(folder_) != 0) throw FileError(path_, std::strerror(errno));
}

}  // namespace weft
