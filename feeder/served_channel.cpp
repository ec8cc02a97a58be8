// See served_channel.h.
#include "feeder/served_channel.h"

#include <algorithm>
#include <cstring>
#include <exception>
#include <utility>

#include "feeder/files/open_file.h"
#include "feeder/files/results_file.h"
#include "runner/clock.h"

namespace weft {
namespace {

using namespace std::chrono_literals;

constexpr Duration longest_sleep = 100ms;  // whether the rank lives, and whether there is new work, is looked at then
constexpr std::uint32_t most_rejected = 3;

constexpr const char* no_input = "it reads records, and no file of records is named (WEFT_INPUT, or `input`)";
constexpr const char* no_weights = "it reads weights, and no file of weights is named (WEFT_WEIGHTS, or `weights`)";

void refuse(const std::string& why) {
  throw std::runtime_error(why);
}

}  // namespace

void ServedChannel::alive() noexcept {
  channel_.header().feeder_alive.store(now().time_since_epoch().count(), std::memory_order_release);
}

void ServedChannel::serve(const std::atomic<bool>& stop) noexcept {
  ChannelHeader& header = channel_.header();
  stop_ = &stop;
  alive();
  try {
    take_up();
    while (!stop && is_held_(channel_)) {
      const std::uint32_t heard = header.feeder_bell.load(std::memory_order_acquire);
      alive();
      answer();
      if (opens_) open_records();
      feed();
      header.feeder_sleeps.store(1, std::memory_order_seq_cst);
      if (!has_work()) wait_for_ring(header.feeder_bell, heard, longest_sleep);
      header.feeder_sleeps.store(0, std::memory_order_seq_cst);
    }
    while (records_ != nullptr && collect_one()) continue;
  } catch (const FileError& error) {
    // Once there are records the job has been found to go with its files.
    fail(records_ == nullptr ? FeedState::failed : FeedState::broken, error.what());
  } catch (const std::exception& error) {
    fail(FeedState::failed, error.what());
  }
  give_all_back();
}

bool ServedChannel::has_work() const {
  const ChannelHeader& header = channel_.header();
  return header.requests.load(std::memory_order_acquire) != header.answers.load(std::memory_order_relaxed) ||
         (records_ != nullptr && header.ended.load(std::memory_order_acquire) != collected_count_);
}

void ServedChannel::answer() noexcept {
  ChannelHeader& header = channel_.header();
  const std::uint32_t asked = header.requests.load(std::memory_order_acquire);
  if (asked == header.answers.load(std::memory_order_relaxed)) return;
  const ChannelRequest request = header.request;
  ChannelAnswer answer;
  try {
    answer_to(request, answer);
  } catch (const std::exception& error) {
    answer.fault.set(error.what()[0] == '\0' ? "the feeder failed" : error.what());
  }
  header.answer = answer;
  header.answers.store(asked, std::memory_order_release);
  ring(header.rank_bell);
}

void ServedChannel::answer_to(const ChannelRequest& request, ChannelAnswer& answer) {
  const bool has_tensor = request.call == ChannelCall::parameter || request.call == ChannelCall::input ||
                          request.call == ChannelCall::output;
  if (has_tensor && !is_sound(request.tensor)) refuse("the tensor that is asked for cannot be");
  switch (request.call) {
    case ChannelCall::none:
      return;
    case ChannelCall::open:
      return open(request);
    case ChannelCall::describe_parameter:
    case ChannelCall::describe_input:
      return describe(request, answer);
    case ChannelCall::parameter:
      return read_parameter(request, answer);
    case ChannelCall::records:
      if (plan_.input.empty()) refuse(no_input);
      return;
    case ChannelCall::input:
      if (input_ == nullptr) refuse(no_input);
      return input_->check(request.tensor);
    case ChannelCall::output:
      outputs_.push_back(request.tensor);
      return plan_.results.empty() ? void() : check_results(plan_.results, outputs_);
    case ChannelCall::begin:
      return records_ == nullptr ? begin() : void();  // it is taken up already
  }
  refuse("the feeder is of another version of Weft");
}

void ServedChannel::open_input_of(const ChannelRequest& request) {
  plan_ = {request.job.get(),     request.arguments.get(), request.input.get(),
           request.results.get(), request.weights.get(),   request.claims.get()};
  if (!plan_.input.empty()) input_ = open_input(plan_.input, still_wanted(plan_.input));
}

void ServedChannel::open(const ChannelRequest& request) {
  open_input_of(request);
  if (plan_.weights.empty()) return;
  weights_.emplace(plan_.weights, still_wanted(plan_.weights));
}

// The rank waits for as long as it hears that the feeder is there.
StillReading ServedChannel::still_wanted(const std::string& path) {
  return [this, path] {
    alive();
    if (*stop_ || !is_held_(channel_)) throw FileError(path, "nobody waits for it any more");
  };
}

void ServedChannel::describe(const ChannelRequest& request, ChannelAnswer& answer) {
  if (std::ranges::find(request.tensor.name, '\0') == request.tensor.name.end()) refuse("a name has no end");
  const std::string_view name = request.tensor.text();
  if (request.call == ChannelCall::describe_input) {
    if (input_ == nullptr) refuse(no_input);
    if (const auto found = input_->describe(name)) answer.tensor = *found;
  } else {
    if (!weights_) refuse(no_weights);
    if (const Tensor* const found = weights_->find(name)) answer.tensor = *found;
  }
}

void ServedChannel::read_parameter(const ChannelRequest& request, ChannelAnswer& answer) {
  if (!weights_) refuse(no_weights);
  const std::string name(request.tensor.text());
  const Tensor* const found = weights_->find(name);
  if (found == nullptr) throw FileError(plan_.weights, "has no tensor '" + name + "'");
  if (!have_one_shape(*found, request.tensor))
    throw FileError(plan_.weights,
                    "has " + described(*found) + " for '" + name + "', and the job takes " + described(request.tensor));
  const std::uint64_t bytes = bytes_of(*found);
  if (request.offset >= bytes) refuse("a part behind the end of a parameter is asked for");
  answer.bytes = std::min(bytes - request.offset, Channel::staging_bytes);
  weights_->read(name, request.offset, {channel_.staging(), answer.bytes});
}

// The declarations stand in memory that the rank may change: a copy of them counts.
void ServedChannel::begin() {
  const ChannelHeader& header = channel_.header();
  declared_ = header.declared;
  const bool counts = declared_.per_unit != 0 && declared_.per_unit <= SlotLayout::most_records &&
                      declared_.inputs <= Declared::most && declared_.outputs <= Declared::most &&
                      declared_.outputs != 0;
  if (!counts || records_ != nullptr || opens_ || input_ == nullptr)
    refuse("it begins before it has said what it reads");
  const auto is_no_tensor = [](const Tensor& tensor) { return !is_sound(tensor); };
  const std::vector inputs(declared_.input.begin(), declared_.input.begin() + declared_.inputs);
  outputs_.assign(declared_.output.begin(), declared_.output.begin() + declared_.outputs);
  if (std::ranges::any_of(inputs, is_no_tensor) || std::ranges::any_of(outputs_, is_no_tensor))
    refuse("a tensor that is declared cannot be");
  for (const Tensor& input : inputs) input_->check(input);
  layout_ = layout_of(declared_);
  const std::uint64_t slot_bytes = header.slot_bytes;
  if (!layout_.is_sound() || layout_.bytes > slot_bytes) refuse("its slots are too small");
  channel_.take_slots(header.slots, slot_bytes);
  filled_.resize(channel_.slot_count());
  weights_.reset();  // the job has them
  opens_ = true;
}

void ServedChannel::open_records() {
  opens_ = false;
  records_ = open_(plan_, std::vector(declared_.input.begin(), declared_.input.begin() + declared_.inputs), outputs_);
  if (records_->is_over()) end(FeedState::over, records_->why());  // before the rank goes on
  channel_.header().begun.store(1, std::memory_order_release);
}

// A feeder that was here before has died. The rank works on all that it had filled.
void ServedChannel::take_up() {
  ChannelHeader& header = channel_.header();
  if (header.slots == 0 || header.declared.per_unit == 0 || header.state.load() != FeedState::feeding) return;
  open_input_of(header.declared.opened);
  begin();
  open_records();
  filled_count_ = header.filled.load(std::memory_order_acquire);
  collected_count_ = header.collected.load(std::memory_order_relaxed);
  if (filled_count_ - collected_count_ > channel_.slot_count()) refuse("the counts of its slots cannot be");
  for (std::uint64_t number = collected_count_; number < filled_count_; ++number) {
    std::uint32_t count = 0;
    std::memcpy(&count, channel_.slot(number) + SlotLayout::count, sizeof count);
    std::vector<std::uint64_t>& records = filled_[number % channel_.slot_count()];
    records.resize(std::min(count, declared_.per_unit));
    std::memcpy(records.data(), channel_.slot(number) + SlotLayout::numbers, records.size() * sizeof records[0]);
    records_->adopt(records);
  }
}

void ServedChannel::feed() {
  if (records_ == nullptr) return;
  while (collect_one()) continue;
  while (fill_one()) continue;
  if (!records_->is_over() || channel_.header().state.load(std::memory_order_relaxed) != FeedState::feeding) return;
  end(FeedState::over, records_->why());
}

bool ServedChannel::fill_one() {
  if (filled_count_ - collected_count_ >= channel_.slot_count()) return false;
  const std::vector<std::uint64_t> records = records_->take(declared_.per_unit);
  if (records.empty()) return false;
  filled_[filled_count_ % channel_.slot_count()] = records;
  std::byte* const slot = channel_.slot(filled_count_);
  const auto count = static_cast<std::uint32_t>(records.size());
  std::memcpy(slot + SlotLayout::count, &count, sizeof count);
  std::memset(slot + SlotLayout::rejected, 0, sizeof count);
  std::memcpy(slot + SlotLayout::numbers, records.data(), count * sizeof records[0]);
  for (std::size_t input = 0; input < layout_.inputs.size(); ++input) {
    const SlotPart& part = layout_.inputs[input];
    const std::uint64_t bytes = bytes_of(declared_.input[input]);
    for (std::uint32_t i = 0; i < declared_.per_unit; ++i) {
      const std::span<std::byte> to(slot + part.offset + i * bytes, bytes);
      std::uint32_t length = 0;
      if (i < count)
        length = records_->input().read(input, records[i], to);
      else
        std::memset(to.data(), 0, to.size());
      if (part.lengths != 0) std::memcpy(slot + part.lengths + i * sizeof length, &length, sizeof length);
    }
  }
  channel_.header().filled.store(++filled_count_, std::memory_order_release);
  return true;
}

bool ServedChannel::collect_one() {
  const std::uint64_t ended = channel_.header().ended.load(std::memory_order_acquire);
  if (collected_count_ >= std::min(ended, filled_count_)) return false;
  const std::byte* const slot = channel_.slot(collected_count_);
  std::vector<std::uint64_t>& records = filled_[collected_count_ % channel_.slot_count()];
  std::uint32_t rejected = 0;
  std::memcpy(&rejected, slot + SlotLayout::rejected, sizeof rejected);
  if (rejected != 0) {
    records_->give_back(records);
    if (++rejected_ == most_rejected)
      throw std::runtime_error("its results were wrong in " + std::to_string(most_rejected) + " units in a row");
  } else {
    rejected_ = 0;
    std::vector<Outputs> all;
    for (std::uint32_t i = 0; i < records.size(); ++i) {
      Outputs& outputs = all.emplace_back(Outputs{records[i], {}, {}});
      for (std::size_t output = 0; output < outputs_.size(); ++output) {
        const SlotPart& part = layout_.outputs[output];
        const std::uint64_t bytes = bytes_of(outputs_[output]);
        outputs.values.emplace_back(slot + part.offset + i * bytes, bytes);
        std::uint32_t length = 0;
        if (part.lengths != 0) std::memcpy(&length, slot + part.lengths + i * sizeof length, sizeof length);
        const bool is_variable = outputs_[output].variable == 1;
        if (is_variable && length > outputs_[output].shape[0])
          throw std::runtime_error("it gives a result of length " + std::to_string(length) + " for '" +
                                   std::string(outputs_[output].text()) + "', which has room for " +
                                   std::to_string(outputs_[output].shape[0]));
        outputs.lengths.push_back(length);
      }
    }
    records_->commit(all);
  }
  records.clear();
  channel_.header().collected.store(++collected_count_, std::memory_order_release);
  return true;
}

void ServedChannel::give_all_back() noexcept {
  try {
    for (const std::vector<std::uint64_t>& records : filled_)
      if (records_ != nullptr && !records.empty()) records_->give_back(records);
  } catch (...) {
    // They are given to somebody else when the lease is over.
  }
  records_.reset();
}

void ServedChannel::fail(FeedState state, const std::string& why) {
  end(state, (records_ == nullptr ? "gets no records: " : "gets no more records: ") + why);
}

void ServedChannel::end(FeedState state, const std::string& why) {
  channel_.header().why.set(why);
  channel_.header().state.store(state, std::memory_order_release);
}

}  // namespace weft
