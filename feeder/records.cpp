// See records.h.
#include "feeder/records.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdio>
#include <deque>
#include <exception>
#include <filesystem>
#include <future>
#include <map>
#include <mutex>
#include <nlohmann/json.hpp>
#include <optional>
#include <system_error>
#include <unordered_map>
#include <utility>

#include "feeder/files/folder.h"
#include "feeder/files/open_file.h"
#include "feeder/files/results_file.h"
#include "feeder/files/results_folder.h"
#include "feeder/identity.h"
#include "feeder/ledger.h"
#include "feeder/shard_file.h"
#include "runner/clock.h"
#include "runner/options/fill_plan.h"

namespace weft {
namespace {

using namespace std::chrono_literals;

constexpr Duration shortest_pause = 250ms, longest_pause = 5s;  // where there was nothing to claim
constexpr Duration between_renewals = 20s;
constexpr Duration longest_out = 30s;  // then another rank gets the record, too
constexpr Duration longest_without_progress = 600s;
// So many that a shard is some minutes of work and not too many files, and so few that hosts can share small files.
constexpr std::uint64_t looked_through = 10'000;  // lines, in a trial
constexpr std::uint64_t shards_wanted = 4096, least_shard = 16, most_shard = 65536;
// Bytes that are put together when nobody waits any more; of pictures, which take a hundred times as long.
constexpr std::uint64_t most_at_the_end = std::uint64_t{256} << 20, most_pictures_at_the_end = std::uint64_t{32} << 20;
constexpr std::uint64_t most_shard_bytes = std::uint64_t{64} << 20;

nlohmann::ordered_json described(const std::vector<Tensor>& tensors) {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const Tensor& tensor : tensors) list.push_back(std::string(tensor.text()) + " " + weft::described(tensor));
  return list;
}

std::array<JobFileStamp, 3> stamps_of(const RecordsPlan& plan) {
  return {stamp_of(plan.job), stamp_of(plan.input), stamp_of(plan.weights)};
}

std::string identity_of(const RecordsPlan& plan, const InputFile& input, const std::vector<Tensor>& inputs,
                        const std::vector<Tensor>& outputs) {
  nlohmann::ordered_json identity;
  identity["job"] = identity_of_file(plan.job);
  identity["arguments"] = plan.arguments;
  identity["weights"] = plan.weights.empty() ? "" : identity_of_file(plan.weights);
  identity["input"] = identity_of_input(plan.input, input);
  identity["inputs"] = described(inputs);
  identity["outputs"] = described(outputs);
  return identity.dump();
}

class LedgerRecords final : public Records {
 public:
  LedgerRecords(const RecordsPlan& plan, const std::vector<Tensor>& inputs, const std::vector<Tensor>& outputs)
      : plan_(plan), inputs_(inputs), outputs_(outputs), stamps_(stamps_of(plan)), input_(open_input(plan.input)) {
    if (plan.results.empty())
      throw std::runtime_error("it reads records, and no file for results is named (WEFT_RESULTS, or `results`)");
    check_results(plan.results, outputs);
    // Whoever made the ledger has looked through all of the same file.
    const bool is_known = Ledger::exists(plan.results);
    count_ = input_->bind(inputs, is_known ? 0 : InputFile::all);
    if (!is_known && is_results_folder(plan.results)) check_picture_names(plan.results, input_->names(), count_);
    ledger_.emplace(plan.results,
                    LedgerPlan{identity_of(plan, *input_, inputs, outputs), count_, shard_size(), plan.claims});
    over_ = ledger_->is_published();
    while (!over_ && claim(Claims::From::dead)) continue;
  }
  ~LedgerRecords() override {
    ends_ = true;
    if (putting_.valid()) putting_.wait();
    settle();
  }

  void check_joining(const std::vector<Tensor>& inputs, const std::vector<Tensor>& outputs) const override {
    if (stamps_of(plan_) != stamps_)
      throw FileError(plan_.input, "has changed since work on it began, or its weights or the job have");
    if (described(inputs) != described(inputs_) || described(outputs) != described(outputs_))
      throw std::runtime_error("it takes or gives other tensors here than on the ranks that began: " +
                               described(inputs).dump() + " and " + described(outputs).dump() + " instead of " +
                               described(inputs_).dump() + " and " + described(outputs_).dump());
  }

  const InputFile& input() const override { return *input_; }

  std::vector<std::uint64_t> take(std::size_t most) override {
    const std::lock_guard lock(mutex_);
    check_fault();
    while (!over_ && free_.size() < most && claim(Claims::From::anywhere)) continue;
    const auto end = free_.begin() + static_cast<std::ptrdiff_t>(std::min(most, free_.size()));
    std::vector<std::uint64_t> taken(free_.begin(), end);
    free_.erase(free_.begin(), end);
    if (taken.empty()) taken = overdue(most);
    for (const std::uint64_t record : taken) open_[record] = {Place::out, now()};
    return taken;
  }

  void adopt(const std::vector<std::uint64_t>& records) override {
    const std::lock_guard lock(mutex_);
    for (const std::uint64_t record : records) {
      const auto found = open_.find(record);
      if (found == open_.end() || found->second.place != Place::free) continue;
      found->second = {Place::out, now()};
      std::erase(free_, record);
    }
  }

  void give_back(const std::vector<std::uint64_t>& records) override {
    const std::lock_guard lock(mutex_);
    for (auto record = records.rbegin(); record != records.rend(); ++record) {
      const auto found = open_.find(*record);
      if (found == open_.end() || found->second.place != Place::out) continue;
      found->second.place = Place::free;
      free_.push_front(*record);
    }
  }

  void commit(const std::vector<Outputs>& all) override {
    const std::lock_guard lock(mutex_);
    check_fault();
    for (const Outputs& outputs : all) {
      const auto found = open_.find(outputs.record);
      if (found == open_.end() || found->second.place == Place::written) continue;
      const std::uint64_t shard = ledger_->shard_of(outputs.record);
      Held& held = held_.at(shard);
      const std::uint64_t place = outputs.record - ledger_->first_of(shard);
      for (std::size_t output = 0; output < outputs_.size(); ++output) {
        held.file->write_length(output, place, outputs.lengths[output]);
        held.file->write(output, place, outputs.values[output]);
      }
      if (found->second.place == Place::free) std::erase(free_, outputs.record);
      found->second.place = Place::written;
      committed_.fetch_add(1, std::memory_order_relaxed);
      held.written.push_back(place);
      held.progressed = now();
    }
  }

  bool is_over() override {
    const std::lock_guard lock(mutex_);
    return over_;
  }

  std::string why() const override {
    return "has results of all " + std::to_string(count_) + " records of " + plan_.input + " in " + plan_.results;
  }

  std::uint64_t committed() const override { return committed_.load(std::memory_order_relaxed); }

  // The disk is waited for without the lock: ranks get records meanwhile.
  void settle() override {
    try {
      if (is_putting_together()) return;
      renew();
      for (const auto& [shard, written] : take_written()) write_down(shard, written);
      finish_whole_ones();
      if (!is_to_put_together()) return;
      if (ends_) return put_together();
      // That may take very long, and other records are to be settled meanwhile.
      putting_ = std::async(std::launch::async, [this] { put_together(); });
    } catch (const std::exception&) {
      const std::lock_guard lock(mutex_);
      if (fault_ == nullptr) fault_ = std::current_exception();
    }
  }

 private:
  enum class Place : std::uint8_t { free, out, written };
  struct State {
    Place place = Place::free;
    TimePoint since{};  // of one that is out
  };
  struct Held {
    std::shared_ptr<ShardFile> file;
    std::vector<std::uint64_t> written;  // and not yet on the disk for sure
    std::uint64_t left = 0;              // records without a mark
    TimePoint progressed{};
  };
  struct Written {
    std::shared_ptr<ShardFile> file;
    std::vector<std::uint64_t> records;
  };

  // Of the results of one record.
  std::uint64_t result_bytes() const {
    std::uint64_t bytes = 0;
    for (const Tensor& output : outputs_) bytes += bytes_of(output);
    return bytes;
  }

  std::uint64_t shard_size() const {
    const std::uint64_t most = std::clamp(most_shard_bytes / result_bytes(), std::uint64_t{1}, most_shard);
    return std::min(std::max(count_ / shards_wanted, least_shard), most);
  }

  void check_fault() const {
    if (fault_ != nullptr) std::rethrow_exception(fault_);
  }

  // Records of a rank that has no bubbles, at the end of the file: they are given to another one as well, and whichever
  // result comes first counts.
  std::vector<std::uint64_t> overdue(std::size_t most) const {
    std::vector<std::uint64_t> records;
    if (over_ || now() - claimed_ > pause_) return records;
    for (const auto& [record, state] : open_)
      if (records.size() < most && state.place == Place::out && now() - state.since > longest_out)
        records.push_back(record);
    return records;
  }

  // Where there was nothing to claim it is asked again later, and then still later.
  bool claim(Claims::From from) {
    if (puts_together_ || now() - claimed_ < pause_) return false;
    std::optional<std::uint64_t> shard;
    try {
      shard = ledger_->claims().claim(from);
    } catch (const NotNow&) {
      // As if there were none.
    }
    if (!shard && from == Claims::From::anywhere) {
      claimed_ = now();
      pause_ = std::min(2 * pause_, longest_pause);
    }
    if (!shard) return false;
    pause_ = shortest_pause;
    forget(*shard);  // it may have been lost, and come back
    try {
      hold(*shard);
    } catch (...) {
      give_back_quietly(*shard);
      throw;
    }
    return true;
  }

  void give_back_quietly(std::uint64_t shard) {
    try {
      ledger_->claims().give_back(shard);
    } catch (const NotNow&) {
      // Its lease ends.
    }
  }

  void hold(std::uint64_t shard) {
    const std::uint64_t count = ledger_->records_of(shard), first = ledger_->first_of(shard);
    Held held{std::make_shared<ShardFile>(ledger_->claims().running(shard), outputs_, count), {}, 0, now()};
    const std::vector<char> marks = held.file->marks();
    for (std::uint64_t place = 0; place < count; ++place) {
      if (marks[place] == 1) continue;
      ++held.left;
      open_[first + place] = {};
      free_.push_back(first + place);
    }
    held_[shard] = std::move(held);  // also where nothing is left of it: it is finished when results are written down
  }

  void forget(std::uint64_t shard) {
    const auto is_of_it = [&](std::uint64_t record) { return ledger_->shard_of(record) == shard; };
    std::erase_if(open_, [&](const auto& entry) { return is_of_it(entry.first); });
    std::erase_if(free_, is_of_it);
    held_.erase(shard);
  }

  // One without any progress goes back: its records are with a rank that has no bubbles, and another host may have
  // some.
  void renew() {
    const std::lock_guard lock(mutex_);
    if (now() - renewed_ < between_renewals) return;
    renewed_ = now();
    std::vector<std::uint64_t> gone;
    for (const auto& [shard, held] : held_) {
      try {
        if (!ledger_->claims().renew(shard)) {
          gone.push_back(shard);
        } else if (now() - held.progressed > longest_without_progress && held.written.empty() && held.left != 0) {
          ledger_->claims().give_back(shard);
          gone.push_back(shard);
        }
      } catch (const NotNow&) {
        renewed_ = {};  // before anybody else can have it, once the server answers again
        break;
      }
    }
    for (const std::uint64_t shard : gone) forget(shard);
  }

  // On its thread; what it has thrown comes here.
  bool is_putting_together() {
    if (!putting_.valid()) return false;
    if (putting_.wait_for(Duration{0}) != std::future_status::ready) return true;
    putting_.get();
    return false;
  }

  bool is_too_much_for_the_end() const {
    const std::uint64_t most = is_results_folder(plan_.results) ? most_pictures_at_the_end : most_at_the_end;
    return ends_ && result_bytes() * count_ > most;
  }

  // When this one has nothing left: others may have done the rest, or are at it.
  bool is_to_put_together() {
    const std::lock_guard lock(mutex_);
    if (over_ || !held_.empty() || now() - looked_ < pause_) return false;
    looked_ = now();
    over_ = ledger_->is_published();
    try {
      puts_together_ = !over_ && !is_too_much_for_the_end() && ledger_->claims().claim_last();
    } catch (const NotNow&) {
      puts_together_ = false;
    }
    return puts_together_;
  }

  std::map<std::uint64_t, Written> take_written() {
    const std::lock_guard lock(mutex_);
    std::map<std::uint64_t, Written> all;
    for (auto& [shard, held] : held_)
      if (!held.written.empty()) all[shard] = {held.file, std::exchange(held.written, {})};
    return all;
  }

  void write_down(std::uint64_t shard, const Written& written) {
    written.file->sync();
    for (const std::uint64_t place : written.records) written.file->mark(place);
    const std::lock_guard lock(mutex_);
    const auto held = held_.find(shard);
    if (held == held_.end() || held->second.file != written.file) return;
    for (const std::uint64_t place : written.records) open_.erase(ledger_->first_of(shard) + place);
    held->second.left -= written.records.size();
    if (held->second.left == 0) written.file->sync();
  }

  void finish_whole_ones() {
    const std::lock_guard lock(mutex_);
    for (auto held = held_.begin(); held != held_.end();) {
      if (held->second.left != 0) {
        ++held;
        continue;
      }
      try {
        ledger_->claims().finish(held->first);
      } catch (const NotNow&) {
        return;  // at a later time
      }
      held = held_.erase(held);
      looked_ = {};
    }
  }

  // All shards are done. Somebody else may have been given the task where this took too long; then it is his.
  void put_together() {
    bool again = false;
    std::exception_ptr fault;
    try {
      write_all(ledger_->fresh());
      if (ledger_->claims().renew(ledger_->shards())) ledger_->publish();
    } catch (const NotNow&) {
      again = true;
    } catch (const std::exception&) {
      fault = std::current_exception();
    }
    std::error_code error;
    std::filesystem::remove_all(ledger_->fresh(), error);
    const std::lock_guard lock(mutex_);
    puts_together_ = false;
    over_ = ledger_->is_published();
    try {
      if (over_) ledger_->claims().finish(ledger_->shards());
      if (!over_ && (again || fault != nullptr)) ledger_->claims().give_back(ledger_->shards());
    } catch (const NotNow&) {
      // Its lease ends.
    }
    if (!over_ && fault != nullptr) std::rethrow_exception(fault);
  }

  std::string file_of_done(std::uint64_t shard) {
    std::string path = ledger_->claims().done(shard);
    if (is_there(path)) return path;
    ledger_->claims().undo(shard);
    throw NotNow(path + ": is gone, and is done again");
  }

  // The lease is renewed on the way, and while the disk is waited for.
  void write_all(const std::string& path) {
    ResultsFile all(path, plan_.results, outputs_, count_, input_->names());
    TimePoint renewed = now();
    for (std::uint64_t shard = 0; shard < ledger_->shards(); ++shard) {
      if (is_too_much_for_the_end()) throw NotNow("the feeder ends");
      const ShardFile file(file_of_done(shard), outputs_, ledger_->records_of(shard));
      if (std::ranges::count(file.marks(), 1) != static_cast<std::ptrdiff_t>(ledger_->records_of(shard))) {
        ledger_->claims().undo(shard);
        throw NotNow("results of a part are missing, which is done again");
      }
      std::vector<ResultsPart> parts;
      for (std::size_t output = 0; output < outputs_.size(); ++output)
        parts.push_back({file.values(output), file.lengths(output)});
      all.append(parts);
      if (now() - renewed < between_renewals) continue;
      ledger_->claims().renew(ledger_->shards());
      renewed = now();
    }
    std::future<void> synced = std::async(std::launch::async, [&all] { all.sync(); });
    while (synced.wait_for(between_renewals) != std::future_status::ready) ledger_->claims().renew(ledger_->shards());
    synced.get();
  }

  const RecordsPlan plan_;
  const std::vector<Tensor> inputs_, outputs_;
  const std::array<JobFileStamp, 3> stamps_;
  const std::unique_ptr<InputFile> input_;
  std::uint64_t count_ = 0;
  std::atomic<std::uint64_t> committed_{0};
  std::mutex mutex_;
  std::optional<Ledger> ledger_;
  std::deque<std::uint64_t> free_;
  std::unordered_map<std::uint64_t, State> open_;  // records of shards that are held, without a mark
  std::map<std::uint64_t, Held> held_;
  TimePoint claimed_{}, looked_{}, renewed_ = now();
  Duration pause_ = shortest_pause;
  std::atomic<bool> puts_together_{false};  // by the thread of `putting_`, which alone uses the ledger meanwhile
  bool over_ = false;
  std::atomic<bool> ends_{false};
  std::exception_ptr fault_;  // nothing is written any more; what has no mark is done again
  std::future<void> putting_;
};

class TrialRecords final : public Records {
 public:
  TrialRecords(const RecordsPlan& plan, const std::vector<Tensor>& inputs, const std::vector<Tensor>& outputs)
      : input_(open_input(plan.input)), count_(input_->bind(inputs, looked_through)) {
    if (!plan.results.empty()) check_results(plan.results, outputs);
  }
  void check_joining(const std::vector<Tensor>&, const std::vector<Tensor>&) const override {}
  const InputFile& input() const override { return *input_; }
  std::vector<std::uint64_t> take(std::size_t most) override {
    std::vector<std::uint64_t> taken;
    for (; taken.size() < most && taken.size() < count_; next_ = (next_ + 1) % count_) taken.push_back(next_);
    return taken;
  }
  void adopt(const std::vector<std::uint64_t>&) override {}
  void give_back(const std::vector<std::uint64_t>&) override {}
  void commit(const std::vector<Outputs>&) override {}
  bool is_over() override { return false; }
  std::string why() const override { return ""; }
  void settle() override {}
  std::uint64_t committed() const override { return 0; }

 private:
  const std::unique_ptr<InputFile> input_;
  const std::uint64_t count_;
  std::uint64_t next_ = 0;
};

}  // namespace

std::shared_ptr<Records> open_records(const RecordsPlan& plan, const std::vector<Tensor>& inputs,
                                      const std::vector<Tensor>& outputs) {
  return std::make_shared<LedgerRecords>(plan, inputs, outputs);
}

std::shared_ptr<Records> records_for_trial(const RecordsPlan& plan, const std::vector<Tensor>& inputs,
                                           const std::vector<Tensor>& outputs) {
  return std::make_shared<TrialRecords>(plan, inputs, outputs);
}

}  // namespace weft
