// One file of records, the weights and the results of one fill job, as all channels share them that work on the same.
//
// Used by the threads of the feeder that serve channels, and by its main thread; locked inside. Throws FileError: then
// nothing more is taken, and what has its result keeps it.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "feeder/files/input_file.h"
#include "runner/feed/tensor.h"

namespace weft {

// The job and its files, as the user named them.
struct RecordsPlan {
  std::string job, arguments, input, results, weights;
  std::string claims{};  // see LedgerPlan
  friend auto operator<=>(const RecordsPlan&, const RecordsPlan&) = default;
};

// The outputs of one record.
struct Outputs {
  std::uint64_t record = 0;
  std::vector<std::span<const std::byte>> values;
  std::vector<std::uint32_t> lengths;
};

class Records {
 public:
  virtual ~Records() = default;
  // Throws where a further channel may not join in: it was told of other tensors, or a file has changed since work
  // began.
  virtual void check_joining(const std::vector<Tensor>& inputs, const std::vector<Tensor>& outputs) const = 0;
  // Up to so many, that nobody works on. None: not now, or is_over().
  virtual std::vector<std::uint64_t> take(std::size_t most) = 0;
  // Likewise these, which were taken from a feeder that has died; those that are not to be had do not count.
  virtual void adopt(const std::vector<std::uint64_t>& records) = 0;
  virtual void give_back(const std::vector<std::uint64_t>& records) = 0;
  virtual void commit(const std::vector<Outputs>& outputs) = 0;
  // All have their results. why(): as the end of a sentence about the job.
  virtual bool is_over() = 0;
  virtual std::string why() const = 0;
  // From time to time, and at the end, by one thread: results go to the disk, and what is held is renewed.
  virtual void settle() = 0;
  // Results that came in since it was opened.
  virtual std::uint64_t committed() const = 0;
  virtual const InputFile& input() const = 0;
};

// With a ledger and a file of results.
std::shared_ptr<Records> open_records(const RecordsPlan& plan, const std::vector<Tensor>& inputs,
                                      const std::vector<Tensor>& outputs);
// For the trial of a job: the first records over and over, and no results are kept.
std::shared_ptr<Records> records_for_trial(const RecordsPlan& plan, const std::vector<Tensor>& inputs,
                                           const std::vector<Tensor>& outputs);

}  // namespace weft
