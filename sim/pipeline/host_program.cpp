// See host_program.h.
#include "sim/pipeline/host_program.h"

#include <algorithm>
#include <map>
#include <optional>
#include <tuple>
#include <utility>

namespace weft::pipeline {
namespace {

// The messages from one stage to another in one direction.
struct Lane {
  int from, to;
  bool forward;
  auto operator<=>(const Lane&) const = default;
};

bool goes_forward(const Piece& piece) {
  return piece.work == Work::forward;
}

// One number for each of the lanes, and for each two stages.
struct Numbers {
  std::map<Lane, int> channels;
  std::map<std::pair<int, int>, int> pairs;

  template <class Key>
  static int of(std::map<Key, int>& known, const Key& key) {
    return known.emplace(key, static_cast<int>(known.size())).first->second;
  }
};

// The copies next to a piece, by the numbers of the activations.
struct Copies {
  std::vector<std::size_t> reloads;  // begin before it
  std::optional<std::size_t> needed, offloaded;
};

std::vector<Copies> copies_of(const Orders& orders, const std::vector<Piece>& pieces) {
  std::vector<Copies> copies(pieces.size());
  std::size_t count = 0;
  for (std::size_t forward = 0; forward < pieces.size(); ++forward) {
    const Piece& piece = pieces[forward];
    if (!goes_forward(piece) || !orders.offloads[static_cast<std::size_t>(piece.stage)]) continue;
    const auto at = pieces.begin() + static_cast<std::ptrdiff_t>(forward);
    const auto back = std::find_if(at, pieces.end(), [&](const Piece& other) {
      const bool needs_it = other.work == Work::backward || other.work == Work::input_gradient;
      return needs_it && other.stage == piece.stage && other.microbatch == piece.microbatch;
    });
    const auto backward = static_cast<std::size_t>(back - pieces.begin());
    if (back == pieces.end() || backward - forward <= reloaded_ahead) continue;
    copies[forward].offloaded = copies[backward].needed = count;
    copies[backward - reloaded_ahead].reloads.push_back(count++);
  }
  return copies;
}

// Of one place. Streams and channels are the same in all kinds of iterations.
class Writer {
 public:
  Writer(const ProgramOptions& options, int place, Numbers& numbers)
      : options_(options), place_(place), numbers_(numbers) {}

  Program write(const Orders& orders) {
    orders_ = &orders;
    program_ = {};
    const std::vector<Piece>& pieces = orders.of_rank[static_cast<std::size_t>(place_)];
    const std::vector<Copies> copies = copies_of(orders, pieces);
    program_.trains = !std::all_of(pieces.begin(), pieces.end(), goes_forward);
    std::vector<Lane> out;  // that the piece before has left to send
    std::vector<std::size_t> needed = receive(pieces.front(), out);
    for (std::size_t i = 0; i < pieces.size(); ++i) {
      for (const std::size_t number : copies[i].reloads) add_copy(Step::Kind::reload, number);
      std::vector<std::size_t> next;
      if (options_.posts_ahead && i + 1 < pieces.size()) next = receive(pieces[i + 1], out);
      for (const std::size_t posted : needed) add({.kind = Step::Kind::wait, .posted = posted});
      if (copies[i].needed) add({.kind = Step::Kind::wait_for_copy, .posted = *copies[i].needed});
      add({.kind = Step::Kind::launch, .piece = pieces[i]});
      if (copies[i].offloaded) add_copy(Step::Kind::offload, *copies[i].offloaded);
      out = sent_by(pieces[i]);
      if (!options_.paired || i + 1 == pieces.size()) send_all(out);
      if (!options_.posts_ahead && i + 1 < pieces.size()) next = receive(pieces[i + 1], out);
      needed = std::move(next);
    }
    add_end();
    return std::move(program_);
  }
  std::size_t streams() const { return stream_count_; }

 private:
  void add(const Step& step) { program_.steps.push_back(step); }
  void add_copy(Step::Kind kind, std::size_t number) {
    program_.copies = std::max(program_.copies, number + 1);
    std::size_t& stream = kind == Step::Kind::offload ? to_host_ : from_host_;
    if (stream == 0) stream = stream_count_++;
    add({.kind = kind, .stream = stream, .posted = number});
  }
  void add_end() {
    if (sums_ == 0) sums_ = stream_count_++;
    const auto add_sum = [&](Step::Kind kind) { add({.kind = kind, .stream = sums_, .posted = program_.groups++}); };
    if (program_.trains) {
      add_sum(Step::Kind::stage_sum);
      add_sum(Step::Kind::whole_sum);
      add({.kind = Step::Kind::optimizer});
    } else {
      add_sum(Step::Kind::loss_sum);
    }
    add({.kind = Step::Kind::end});
  }
  int place_of(int stage) const { return orders_->rank_of_stage[static_cast<std::size_t>(stage)]; }
  const std::vector<int>& followers(int stage) const { return orders_->followers[static_cast<std::size_t>(stage)]; }
  const std::vector<int>& sources(int stage) const { return orders_->sources[static_cast<std::size_t>(stage)]; }

  std::vector<Lane> sent_by(const Piece& piece) const {
    std::vector<Lane> lanes;
    if (piece.work == Work::weight_gradient) return lanes;
    for (const int other : goes_forward(piece) ? followers(piece.stage) : sources(piece.stage))
      if (place_of(other) != place_) lanes.push_back({piece.stage, other, goes_forward(piece)});
    return lanes;
  }
  std::vector<Lane> needed_by(const Piece& piece) const {
    std::vector<Lane> lanes;
    if (piece.work == Work::weight_gradient) return lanes;
    for (const int other : goes_forward(piece) ? sources(piece.stage) : followers(piece.stage))
      if (place_of(other) != place_) lanes.push_back({other, piece.stage, goes_forward(piece)});
    return lanes;
  }

  // Posts what the piece needs, and on the way what is left to send; returns the numbers of the groups to wait for.
  std::vector<std::size_t> receive(const Piece& piece, std::vector<Lane>& out) {
    std::vector<std::size_t> posted;
    for (const Lane& in : needed_by(piece)) {
      Step step{.kind = Step::Kind::post, .stream = stream_of(in, false), .receive = message(in, false)};
      if (options_.paired && out.size() == 1 && out[0].forward != in.forward &&
          place_of(out[0].to) == place_of(in.from)) {
        step.send = message(out[0], true);
        out.clear();
      }
      send_all(out);
      posted.push_back(step.posted = program_.groups++);
      add(step);
    }
    send_all(out);
    return posted;
  }
  void send_all(std::vector<Lane>& out) {
    for (const Lane& lane : out)
      add({.kind = Step::Kind::post,
           .stream = stream_of(lane, true),
           .posted = program_.groups++,
           .send = message(lane, true)});
    out.clear();
  }

  Message message(const Lane& lane, bool sends) {
    return {Numbers::of(numbers_.channels, lane), place_of(sends ? lane.to : lane.from),
            Numbers::of(numbers_.pairs, std::minmax({lane.from, lane.to}))};
  }
  std::size_t stream_of(const Lane& lane, bool sends) {
    if (options_.paired) {
      stream_count_ = std::max<std::size_t>(stream_count_, 2);
      return 1;
    }
    const auto [known, is_new] = streams_.emplace(std::tuple(lane, sends), stream_count_);
    if (is_new) ++stream_count_;
    return known->second;
  }

  const Orders* orders_ = nullptr;
  const ProgramOptions& options_;
  const int place_;
  Numbers& numbers_;
  std::map<std::tuple<Lane, bool>, std::size_t> streams_;
  std::size_t stream_count_ = 1;
  std::size_t sums_ = 0, to_host_ = 0, from_host_ = 0;  // streams, 0: there is none yet
  Program program_;
};

}  // namespace

Programs programs_of(const std::vector<Orders>& kinds, const ProgramOptions& options) {
  Programs programs;
  Numbers numbers;
  for (int place = 0; place < static_cast<int>(kinds.front().of_rank.size()); ++place) {
    Writer writer(options, place, numbers);
    std::vector<Program>& of_kind = programs.of_place.emplace_back();
    for (const Orders& orders : kinds) of_kind.push_back(writer.write(orders));
    programs.streams.push_back(writer.streams());
  }
  programs.channels = numbers.channels.size();
  programs.pairs = numbers.pairs.size();
  programs.is_paired = options.paired;
  return programs;
}

}  // namespace weft::pipeline
