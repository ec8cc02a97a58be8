// See image_folder.h.
#include "feeder/files/image_folder.h"

#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <filesystem>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <system_error>
#include <thread>
#include <utility>

#include "feeder/files/image_header.h"
#include "feeder/files/jpeg_image.h"
#include "feeder/files/open_file.h"
#include "feeder/files/png_image.h"
#include "feeder/files/shared_look.h"
#include "runner/log.h"

namespace weft {
namespace {

constexpr std::array<std::string_view, 3> endings{".png", ".jpg", ".jpeg"};
constexpr std::uint64_t most_file_bytes = std::uint64_t{1} << 30;
constexpr std::size_t looking_threads = 8, looked_at_once = 64;  // file systems answer several at a time
constexpr std::uint32_t most_named = 100;                        // broken images, in the log
constexpr std::string_view pixels_name = "pixels", size_name = "size";

bool is_image_name(const std::string& name) {
  return std::ranges::any_of(endings, [&](std::string_view ending) {
    if (name.size() <= ending.size()) return false;
    return std::ranges::equal(name.substr(name.size() - ending.size()), ending, {},
                              [](char letter) { return letter >= 'A' && letter <= 'Z' ? letter - 'A' + 'a' : letter; });
  });
}

struct Image {
  std::uint64_t file_bytes = 0;
  ImageSize size;
};

// Nothing: it is no image any more.
std::optional<ImageSize> size_in(const std::string& content) {
  try {
    return parse_image_size([&](std::uint64_t offset, std::uint64_t bytes) {
      return offset >= content.size() ? "" : content.substr(offset, bytes);
    });
  } catch (const std::invalid_argument&) {
    return std::nullopt;
  }
}

Image looked_at(const std::string& path) {
  const OpenFile file(path);
  if (file.bytes() > most_file_bytes) throw FileError(path, "has more than 1 GiB");
  try {
    return {file.bytes(), parse_image_size([&](std::uint64_t offset, std::uint64_t bytes) {
              return offset >= file.bytes() ? "" : file.text(offset, std::min(bytes, file.bytes() - offset));
            })};
  } catch (const std::invalid_argument& error) {
    throw FileError(path, error.what());
  }
}

// All images of a folder, as they were when it was looked through.
class Listing {
 public:
  Listing(const std::string& path, const StillReading& still_reading)
      : path_(path), names_(image_names_in(path, still_reading)), images_(names_.size()) {
    look_through(still_reading);
    for (const Image& image : images_) largest_ = std::max(largest_, image.size.bytes());
  }

  std::string path(std::uint64_t record) const { return path_ + "/" + names_[record]; }
  const std::string& folder() const { return path_; }
  std::size_t count() const { return names_.size(); }
  const std::vector<std::string>& names() const { return names_; }
  const Image& image(std::uint64_t record) const { return images_[record]; }
  std::uint64_t largest() const { return largest_; }  // bytes of pixels

 private:
  // The first one by name, and how many there are.
  struct Faults {
    std::mutex mutex;
    std::size_t count = 0, image = 0;
    std::string why;
  };

  // Where nobody waits any more the other threads find nothing left to do.
  void look_through(const StillReading& still_reading) {
    std::atomic<std::size_t> next{0};
    Faults faults;
    const auto look_at_some = [&](const StillReading& after_each) {
      const std::size_t first = next.fetch_add(looked_at_once);
      for (std::size_t i = first; i < std::min(first + looked_at_once, images_.size()); ++i)
        look_at(i, faults), after_each();
      return first < images_.size();
    };
    const auto look = [&] {
      while (look_at_some([] {})) continue;
    };
    std::vector<std::jthread> others;
    try {
      while (others.size() + 1 < std::min(looking_threads, images_.size() / looked_at_once)) others.emplace_back(look);
    } catch (const std::system_error&) {
      // With as many threads as there may be.
    }
    try {
      while (look_at_some(still_reading)) continue;
    } catch (...) {
      next = images_.size();
      throw;
    }
    others.clear();
    if (faults.count == 0) return;
    const std::string others_too =
        faults.count == 1 ? "" : " (and " + std::to_string(faults.count - 1) + " more of this folder cannot be read)";
    throw FileError(path(faults.image), faults.why + others_too);
  }

  void look_at(std::size_t i, Faults& faults) {
    std::string why;
    try {
      images_[i] = looked_at(path(i));
      return;
    } catch (const FileError& error) {
      why = std::string(error.what()).substr(path(i).size() + 2);
    } catch (const std::exception& error) {
      why = error.what();
    }
    const std::lock_guard lock(faults.mutex);
    if (faults.count++ != 0 && faults.image < i) return;
    faults.image = i;
    faults.why = why;
  }

  const std::string path_;
  const std::vector<std::string> names_;
  std::vector<Image> images_;
  std::uint64_t largest_ = 0;
};

std::shared_ptr<const Listing> listing_of(const std::string& path, const StillReading& still_reading) {
  static SharedLooks<Listing> listings;
  return listings.of(path, still_reading, [&] { return Listing(path, still_reading); });
}

class ImageFolder final : public InputFile {
 public:
  ImageFolder(const std::string& path, const StillReading& still_reading)
      : listing_(listing_of(path, still_reading)), states_(listing_->count()) {}

  std::optional<Tensor> describe(std::string_view name) const override {
    if (name == size_name) {
      constexpr std::uint64_t numbers = 2;
      return make_tensor(name, WEFT_INT32, &numbers, 1);
    }
    if (name != pixels_name) return std::nullopt;
    const std::uint64_t most = listing_->largest();
    Tensor tensor = make_tensor(name, WEFT_UINT8, &most, 1);
    tensor.variable = 1;
    return tensor;
  }

  void check(const Tensor& wanted) const override {
    const std::optional<Tensor> there = describe(wanted.text());
    if (!there)
      throw FileError(listing_->folder(), "is a folder of images, which have 'pixels' and 'size', and no '" +
                                              std::string(wanted.text()) + "'");
    Tensor as_wanted = wanted;
    if (wanted.variable == 1 && there->variable == 1) as_wanted.shape[0] = std::min(wanted.shape[0], there->shape[0]);
    if (as_wanted.variable != there->variable || !have_one_shape(as_wanted, *there))
      throw FileError(listing_->folder(), "has records of " + described(*there) + " for '" +
                                              std::string(wanted.text()) + "', and the job takes " + described(wanted));
  }

  std::uint64_t bind(const std::vector<Tensor>& wanted, std::uint64_t) override {
    if (wanted.empty()) throw FileError(listing_->folder(), "is named as input, and the job takes none");
    for (const Tensor& tensor : wanted) {
      is_pixels_.push_back(tensor.text() == pixels_name);
      decodes_ = decodes_ || is_pixels_.back();
    }
    return listing_->count();
  }

  std::uint32_t read(std::size_t input, std::uint64_t record, std::span<std::byte> to) const override {
    if (is_pixels_[input]) return read_pixels(record, to);
    std::array<std::int32_t, 2> size{};
    if (!decodes_ || !is_broken(record)) {
      const ImageSize found = listing_->image(record).size;
      size = {static_cast<std::int32_t>(found.height), static_cast<std::int32_t>(found.width)};
    }
    std::memcpy(to.data(), size.data(), sizeof size);
    return size.size();
  }

  std::vector<std::string> names() const override { return listing_->names(); }
  std::uint64_t file_bytes(std::uint64_t record) const override { return listing_->image(record).file_bytes; }

 private:
  enum class State : std::uint8_t { unknown, whole, broken };

  // The job may have asked for the size first.
  bool is_broken(std::uint64_t record) const {
    if (states_[record].load(std::memory_order_acquire) == State::unknown) {
      std::vector<std::byte> pixels(listing_->image(record).size.bytes());
      read_pixels(record, pixels);
    }
    return states_[record].load(std::memory_order_acquire) == State::broken;
  }

  // An image that is not the one that was looked at is a fault of the folder. One that is, and cannot be decoded, will
  // never be: it is a record without pixels, so that the other images have their results.
  std::uint32_t read_pixels(std::uint64_t record, std::span<std::byte> to) const {
    const Image& image = listing_->image(record);
    const std::string path = listing_->path(record);
    const OpenFile file(path);
    if (file.bytes() != image.file_bytes) throw FileError(path, "has changed since work began");
    const std::string content = file.text(0, file.bytes());
    if (size_in(content) != image.size) throw FileError(path, "has changed since work began");
    std::uint64_t bytes = image.size.bytes();
    State state = State::whole;
    try {
      is_png(content) ? decode_png(std::as_bytes(std::span(content)), image.size, to)
                      : decode_jpeg(std::as_bytes(std::span(content)), image.size, to);
    } catch (const std::invalid_argument& error) {
      state = State::broken;
      bytes = 0;
      if (states_[record].load(std::memory_order_relaxed) != State::broken) name_broken(path, error.what());
    }
    states_[record].store(state, std::memory_order_release);
    std::memset(to.data() + bytes, 0, to.size() - bytes);
    return static_cast<std::uint32_t>(bytes);
  }

  void name_broken(const std::string& path, const std::string& why) const {
    const std::uint32_t before = named_.fetch_add(1, std::memory_order_relaxed);
    if (before < most_named)
      log(LogLevel::warn, path + ": cannot be decoded, and is a record without pixels: " + why);
    else if (before == most_named)
      log(LogLevel::warn, listing_->folder() + ": has more broken images, which are not named");
  }

  const std::shared_ptr<const Listing> listing_;
  std::vector<bool> is_pixels_;  // by input; else the size
  bool decodes_ = false;
  mutable std::vector<std::atomic<State>> states_;
  mutable std::atomic<std::uint32_t> named_{0};
};

}  // namespace

bool is_folder(const std::string& path) {
  struct stat status {};
  return ::stat(path.c_str(), &status) == 0 && S_ISDIR(status.st_mode);
}

// Names that begin with a dot are of the system: what macOS keeps beside an image looks like one.
std::vector<std::string> image_names_in(const std::string& folder, const StillReading& still_reading) {
  std::vector<std::string> names;
  std::error_code error;
  std::filesystem::directory_iterator entries(folder, error);
  for (; !error && entries != std::filesystem::directory_iterator(); entries.increment(error)) {
    const std::string name = entries->path().filename();
    std::error_code unknown;
    if (is_image_name(name) && name.front() != '.' && !entries->is_directory(unknown)) names.push_back(name);
    still_reading();
  }
  if (error) throw FileError(folder, error.message());
  if (names.empty()) throw FileError(folder, "is a folder without an image (.png, .jpg, .jpeg)");
  std::ranges::sort(names);
  return names;
}

std::unique_ptr<InputFile> open_image_folder(const std::string& path, const StillReading& still_reading) {
  return std::make_unique<ImageFolder>(path, still_reading);
}

}  // namespace weft
