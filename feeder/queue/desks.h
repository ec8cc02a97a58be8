// The queues of all ranks of one folder: finds ranks that have one, and serves each at the desk of its queue.
//
// run() is called on a thread of weft-feeder of its own, and ends when `stop` is set. A queue whose disk or server does
// not answer holds up this thread, and no records.
#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "feeder/queue/desk.h"
#include "runner/feed/job_channel.h"

namespace weft {

class Desks {
 public:
  Desks(std::string folder, Desk::Committed committed) : folder_(std::move(folder)), committed_(std::move(committed)) {}
  void run(const std::atomic<bool>& stop);

 private:
  struct Queue {
    std::unique_ptr<Desk> desk;  // nullptr: it cannot be used now
    std::string fault;
    TimePoint again{};
  };
  void look();
  void take_new_ranks();
  void take_leave_of_ended();
  // False: the queue cannot be used now.
  bool with_desk(JobChannelHeader& rank, const std::function<void(Desk&)>& call);
  bool with_queue(Queue& queue, const std::function<void(Desk&)>& call);
  void use(const std::string& name, Queue& queue);
  void fail(Queue& queue, const std::string& fault);

  const std::string folder_;
  const Desk::Committed committed_;
  std::map<std::string, JobChannel> ranks_;  // by path
  std::map<std::string, Queue> queues_;      // by name
};

}  // namespace weft
