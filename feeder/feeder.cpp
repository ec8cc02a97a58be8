// See feeder.h.
#include "feeder/feeder.h"

#include <algorithm>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <system_error>
#include <utility>

#include "feeder/files/open_file.h"
#include "feeder/queue/desks.h"
#include "runner/clock.h"
#include "runner/log.h"

namespace weft {
namespace {

using namespace std::chrono_literals;
namespace fs = std::filesystem;

constexpr Duration between_looks = 10ms;     // for new channels
constexpr Duration between_settles = 500ms;  // results go to the disk

std::vector<std::string> channels_in(const std::string& folder) {
  std::vector<std::string> paths;
  std::error_code error;
  fs::directory_iterator entries(folder, error);
  for (; !error && entries != fs::directory_iterator(); entries.increment(error)) {
    std::string path = entries->path().string();
    if (path.ends_with(channel_ending)) paths.push_back(std::move(path));
  }
  if (error) throw std::runtime_error("the folder " + folder + " cannot be looked at: " + error.message());
  return paths;
}

}  // namespace

// The disk is waited for on a thread of its own: ranks that ask are answered meanwhile.
void Feeder::run(const std::atomic<bool>& stop) {
  std::atomic<bool> ends{false};
  std::thread writer([&] { settle_until(ends); });
  std::atomic<bool> is_written{false};  // so that jobs whose last results these were are over
  std::thread desks(
      [&] { Desks(folder_, [this](const std::string& results) { return committed(results); }).run(is_written); });
  std::exception_ptr fault;
  try {
    for (; !stop; sleep_until(now() + between_looks)) {
      take_new_channels(stop);
      take_leave_of_ended();
      for (const auto& [path, served] : served_) served->channel->alive();
    }
  } catch (...) {
    fault = std::current_exception();
  }
  for (const auto& [path, served] : served_) served->thread.join();
  ends = true;
  writer.join();
  is_written = true;
  desks.join();
  if (fault) std::rethrow_exception(fault);
}

void Feeder::settle_until(const std::atomic<bool>& ends) {
  for (TimePoint settled = now(); !ends; sleep_until(now() + between_looks)) {
    if (now() - settled < between_settles) continue;
    settle();
    settled = now();
  }
  settle();
}

void Feeder::take_new_channels(const std::atomic<bool>& stop) {
  for (const std::string& path : channels_in(folder_)) {
    if (served_.contains(path)) continue;
    auto served = std::make_unique<Served>();
    try {
      served->channel = std::make_unique<ServedChannel>(
          Channel::open(path),
          [this](const RecordsPlan& plan, const std::vector<Tensor>& inputs, const std::vector<Tensor>& outputs) {
            return shared_records(plan, inputs, outputs);
          },
          is_held_);
    } catch (const std::runtime_error& error) {
      log(LogLevel::warn, error.what());
      std::remove(path.c_str());
      continue;
    }
    Served& made = *served;
    made.thread = std::thread([&made, &stop] {
      made.channel->serve(stop);
      made.ended = true;
    });
    served_[path] = std::move(served);
  }
}

// A channel whose rank has gone has no use any more.
void Feeder::take_leave_of_ended() {
  std::erase_if(served_, [](const auto& entry) {
    if (!entry.second->ended) return false;
    entry.second->thread.join();
    entry.second->channel->channel().remove();
    return true;
  });
}

// Those that are not being opened just now. The last one that lets go of some waits for the disk.
std::vector<std::pair<std::string, std::shared_ptr<Records>>> Feeder::open_ones() {
  std::vector<std::pair<std::string, std::shared_ptr<Records>>> all;
  const std::lock_guard lock(mutex_);
  for (const auto& [plan, shared] : shared_) {
    const std::unique_lock free(shared->mutex, std::try_to_lock);
    if (auto records = free ? shared->records.lock() : nullptr) all.emplace_back(plan.results, std::move(records));
  }
  return all;
}

void Feeder::settle() {
  for (const auto& [results, records] : open_ones()) records->settle();
}

std::uint64_t Feeder::committed(const std::string& wanted) {
  std::uint64_t count = 0;
  for (const auto& [results, records] : open_ones())
    if (results == wanted) count += records->committed();
  return count;
}

std::shared_ptr<Records> Feeder::shared_records(const RecordsPlan& plan, const std::vector<Tensor>& inputs,
                                                const std::vector<Tensor>& outputs) {
  std::shared_ptr<Shared> shared;
  {
    const std::lock_guard lock(mutex_);
    std::shared_ptr<Shared>& known = shared_[plan];
    if (known == nullptr) known = std::make_shared<Shared>();
    shared = known;
  }
  const std::lock_guard lock(shared->mutex);
  if (auto there = shared->records.lock()) {
    there->check_joining(inputs, outputs);
    return there;
  }
  std::shared_ptr<Records> made = open_(plan, inputs, outputs);
  shared->records = made;
  return made;
}

}  // namespace weft
