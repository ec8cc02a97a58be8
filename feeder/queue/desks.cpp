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

// All that ranks have comes first: a job that one works on is not given to another one.
void Desks::look() {
  take_new_ranks();
  take_leave_of_ended();
  for (auto& [path, rank] : ranks_) with_desk(rank.header(), [&](Desk& desk) { desk.look_after(rank.header()); });
  for (auto& [path, rank] : ranks_) with_desk(rank.header(), [&](Desk& desk) { desk.serve(rank.header()); });
  for (auto& [name, queue] : queues_) with_queue(queue, [](Desk& desk) { desk.renew(); });
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
    // The desk knows places of it until it has taken leave: it stays mapped.
    if (!with_desk(rank.header(), [&](Desk& desk) { desk.leave(rank.header()); })) return false;
    rank.remove();
    return true;
  });
}

bool Desks::with_desk(JobChannelHeader& rank, const std::function<void(Desk&)>& call) {
  rank.feeder_alive.store(now().time_since_epoch().count(), std::memory_order_release);
  const std::string name = rank.queue.get();
  Queue& queue = queues_[name];
  if (queue.desk == nullptr && now() >= queue.again) use(name, queue);
  const bool is_done = with_queue(queue, call);
  if (is_done || queue.fault.empty() || rank.fault.get() == queue.fault) return is_done;
  rank.fault.set(queue.fault);
  rank.faults.fetch_add(1, std::memory_order_release);
  return false;
}

// Of one that was never there nobody has anything.
bool Desks::with_queue(Queue& queue, const std::function<void(Desk&)>& call) {
  if (queue.desk == nullptr) return true;
  if (now() < queue.again) return false;
  try {
    call(*queue.desk);
    queue.fault.clear();
    return true;
  } catch (const std::exception& error) {
    fail(queue, error.what());
    return false;
  }
}

void Desks::use(const std::string& name, Queue& queue) {
  try {
    queue.desk = std::make_unique<Desk>(open_queue(name, WhereNone::make), committed_);
    queue.again = {};
  } catch (const std::exception& error) {
    fail(queue, error.what());
  }
}

// Jobs that were given stay with the ranks, and leases with the desk; both are looked after again later.
void Desks::fail(Queue& queue, const std::string& fault) {
  if (fault != queue.fault) log(LogLevel::warn, "the queue cannot be used: " + fault);
  queue.fault = fault;
  queue.again = now() + between_tries;
}

}  // namespace weft
