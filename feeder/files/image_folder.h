// A folder of PNG and JPEG images as records: the k-th record is the k-th image by name. Of each image a job may take
// `pixels`, RGB rows one behind the other, and `size`, its height and width.
//
// Opened by the feeder and in a fill job's trial: the headers of all images are looked at then, on threads of its own.
// After that any thread reads. Throws FileError, which names the image.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "feeder/files/input_file.h"

namespace weft {

bool is_folder(const std::string& path);
// In order, without the folder. Throws where there is none.
std::vector<std::string> image_names_in(const std::string& folder, const StillReading& still_reading);
std::unique_ptr<InputFile> open_image_folder(const std::string& path, const StillReading& still_reading);

}  // namespace weft
