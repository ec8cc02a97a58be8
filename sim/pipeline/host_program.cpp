// See host_program.h.
#include "sim/pipeline/host_program.h"

#include <map>
#include <tuple>

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

class Writer {
 public:
  Writer(const Orders& orders, const ProgramOptions& options, int place, std::map<Lane, int>& channels)
      : orders_(orders), options_(options), place_(place), channels_(channels) {}

  Program write() {
    const std::vector<Piece>& pieces = orders_.of_rank[static_cast<std::size_t>(place_)];
    std::vector<Lane> out;  // that the piece before has left to send
    std::vector<std::size_t> needed = receive(pieces.front(), out);
    for (std::size_t i = 0; i < pieces.size(); ++i) {
      std::vector<std::size_t> next;
      if (options_.posts_ahead && i + 1 < pieces.size()) next = receive(pieces[i + 1], out);
      for (const std::size_t posted : needed) add({.kind = Step::Kind::wait, .posted = posted});
      add({.kind = Step::Kind::launch, .piece = pieces[i]});
      out = sent_by(pieces[i]);
      if (!options_.paired || i + 1 == pieces.size()) send_all(out);
      if (!options_.posts_ahead && i + 1 < pieces.size()) next = receive(pieces[i + 1], out);
      needed = std::move(next);
    }
    add({.kind = Step::Kind::stage_sum, .stream = sums(), .posted = program_.groups++});
    add({.kind = Step::Kind::whole_sum, .stream = sums(), .posted = program_.groups++});
    add({.kind = Step::Kind::optimizer});
    add({.kind = Step::Kind::end});
    return std::move(program_);
  }

 private:
  void add(const Step& step) { program_.steps.push_back(step); }
  int place_of(int stage) const { return orders_.rank_of_stage[static_cast<std::size_t>(stage)]; }
  const std::vector<int>& followers(int stage) const { return orders_.followers[static_cast<std::size_t>(stage)]; }
  const std::vector<int>& sources(int stage) const { return orders_.sources[static_cast<std::size_t>(stage)]; }

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
    const int number = channels_.emplace(lane, static_cast<int>(channels_.size())).first->second;
    return {number, place_of(sends ? lane.to : lane.from)};
  }
  std::size_t stream_of(const Lane& lane, bool sends) {
    if (options_.paired) {
      program_.streams = 2;
      return 1;
    }
    const auto [known, is_new] = streams_.emplace(std::tuple(lane, sends), program_.streams);
    if (is_new) ++program_.streams;
    return known->second;
  }
  std::size_t sums() {
    if (sums_ == 0) sums_ = program_.streams++;
    return sums_;
  }

  const Orders& orders_;
  const ProgramOptions& options_;
  const int place_;
  std::map<Lane, int>& channels_;
  std::map<std::tuple<Lane, bool>, std::size_t> streams_;
  std::size_t sums_ = 0;
  Program program_;
};

}  // namespace

Programs programs_of(const Orders& orders, const ProgramOptions& options) {
  Programs programs;
  std::map<Lane, int> channels;
  for (int place = 0; place < static_cast<int>(orders.of_rank.size()); ++place)
    programs.of_place.push_back(Writer(orders, options, place, channels).write());
  programs.channels = channels.size();
  return programs;
}

}  // namespace weft::pipeline
