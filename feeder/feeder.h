// All channels of one folder: finds new ones, serves each on a thread of its own, and keeps the work of those together
// that read and write the same files.
//
// run() is called on the main thread of weft-feeder and ends when `stop` is set; what was taken and not done is given
// back then. In a job's trial serve_in_this_process() stands in for it.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "feeder/records.h"
#include "feeder/served_channel.h"

namespace weft {

class Feeder {
 public:
  explicit Feeder(std::string folder) : folder_(std::move(folder)) {}
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
  void settle();
  std::shared_ptr<Records> shared_records(const RecordsPlan& plan, const std::vector<Tensor>& inputs,
                                          const std::vector<Tensor>& outputs);

  const std::string folder_;
  std::map<std::string, std::unique_ptr<Served>> served_;  // by path
  std::mutex mutex_;
  std::map<RecordsPlan, std::weak_ptr<Records>> records_;
};

// For as long as this lives, the records of one folder's channels come from here; they are those of a trial.
class TrialFeeder {
 public:
  explicit TrialFeeder(std::string folder);
  ~TrialFeeder();
  TrialFeeder(const TrialFeeder&) = delete;
  TrialFeeder& operator=(const TrialFeeder&) = delete;

 private:
  void run();

  const std::string folder_;
  std::atomic<bool> stop_{false};
  std::thread thread_;
};

}  // namespace weft
