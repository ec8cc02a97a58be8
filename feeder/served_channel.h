// The feeder's side of one channel: answers what the rank asks while its job is made ready, then fills slots and
// collects results, until the rank is gone or there is nothing left to do.
//
// serve() runs on a thread of its own; alive() may be called from another one. Nothing that a rank writes into the
// shared memory is believed before it has been checked. Throws nothing: what goes wrong is told to the rank.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "feeder/files/weights_file.h"
#include "feeder/records.h"
#include "runner/feed/channel.h"

namespace weft {

class ServedChannel {
 public:
  // How records are opened: for all channels that want the same, one object.
  using OpenRecords = std::function<std::shared_ptr<Records>(const RecordsPlan&, const std::vector<Tensor>& inputs,
                                                             const std::vector<Tensor>& outputs)>;
  // Whether the rank still lives: asked from time to time.
  using IsHeld = std::function<bool(const Channel&)>;
  ServedChannel(Channel channel, OpenRecords open, IsHeld is_held)
      : channel_(std::move(channel)), open_(std::move(open)), is_held_(std::move(is_held)) {}

  void serve(const std::atomic<bool>& stop) noexcept;
  // Says that the feeder is there. Any thread, about every second.
  void alive() noexcept;
  const Channel& channel() const { return channel_; }

 private:
  void answer() noexcept;
  void answer_to(const ChannelRequest& request, ChannelAnswer& answer);
  void take_up();
  void open(const ChannelRequest& request);
  void open_input_of(const ChannelRequest& request);
  StillReading still_wanted(const std::string& path);
  void describe(const ChannelRequest& request, ChannelAnswer& answer);
  void read_parameter(const ChannelRequest& request, ChannelAnswer& answer);
  void begin();
  void open_records();
  void feed();
  bool fill_one();
  bool collect_one();
  void give_all_back() noexcept;
  void fail(FeedState state, const std::string& why);
  void end(FeedState state, const std::string& why);
  bool has_work() const;

  Channel channel_;
  const OpenRecords open_;
  const IsHeld is_held_;
  const std::atomic<bool>* stop_ = nullptr;  // while it serves
  RecordsPlan plan_;
  std::unique_ptr<InputFile> input_;
  std::optional<WeightsFile> weights_;
  Declared declared_{};
  bool opens_ = false;  // the records, after the answer: that may take long
  std::vector<Tensor> outputs_;
  SlotLayout layout_;
  std::shared_ptr<Records> records_;
  std::vector<std::vector<std::uint64_t>> filled_;  // by slot: its records
  std::uint64_t filled_count_ = 0, collected_count_ = 0;
  std::uint32_t rejected_ = 0;  // units in a row whose results were wrong
};

}  // namespace weft
