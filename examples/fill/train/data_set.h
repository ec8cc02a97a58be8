// The images and labels of a training, as Weft has read them into device memory: checked, and known again by a number.
//
// Used by train.cpp in init() only, on the thread that makes the job ready: it waits for copies on a stream of its own,
// never for the device.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string>

#include "../digest.h"
#include "../taking.h"

namespace train {

struct DataSet {
  int count = 0, height = 0, width = 0, colours = 0, classes = 0;
  const std::uint8_t* images = nullptr;  // device
  const int* labels = nullptr;           // pinned
  std::uint64_t digest = 0;              // of labels and images

  int image_size() const { return height * width * colours; }
};

// Labels of either type become ints in pinned memory.
template <class Label>
void take_labels(DataSet& data, fill::Taking& take, fill::DeviceReader& reader) {
  const Label* const labels = take.weights<Label>("labels", {data.count});
  int* const pinned = take.pinned<int>(data.count);
  constexpr std::uint64_t most_at_once = fill::DeviceReader::part / sizeof(Label);
  constexpr std::int64_t most_classes = 1024;
  for (std::uint64_t first = 0; first < static_cast<std::uint64_t>(data.count); first += most_at_once) {
    const std::uint64_t count = std::min<std::uint64_t>(most_at_once, static_cast<std::uint64_t>(data.count) - first);
    const std::uint8_t* const bytes = reader.read(labels + first, count * sizeof(Label));
    if (bytes == nullptr) return;
    data.digest = fill::digest_of(data.digest, bytes, count * sizeof(Label));
    for (std::uint64_t i = 0; i < count; ++i) {
      Label label = 0;
      std::memcpy(&label, bytes + i * sizeof label, sizeof label);
      if (label < 0 || label >= most_classes)
        return take.fail("image " + std::to_string(first + i) + " has the label " + std::to_string(label) +
                         "; 0 to 1023 are possible");
      pinned[first + i] = label;
      data.classes = std::max<int>(data.classes, label + 1);
    }
  }
  data.labels = pinned;
}

inline DataSet take_data(const weft_fill_host& host, fill::Taking& take) {
  constexpr int least_size = 3;  // of an image that a convolution halves
  constexpr std::uint64_t largest_size = 4096, most_colours = 64;
  DataSet data;
  const weft_fill_tensor images = take.weights_like<std::uint8_t>("images", 4);
  if (take.failed()) return data;
  data.count = static_cast<int>(images.shape[0]);
  data.height = static_cast<int>(images.shape[1]);
  data.width = static_cast<int>(images.shape[2]);
  data.colours = static_cast<int>(images.shape[3]);
  if (data.count < 1 || data.colours < 1 || images.shape[3] > most_colours ||
      std::min(data.height, data.width) < least_size || std::max(images.shape[1], images.shape[2]) > largest_size)
    take.fail("the images are of " + std::to_string(data.count) + "x" + std::to_string(data.height) + "x" +
              std::to_string(data.width) + "x" + std::to_string(data.colours) +
              ": at least one is wanted, of 3 to 4096 rows and columns and 1 to 64 channels");
  data.images = take.weights<std::uint8_t>("images", {data.count, data.height, data.width, data.colours});
  weft_fill_tensor labels{};
  const bool found = !take.failed() && host.describe_parameter(host.context, "labels", &labels) != 0;
  if (!found) take.fail("the weights have no tensor 'labels'");
  fill::DeviceReader reader(take);
  if (labels.type == WEFT_UINT8)
    take_labels<std::uint8_t>(data, take, reader);
  else
    take_labels<std::int32_t>(data, take, reader);
  const std::uint64_t bytes = static_cast<std::uint64_t>(data.count) * static_cast<std::uint64_t>(data.image_size());
  if (!take.failed()) data.digest = fill::digest_of_array(data.digest, reader, data.images, bytes);
  return data;
}

}  // namespace train
