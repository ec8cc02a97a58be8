// All channels of one folder: finds new ones, serves each on a thread of its own, and keeps the work of those together
// that read and write the same files.
//
// run() is called on the main thread of weft-feeder, or on a thread of a job's trial, and ends when `stop` is set;
// records that were taken and not done are given back then.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "feeder/records.h"
#include "feeder/served_channel.h"

namespace weft {

class Feeder {
 public:
  // open_records(), or that for a trial. `is_held`: of a channel, see Channel::is_held(), which a process cannot ask of
  // its own.
  Feeder(std::string folder, ServedChannel::OpenRecords open = &open_records,
         ServedChannel::IsHeld is_held = &Channel::is_held)
      : folder_(std::move(folder)), open_(std::move(open)), is_held_(std::move(is_held)) {}
  // Throws std::runtime_error when the folder cannot be looked at.
  void run(const std::atomic<bool>& stop);

 private:
  struct Served {
    std::unique_ptr<ServedChannel> channel;
    std::atomic<bool> ended{false};
    std::thread thread;
  };
  void take_new_channels(const std::atomic<bool>& stop);
  void take_leave_of_ended();
  void settle_until(const std::atomic<bool>& ends);
  void settle();
  std::uint64_t committed(const std::string& wanted);                         // results of that name
  std::vector<std::pair<std::string, std::shared_ptr<Records>>> open_ones();  // by the name of their results
  std::shared_ptr<Records> shared_records(const RecordsPlan& plan, const std::vector<Tensor>& inputs,
                                          const std::vector<Tensor>& outputs);

  const std::string folder_;
  const ServedChannel::OpenRecords open_;
  const ServedChannel::IsHeld is_held_;
  std::map<std::string, std::unique_ptr<Served>> served_;  // by path
  // Of one plan; opened once, which may take long.
  struct Shared {
    std::mutex mutex;
    std::weak_ptr<Records> records;
  };
  std::mutex mutex_;
  std::map<RecordsPlan, std::shared_ptr<Shared>> shared_;
};

}  // namespace weft
