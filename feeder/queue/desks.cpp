// See desks.h.
#include "feeder/queue/desks.h"

#include <cstdio>
#include <exception>
#include <filesystem>
#include <system_error>
#include <utility>

#include "runner/clock.h"
#include "runner/log.h"

namespace weft {
namespace {

using namespace std::chrono_literals;
namespace fs = std::filesystem;

constexpr Duration between_looks = 20ms;
constexpr Duration between_tries = 5s;  // of a queue that cannot be used

}  // namespace

void Desks::run(const std::atomic<bool>& stop) {
  for (; !stop; sleep_until(now() + between_looks)) look();
  look();
  queues_.clear();
}

void Desks::look() {
  take_new_ranks();
  take_leave_of_ended();
  for (auto& [path, rank] : ranks_) serve(rank.header());
  for (auto& [name, queue] : queues_) {
    if (queue.desk == nullptr) continue;
    try {
      queue.desk->renew();
    } catch (const std::exception& error) {
      fail(queue, error.what());
    }
  }
}

void Desks::take_new_ranks() {
  std::error_code error;
  fs::directory_iterator entries(folder_, error);
  for (; !error && entries != fs::directory_iterator(); entries.increment(error)) {
    const std::string path = entries->path().string();
    if (!path.ends_with(job_channel_ending) || ranks_.contains(path)) continue;
    try {
      ranks_.emplace(path, JobChannel::open(path));
    } catch (const std::exception& fault) {
      log(LogLevel::warn, fault.what());
      std::remove(path.c_str());
    }
  }
}

void Desks::take_leave_of_ended() {
  std::erase_if(ranks_, [this](const auto& entry) {
    const JobChannel& rank = entry.second;
    if (rank.is_held()) return false;
    const auto queue = queues_.find(rank.header().queue.get());
    try {
      if (queue != queues_.end() && queue->second.desk != nullptr) queue->second.desk->leave(rank.header());
    } catch (const std::exception& error) {
      fail(queue->second, error.what());
    }
    rank.remove();
    return true;
  });
}

void Desks::serve(JobChannelHeader& rank) {
  rank.feeder_alive.store(now().time_since_epoch().count(), std::memory_order_release);
  const std::string name = rank.queue.get();
  Queue& queue = queues_[name];
  if (queue.desk == nullptr && now() >= queue.again) use(name, queue);
  if (queue.desk != nullptr) {
    try {
      queue.desk->serve(rank);
    } catch (const std::exception& error) {
      fail(queue, error.what());
    }
  }
  if (queue.fault.empty() || rank.fault.get() == queue.fault) return;
  rank.fault.set(queue.fault);
  rank.faults.fetch_add(1, std::memory_order_release);
}

void Desks::use(const std::string& name, Queue& queue) {
  try {
    queue.desk = std::make_unique<Desk>(open_queue(name, WhereNone::make), committed_);
    queue.fault.clear();
  } catch (const std::exception& error) {
    fail(queue, error.what());
  }
}

// Jobs that were given are with the ranks; the next desk takes them up.
void Desks::fail(Queue& queue, const std::string& fault) {
  if (fault != queue.fault) log(LogLevel::warn, "the queue cannot be used: " + fault);
  queue.fault = fault;
  queue.again = now() + between_tries;
  queue.desk = nullptr;
}

}  // namespace weft
