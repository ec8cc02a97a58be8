// A look into a file or folder, shared by all that have it open at the same time: it takes long to look through, and
// and each rank of a node asks for it.
//
// Used by the readers of graphs and of folders of images, on the threads of the feeder that serve channels, and in a
// fill job's trial. Locked inside; a thread that waits for another one's look says meanwhile that it is there.
#pragma once

#include <chrono>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>

#include "feeder/files/open_file.h"
#include "runner/options/fill_plan.h"

namespace weft {

template <class Seen>
class SharedLooks {
 public:
  // Of that path as it is now: one that has changed since is looked at anew. `look` makes it.
  template <class Look>
  std::shared_ptr<const Seen> of(const std::string& path, const StillReading& still_reading, Look look) {
    const std::shared_ptr<Place> place = place_of({path, stamp_of(path)});
    std::unique_lock lock(place->mutex, std::defer_lock);
    while (!lock.try_lock()) {
      still_reading();
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
    if (auto there = place->seen.lock()) return there;
    auto made = std::make_shared<const Seen>(look());
    place->seen = made;
    return made;
  }

 private:
  using Key = std::pair<std::string, JobFileStamp>;
  struct Place {
    std::mutex mutex;  // held while it is looked at
    std::weak_ptr<const Seen> seen;
  };

  std::shared_ptr<Place> place_of(const Key& key) {
    const std::lock_guard lock(mutex_);
    // One that nobody has, and that nobody gets meanwhile.
    std::erase_if(places_, [](const auto& entry) {
      const std::unique_lock free(entry.second->mutex, std::try_to_lock);
      return free && entry.second.use_count() == 1 && entry.second->seen.expired();
    });
    std::shared_ptr<Place>& place = places_[key];
    if (place == nullptr) place = std::make_shared<Place>();
    return place;
  }

  std::mutex mutex_;
  std::map<Key, std::shared_ptr<Place>> places_;
};

}  // namespace weft
