// See feed.h.
#include "runner/feed/feed.h"

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "runner/clock.h"
#include "runner/core/set_up_error.h"

namespace weft {
namespace {

using namespace std::chrono_literals;

constexpr Duration longest_answer = 5s;  // of one question; who waits for all of them has a bound of his own
// Of files that are looked through before it is known what they have. The feeder says meanwhile that it is there.
constexpr Duration longest_look = 30s;
constexpr Duration longest_opening = 1s;  // files that take longer to look through are waited for in no bubble
constexpr Duration longest_silence = 3s;  // of the feeder, which tells every second that it is there
constexpr std::uint64_t memory_of_slots = std::uint64_t{16} << 20;
constexpr std::uint64_t most_slots = 16, least_slots = 2;

// Of the channel, whose errors say what they are about.
template <class Call>
auto as_set_up(Call call) {
  try {
    return call();
  } catch (const std::runtime_error& error) {
    throw SetUpError(error.what());
  }
}

}  // namespace

std::uint32_t slots_for(std::uint64_t slot_bytes, std::uint64_t most_bytes) {
  const std::uint64_t fit = std::min(memory_of_slots, most_bytes) / slot_bytes;
  return static_cast<std::uint32_t>(std::clamp(fit == 0 ? 0 : fit - 1, least_slots, most_slots));
}

Feed::Feed(const FeedPlan& plan, const std::string& job) : given_up_(plan.given_up) {
  if (plan.input.empty() && plan.weights.empty())
    throw SetUpError(
        "it reads records or weights, and no file is named (WEFT_INPUT, WEFT_WEIGHTS, or `input` and "
        "`weights` in a job file)");
  if (plan.folder.empty())
    throw SetUpError(
        "it reads records or weights, and there is no feeder: start the training with weft run, or "
        "weft-feeder beside it (WEFT_FEEDER)");
  channel_ = as_set_up([&] { return std::make_unique<Channel>(Channel::create(plan.folder)); });
  if (plan.serve_here) plan.serve_here(channel_->path());
  ChannelRequest request;
  request.call = ChannelCall::open;
  request.input.set(plan.input);
  request.results.set(plan.results);
  request.weights.set(plan.weights);
  request.claims.set(plan.claims);
  for (const auto& [text, most] :
       {std::pair{&plan.input, request.input.bytes.size()}, std::pair{&plan.results, request.results.bytes.size()},
        std::pair{&plan.weights, request.weights.bytes.size()}, std::pair{&plan.claims, request.claims.bytes.size()},
        std::pair{&job, request.job.bytes.size()}, std::pair{&plan.arguments, request.arguments.bytes.size()}})
    if (text->size() >= most)
      throw SetUpError("a path or its arguments have more than " + std::to_string(most - 1) + " bytes");
  request.job.set(job);
  request.arguments.set(plan.arguments);
  ask(request);
  declared_.opened = request;
}

Feed::~Feed() {
  close();
}

void Feed::close() noexcept {
  if (channel_->header().closed.exchange(1, std::memory_order_acq_rel) == 0) ring(channel_->header().feeder_bell);
}

ChannelAnswer Feed::ask(const ChannelRequest& request) {
  ChannelHeader& header = channel_->header();
  header.request = request;
  header.requests.fetch_add(1, std::memory_order_release);
  ring(header.feeder_bell);
  wait_for_answer(request.call == ChannelCall::open ? longest_look : longest_answer);
  if (const std::string fault = header.answer.fault.get(); !fault.empty()) throw SetUpError(fault);
  return header.answer;
}

void Feed::wait_for_answer(Duration limit) {
  ChannelHeader& header = channel_->header();
  const TimePoint began = now();
  for (;;) {
    const std::uint32_t heard = header.rank_bell.load(std::memory_order_acquire);
    if (header.answers.load(std::memory_order_acquire) == header.requests.load(std::memory_order_relaxed)) return;
    if (given_up_ != nullptr && *given_up_) throw PassingFault("nobody waits for the fill job any more");
    const TimePoint time = now(), seen = std::max(seen_feeder().value_or(began), began);
    if (time - seen > longest_silence || time - began > limit)
      throw PassingFault(
          "the feeder does not answer: " +
          std::string(seen_feeder() ? "it takes too long" : "there is none in its folder (WEFT_FEEDER)"));
    wait_for_ring(header.rank_bell, heard, 20ms);
  }
}

std::optional<Tensor> Feed::describe(Of of, std::string_view name) {
  ChannelRequest request;
  request.call = of == Of::weights ? ChannelCall::describe_parameter : ChannelCall::describe_input;
  request.tensor = make_tensor(name, WEFT_UINT8, nullptr, 0);
  const ChannelAnswer answer = ask(request);
  if (answer.tensor.type == 0) return std::nullopt;
  if (!is_sound(answer.tensor)) throw SetUpError("the feeder describes what cannot be");
  return answer.tensor;
}

void Feed::read_parameter(const Tensor& wanted, const TakePart& take) {
  ChannelRequest request;
  request.call = ChannelCall::parameter;
  request.tensor = wanted;
  const std::uint64_t bytes = bytes_of(wanted);
  while (request.offset < bytes) {
    const ChannelAnswer answer = ask(request);
    if (answer.bytes == 0 || answer.bytes > std::min(Channel::staging_bytes, bytes - request.offset))
      throw SetUpError("the feeder sends what was not asked for");
    take(request.offset, {channel_->staging(), answer.bytes});
    request.offset += answer.bytes;
  }
}

void Feed::set_records(std::uint32_t per_unit) {
  ChannelRequest request;
  request.call = ChannelCall::records;
  request.count = per_unit;
  ask(request);
  declared_.per_unit = per_unit;
}

void Feed::add(ChannelCall call, const Tensor& tensor, std::uint32_t& count, std::array<Tensor, Declared::most>& all) {
  if (count == Declared::most)
    throw SetUpError("it declares more than " + std::to_string(Declared::most) + " inputs or outputs");
  ChannelRequest request;
  request.call = call;
  request.tensor = tensor;
  ask(request);
  all[count++] = tensor;
}

void Feed::add_input(const Tensor& tensor) {
  add(ChannelCall::input, tensor, declared_.inputs, declared_.input);
}

void Feed::add_output(const Tensor& tensor) {
  add(ChannelCall::output, tensor, declared_.outputs, declared_.output);
}

void Feed::begin(std::uint64_t most_bytes) {
  layout_ = layout_of(declared_);
  if (!layout_.is_sound()) throw SetUpError("the records of one unit are too large");
  // Slots begin on pages, so that they can be registered as they are.
  const std::uint64_t slot_bytes = (layout_.bytes + 4095) / 4096 * 4096;
  as_set_up([&] { channel_->make_slots(slots_for(slot_bytes, std::min(most_bytes, channel_->room())), slot_bytes); });
  if (channel_->mapped_bytes() > most_bytes)
    throw SetUpError("the records of its units, " + std::to_string(channel_->mapped_bytes() >> 20) +
                     " MiB, would take more than a quarter of the host memory that is available");
  for (std::uint32_t number = 0; number < channel_->slot_count(); ++number) {
    std::byte* const slot = channel_->slot(number);
    FilledSlot& filled = filled_.emplace_back();
    filled.numbers = reinterpret_cast<const std::uint64_t*>(slot + SlotLayout::numbers);
    const auto lengths = [&](const SlotPart& part) {
      return part.lengths == 0 ? nullptr : reinterpret_cast<const std::uint32_t*>(slot + part.lengths);
    };
    for (const SlotPart& part : layout_.inputs) {
      filled.inputs.push_back(slot + part.offset);
      filled.input_lengths.push_back(lengths(part));
    }
    for (const SlotPart& part : layout_.outputs) {
      filled.outputs.push_back(slot + part.offset);
      filled.output_lengths.push_back(lengths(part));
    }
  }
  channel_->header().declared = declared_;
  ChannelRequest request;
  request.call = ChannelCall::begin;
  ask(request);
  const ChannelHeader& header = channel_->header();
  wait_at_most(longest_opening, [&] {
    return header.begun.load(std::memory_order_acquire) != 0 || is_over() ||
           (given_up_ != nullptr && given_up_->load());
  });
  if (is_over() && !has_failed()) throw NothingToDo("it has nothing left to do: it " + why());
  if (is_over() && is_broken()) throw PassingFault("it " + why());
  if (is_over()) throw SetUpError("it " + why());
}

bool Feed::has_filled_one_within(Duration limit) const noexcept {
  return wait_at_most(limit, [this] { return has_next() || is_over(); }) && has_next();
}

bool Feed::has_next() const noexcept {
  const ChannelHeader& header = channel_->header();
  return header.ended.load(std::memory_order_relaxed) < header.filled.load(std::memory_order_acquire) &&
         header.closed.load(std::memory_order_relaxed) == 0;
}

bool Feed::is_over() const noexcept {
  return channel_->header().state.load(std::memory_order_acquire) != FeedState::feeding && !has_next();
}

bool Feed::has_failed() const noexcept {
  return channel_->header().state.load(std::memory_order_acquire) == FeedState::failed || is_broken();
}

bool Feed::is_broken() const noexcept {
  return channel_->header().state.load(std::memory_order_acquire) == FeedState::broken;
}

std::string Feed::why() const {
  return channel_->header().why.get();
}

std::uint32_t Feed::next() const noexcept {
  return static_cast<std::uint32_t>(channel_->header().ended.load(std::memory_order_relaxed) % channel_->slot_count());
}

std::uint32_t Feed::records_in(std::uint32_t number) const noexcept {
  const std::byte* const slot = channel_->slot(number);
  return std::min(per_unit(), *reinterpret_cast<const std::uint32_t*>(slot + SlotLayout::count));
}

void Feed::unit_ended(bool accepted) noexcept {
  ChannelHeader& header = channel_->header();
  *reinterpret_cast<std::uint32_t*>(channel_->slot(next()) + SlotLayout::rejected) = accepted ? 0 : 1;
  header.ended.fetch_add(1, std::memory_order_seq_cst);
  if (header.feeder_sleeps.load(std::memory_order_seq_cst) != 0) ring(header.feeder_bell);
}

std::optional<TimePoint> Feed::seen_feeder() const noexcept {
  const std::int64_t seen = channel_->header().feeder_alive.load(std::memory_order_acquire);
  return seen == 0 ? std::nullopt : std::optional(TimePoint(Duration(seen)));
}

}  // namespace weft
