// Holds the names of a training's messages against its own schedule.
//   named_messages TRACES REPORTS [LEAST]
// TRACES has the traces of a training, REPORTS a file for each rank, rank0.json and so on, with the messages of one
// iteration: of examples/trainer what it wrote with --report. Prints how many messages in iterations have the right
// name, one that says less, a wrong one. Exit code 1 where one is wrong, or less than LEAST (99) percent are right.
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "trace/names/names.h"
#include "trace/names/slot_places.h"
#include "trace/read/reader.h"

namespace weft {
namespace {

using nlohmann::json;

struct Score {
  std::uint64_t right = 0, less = 0, wrong = 0;
};

struct Rank {
  std::int64_t rank = 0, ranks = 0;
  SlotPlaces places;
  json exchanges;
};

// The header of a trace, on the way to the rest.
class Reading : public TraceSink {
 public:
  explicit Reading(Rank& rank) : rank_(rank) {}
  void header(const TraceHeader& header, const TraceLine& line) override {
    rank_.rank = header.rank;
    rank_.ranks = header.ranks;
    rank_.places.header(header, line);
  }
  void record(const Record& record, const TraceLine& line) override { rank_.places.record(record, line); }
  void summary(const TraceSummary&, const TraceLine&) override {}

 private:
  Rank& rank_;
};

std::vector<std::unique_ptr<Rank>> read(const std::string& traces, const std::string& reports) {
  std::vector<std::unique_ptr<Rank>> ranks;
  for (const auto& entry : std::filesystem::directory_iterator(traces)) {
    if (entry.path().extension() != ".jsonl") continue;
    Rank& rank = *ranks.emplace_back(std::make_unique<Rank>());
    Reading reading(rank);
    read_trace(entry.path().string(), reading);
    rank.places.finish();
    std::ifstream report(reports + "/rank" + std::to_string(rank.rank) + ".json");
    rank.exchanges = json::parse(report).at("exchanges");
  }
  return ranks;
}

bool is_right(const MessageName& name, const json& truth, int microbatches) {
  return name.is_gradient == (truth.at("payload") == "gradient") &&
         name.is_received == (truth.at("way") == "receive") && name.microbatch == truth.at("microbatch") &&
         name.chunk == truth.at("chunk") && name.peer_rank == truth.at("peer").get<std::int64_t>() &&
         name.microbatches == microbatches;
}

int microbatches_of(const json& exchanges) {
  int most = 0;
  for (const json& exchange : exchanges)
    for (const json& message : exchange) most = std::max(most, message.at("microbatch").get<int>() + 1);
  return most;
}

// The k-th group with messages of an iteration is the k-th exchange.
void add(Score& score, const RunNames& names, std::size_t trace, const Rank& rank) {
  const int microbatches = microbatches_of(rank.exchanges);
  const auto& shapes = rank.places.iterations().shapes();
  for (std::uint32_t shape = 0; shape < shapes.size(); ++shape) {
    const std::vector<GroupName> named = names.groups(trace, shape);
    std::size_t exchange = 0;
    for (std::size_t place = 0; place < named.size(); ++place) {
      const auto& operations = shapes[shape].groups[place].operations;
      if (!names::is_message(operations[0].kind)) continue;
      const json& truth = rank.exchanges.at(exchange++);
      for (std::size_t i = 0; i < operations.size(); ++i) {
        const std::optional<MessageName>& message = named[place].operations[i].message;
        std::uint64_t& count = !message                                        ? score.less
                               : is_right(*message, truth.at(i), microbatches) ? score.right
                                                                               : score.wrong;
        count += shapes[shape].iterations;
        if (message && &count == &score.wrong)
          std::printf("rank %lld: %s, in truth %s\n", static_cast<long long>(rank.rank),
                      named[place].operations[i].text.c_str(), truth.at(i).dump().c_str());
      }
    }
    if (exchange != rank.exchanges.size()) ++score.wrong, std::printf("an iteration has other exchanges\n");
  }
}

int main_of(const std::string& traces, const std::string& reports, std::uint64_t least) {
  const std::vector<std::unique_ptr<Rank>> ranks = read(traces, reports);
  std::vector<names::NamedRank> named;
  for (const auto& rank : ranks) named.push_back({rank->rank, rank->ranks, &rank->places.iterations()});
  const RunNames names(named);
  Score score;
  for (std::size_t trace = 0; trace < ranks.size(); ++trace) add(score, names, trace, *ranks[trace]);
  const std::uint64_t all = score.right + score.less + score.wrong;
  std::printf("%llu messages: %llu right, %llu say less, %llu wrong\n", static_cast<unsigned long long>(all),
              static_cast<unsigned long long>(score.right), static_cast<unsigned long long>(score.less),
              static_cast<unsigned long long>(score.wrong));
  for (const std::string& note : names.notes()) std::printf("%s\n", note.c_str());
  return score.wrong == 0 && all > 0 && 100 * score.right >= least * all ? 0 : 1;
}

}  // namespace
}  // namespace weft

int main(int argc, char** argv) {
  if (argc < 3 || argc > 4) return std::fputs("usage: named_messages TRACES REPORTS [LEAST]\n", stderr), 2;
  return weft::main_of(argv[1], argv[2], argc == 4 ? std::stoull(argv[3]) : 99);
}
