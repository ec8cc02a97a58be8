// See records.h.
#include "feeder/records.h"

#include <algorithm>
#include <deque>
#include <nlohmann/json.hpp>
#include <unordered_map>
#include <utility>

#include "feeder/files/open_file.h"
#include "feeder/identity.h"
#include "runner/clock.h"

namespace weft {
namespace {

using namespace std::chrono_literals;

constexpr Duration between_claims = 500ms;  // where there was nothing to claim
constexpr Duration between_renewals = 20s;
constexpr Duration longest_out = 30s;  // then another rank gets the record, too
// So many that a shard is some minutes of work and not too many files, and so few that hosts can share small files.
constexpr std::uint64_t looked_through = 10'000;  // lines, in a trial
constexpr std::uint64_t shards_wanted = 4096, least_shard = 16, most_shard = 65536;

nlohmann::ordered_json described(const std::vector<Tensor>& tensors) {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const Tensor& tensor : tensors) list.push_back(std::string(tensor.text()) + " " + weft::described(tensor));
  return list;
}

std::string identity_of(const RecordsPlan& plan, const std::vector<Tensor>& inputs,
                        const std::vector<Tensor>& outputs) {
  nlohmann::ordered_json identity;
  identity["job"] = identity_of_file(plan.job);
  identity["arguments"] = plan.arguments;
  identity["weights"] = plan.weights.empty() ? "" : identity_of_file(plan.weights);
  identity["input"] = identity_of_file(plan.input);
  identity["inputs"] = described(inputs);
  identity["outputs"] = described(outputs);
  return identity.dump();
}

class LedgerRecords final : public Records {
 public:
  LedgerRecords(const RecordsPlan& plan, const std::vector<Tensor>& inputs, const std::vector<Tensor>& outputs)
      : plan_(plan), outputs_(outputs), input_(open_input(plan.input)), count_(input_->bind(inputs, InputFile::all)) {
    if (plan.results.empty())
      throw std::runtime_error("it reads records, and no file for results is named (WEFT_RESULTS, or `results`)");
    check_results(plan.results, outputs);
    const std::uint64_t shard = std::clamp(count_ / shards_wanted, least_shard, most_shard);
    const auto make = [](const std::string& path, void* self) {
      const auto& records = *static_cast<LedgerRecords*>(self);
      ResultsFile::create(path, records.plan_.results, records.outputs_, records.count_);
    };
    ledger_.emplace(plan.results, LedgerPlan{identity_of(plan, inputs, outputs), count_, shard}, make, this);
    if (ledger_->is_complete())
      complete();
    else
      results_.emplace(ledger_->values(), plan.results, outputs, count_);
    while (claim(Ledger::From::dead)) continue;
  }
  ~LedgerRecords() override { settle(); }

  std::uint64_t count() const override { return count_; }
  const InputFile& input() const override { return *input_; }

  std::vector<std::uint64_t> take(std::size_t most) override {
    const std::lock_guard lock(mutex_);
    check_fault();
    while (!over_ && free_.size() < most && claim()) continue;
    std::vector<std::uint64_t> taken(free_.begin(),
                                     free_.begin() + static_cast<std::ptrdiff_t>(std::min(most, free_.size())));
    free_.erase(free_.begin(), free_.begin() + static_cast<std::ptrdiff_t>(taken.size()));
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
      for (std::size_t output = 0; output < outputs_.size(); ++output) {
        if (outputs_[output].variable == 1) results_->write_length(output, outputs.record, outputs.lengths[output]);
        results_->write(output, outputs.record, outputs.values[output]);
      }
      if (found->second.place == Place::free) std::erase(free_, outputs.record);
      found->second.place = Place::written;
      written_.push_back(outputs.record);
    }
  }

  bool is_over() override {
    const std::lock_guard lock(mutex_);
    return over_;
  }

  std::string why() const override {
    return "has results of all " + std::to_string(count_) + " records of " + plan_.input + " in " + plan_.results;
  }

  void settle() override {
    const std::lock_guard lock(mutex_);
    if (over_ || !fault_.empty()) return;
    try {
      write_down();
    } catch (const FileError& error) {
      fault_ = error.what();
    }
  }

 private:
  enum class Place : std::uint8_t { free, out, written };
  struct State {
    Place place = Place::free;
    TimePoint since{};  // of one that is out
  };

  // Records of a rank that has no bubbles, at the end of the file: they are given to another one as well, and whichever
  // result comes first counts.
  std::vector<std::uint64_t> overdue(std::size_t most) const {
    std::vector<std::uint64_t> records;
    if (over_ || now() - claimed_ > between_claims) return records;
    for (const auto& [record, state] : open_)
      if (records.size() < most && state.place == Place::out && now() - state.since > longest_out)
        records.push_back(record);
    return records;
  }

  void check_fault() const {
    if (!fault_.empty()) throw std::runtime_error(fault_);
  }

  void write_down() {
    if (!written_.empty()) {
      results_->sync();
      ledger_->mark(written_);
      for (const std::uint64_t record : written_) open_.erase(record);
      written_.clear();
    }
    if (now() - renewed_ > between_renewals) renew();
    if (open_.empty() && now() - looked_ > between_claims) {
      looked_ = now();
      if (ledger_->is_complete()) complete();
    }
  }

  bool claim(Ledger::From from = Ledger::From::anywhere) {
    if (now() - claimed_ < between_claims) return false;
    std::vector<std::uint64_t> records;
    const auto shard = ledger_->claim(from, records);
    if (!shard && from == Ledger::From::anywhere) claimed_ = now();
    if (!shard) return false;
    shards_.push_back(*shard);
    for (const std::uint64_t record : records) {
      open_[record] = {};
      free_.push_back(record);
    }
    return true;
  }

  void renew() {
    renewed_ = now();
    std::erase_if(shards_, [this](std::uint64_t shard) {
      if (ledger_->holds(shard) && ledger_->renew(shard)) return false;
      const std::uint64_t size = ledger_->shard_records();
      const auto is_of_it = [&](std::uint64_t record) { return record / size == shard; };
      std::erase_if(open_, [&](const auto& entry) { return is_of_it(entry.first); });
      std::erase_if(free_, is_of_it);
      std::erase_if(written_, is_of_it);
      return true;
    });
  }

  void complete() {
    over_ = true;
    std::string values = ledger_->values();
    if (plan_.results.ends_with(".jsonl")) {
      const std::string lines = values + ".jsonl." + Ledger::own_name();
      ResultsFile(values, plan_.results, outputs_, count_).export_lines(lines);
      ledger_->publish(lines);
      std::remove(lines.c_str());
    } else {
      ledger_->publish(values);
    }
  }

  const RecordsPlan plan_;
  const std::vector<Tensor> outputs_;
  const std::unique_ptr<InputFile> input_;
  const std::uint64_t count_;
  std::mutex mutex_;
  std::optional<Ledger> ledger_;
  std::optional<ResultsFile> results_;
  std::deque<std::uint64_t> free_;
  std::unordered_map<std::uint64_t, State> open_;  // records of shards that are held, without a mark
  std::vector<std::uint64_t> written_;             // and not yet on the disk for sure
  std::vector<std::uint64_t> shards_;
  TimePoint claimed_{}, renewed_ = now(), looked_{};
  bool over_ = false;
  std::string fault_;  // nothing is written any more; what has no mark is done again
};

class TrialRecords final : public Records {
 public:
  TrialRecords(const RecordsPlan& plan, const std::vector<Tensor>& inputs, const std::vector<Tensor>& outputs)
      : input_(open_input(plan.input)), count_(input_->bind(inputs, looked_through)) {
    if (!plan.results.empty()) check_results(plan.results, outputs);
  }
  std::uint64_t count() const override { return count_; }
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
