// See job_feed.h.
#include "runner/fill/job_feed.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <string_view>

#include "runner/fill/host_memory.h"

namespace weft {
namespace {

// A longer copy would be a long slice: some 25 GB/s go through the bus.
constexpr std::uint64_t most_copied_at_once = std::uint64_t{1} << 20;
constexpr Duration longest_filling = std::chrono::milliseconds(500);

Tensor checked(const weft_fill_tensor& declared) {
  Tensor tensor = make_tensor(declared.name == nullptr ? "" : declared.name, declared.type, declared.shape,
                              std::min<std::uint32_t>(declared.dimensions, WEFT_FILL_MOST_DIMENSIONS + 1));
  tensor.variable = declared.variable;
  if (!is_sound(tensor))
    throw SetUpError("the tensor '" + std::string(declared.name == nullptr ? "" : declared.name) +
                     "' that it declares cannot be (weft/fill.h)");
  return tensor;
}

void append(std::vector<SlotCopy>& copies, CUdeviceptr device, std::uint64_t offset, std::uint64_t bytes) {
  for (std::uint64_t first = 0; first < bytes; first += most_copied_at_once)
    copies.push_back({device + first, offset + first, std::min(most_copied_at_once, bytes - first)});
}

}  // namespace

Feed& JobFeed::opened() {
  if (feed_ == nullptr) feed_ = std::make_unique<Feed>(plan_, job_);
  return *feed_;
}

CUdeviceptr JobFeed::allocate(std::uint64_t bytes, bool may_leave) {
  const CUdeviceptr address = may_leave ? reservation_.allocate_movable(bytes) : reservation_.allocate(bytes);
  if (address == 0) throw SetUpError("its tensors do not fit");
  return address;
}

bool JobFeed::describe(Feed::Of of, const char* name, weft_fill_tensor* found) {
  const std::string_view wanted = name == nullptr ? "" : name;
  if (wanted.empty() || found == nullptr) throw SetUpError("it asks for a tensor without a name");
  const std::optional<Tensor> tensor = opened().describe(of, wanted);
  if (!tensor) return false;
  *found = {};
  found->name = name;
  found->type = tensor->type;
  found->dimensions = tensor->dimensions;
  std::copy_n(tensor->shape.begin(), tensor->dimensions, found->shape);
  found->variable = tensor->variable;
  return true;
}

CUdeviceptr JobFeed::parameter(const weft_fill_tensor& declared) {
  const Tensor tensor = checked(declared);
  if (tensor.variable == 1)
    throw SetUpError("the parameter '" + std::string(tensor.text()) + "' is of variable length");
  if (declared.between_bubbles_on_host > 1)
    throw SetUpError("the parameter '" + std::string(tensor.text()) + "' has a between_bubbles_on_host of " +
                     std::to_string(declared.between_bubbles_on_host));
  const CUdeviceptr address = allocate(bytes_of(tensor), declared.between_bubbles_on_host == 1);
  opened().read_parameter(tensor, [&](std::uint64_t offset, std::span<const std::byte> part) {
    reservation_.write(address + offset, part);
  });
  return address;
}

void JobFeed::records(std::uint32_t per_unit, std::uint64_t* count) {
  if (per_unit == 0 || per_unit > SlotLayout::most_records)
    throw SetUpError("it takes " + std::to_string(per_unit) + " records in a unit: 1 to " +
                     std::to_string(SlotLayout::most_records) + " are possible");
  if (opened().has_records()) throw SetUpError("it says twice how many records a unit takes");
  opened().set_records(per_unit);
  count_ = allocate(sizeof(std::uint32_t));
  if (count != nullptr) *count = count_;
}

CUdeviceptr JobFeed::declare(const weft_fill_tensor& declared, std::uint64_t* lengths, std::vector<Declared>& all) {
  const std::uint64_t records = opened().per_unit();
  if (records == 0) throw SetUpError("it declares a tensor before it says how many records a unit takes");
  Declared& made = all.emplace_back(Declared{checked(declared)});
  if (bytes_of(made.tensor) > Tensor::most_bytes / records) throw SetUpError("its tensors do not fit");
  made.device = allocate(records * bytes_of(made.tensor));
  if (made.tensor.variable == 1) made.lengths = allocate(records * sizeof(std::uint32_t));
  if (lengths != nullptr) *lengths = made.lengths;
  return made.device;
}

CUdeviceptr JobFeed::input(const weft_fill_tensor& tensor, std::uint64_t* lengths) {
  const CUdeviceptr address = declare(tensor, lengths, inputs_);
  feed_->add_input(inputs_.back().tensor);
  return address;
}

CUdeviceptr JobFeed::output(const weft_fill_tensor& tensor, std::uint64_t* lengths) {
  const CUdeviceptr address = declare(tensor, lengths, outputs_);
  feed_->add_output(outputs_.back().tensor);
  return address;
}

void JobFeed::begin() {
  if (!has_records()) {
    if (!plan_.input.empty() || !plan_.results.empty())
      throw SetUpError(
          "it reads no records, and a file of them or for results is named (WEFT_INPUT, WEFT_RESULTS, or `input` and "
          "`results` in a job file)");
    return feed_.reset();
  }
  if (outputs_.empty()) throw SetUpError("it reads records and declares no output");
  feed_->begin(available_host_memory().value_or(std::numeric_limits<std::uint64_t>::max()) / 4);
  const unsigned flags = CU_MEMHOSTREGISTER_PORTABLE | CU_MEMHOSTREGISTER_DEVICEMAP;
  check(driver_, driver_.cuMemHostRegister_v2(feed_->slots().slots(), feed_->slots().mapped_bytes(), flags),
        "registering the memory for records");
  registered_ = true;
  make_copies();
  fill_own_slot();
}

void JobFeed::make_copies() {
  const SlotLayout& layout = feed_->layout();
  append(in_, count_, SlotLayout::count, sizeof(std::uint32_t));
  const auto add = [&](const Declared& declared, const SlotPart& part, std::vector<SlotCopy>& copies) {
    append(copies, declared.device, part.offset, part.bytes);
    if (part.lengths != 0) append(copies, declared.lengths, part.lengths, feed_->per_unit() * sizeof(std::uint32_t));
  };
  for (std::size_t i = 0; i < inputs_.size(); ++i) add(inputs_[i], layout.inputs[i], in_);
  for (std::size_t i = 0; i < outputs_.size(); ++i) {
    add(outputs_[i], layout.outputs[i], out_);
    clears_.push_back({outputs_[i].device, 0, layout.outputs[i].bytes, 0});
    if (outputs_[i].lengths != 0)
      clears_.push_back({outputs_[i].lengths, 0, feed_->per_unit() * sizeof(std::uint32_t), 0xFF});
  }
}

// A full unit of records of full length: a real one takes no longer. Their content is that of the first record, where
// there is one soon.
void JobFeed::fill_own_slot() {
  const bool has_one = feed_->has_filled_one_within(longest_filling);
  const std::uint32_t records = feed_->per_unit();
  std::byte* const own = own_slot();
  std::memcpy(own + SlotLayout::count, &records, sizeof records);
  for (std::size_t i = 0; i < inputs_.size(); ++i) {
    const SlotPart& part = feed_->layout().inputs[i];
    const std::uint64_t bytes = bytes_of(inputs_[i].tensor);
    for (std::uint32_t record = 0; record < records; ++record) {
      if (has_one) std::memcpy(own + part.offset + record * bytes, slot(feed_->next()) + part.offset, bytes);
      const auto length = static_cast<std::uint32_t>(inputs_[i].tensor.shape[0]);
      if (part.lengths != 0) std::memcpy(own + part.lengths + record * sizeof length, &length, sizeof length);
    }
  }
}

// Memory that the driver may still take for pinned is not given back: the training could get the same addresses.
void JobFeed::release() noexcept {
  if (feed_ == nullptr) return;
  feed_->close();
  const CUresult result = registered_ ? driver_.cuMemHostUnregister(feed_->slots().slots()) : CUDA_SUCCESS;
  registered_ = false;
  if (result != CUDA_SUCCESS && result != CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED) [[maybe_unused]]
    const Feed* const left = feed_.release();
  feed_.reset();
}

}  // namespace weft
