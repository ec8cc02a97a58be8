// See ledger_progress.h.
#include "feeder/ledger_progress.h"

#include <algorithm>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <string_view>

#include "feeder/files/folder.h"
#include "feeder/files/open_file.h"
#include "feeder/files/results_folder.h"

namespace weft {
namespace {

// Of the records of one shard, which are in front of its file.
std::uint64_t marks_in(const std::string& path, std::uint64_t records) {
  try {
    const OpenFile file(path);
    const std::string marks = file.text(0, std::min(records, file.bytes()));
    return static_cast<std::uint64_t>(std::ranges::count(marks, '\1'));
  } catch (const FileError&) {
    return 0;  // it has gone to another place
  }
}

}  // namespace

std::optional<LedgerProgress> progress_of(const std::string& results) {
  const std::string folder = path_of_results(results) + ".weft";
  std::ifstream file(folder + "/plan.json");
  const nlohmann::json plan = nlohmann::json::parse(file, nullptr, false);
  if (!plan.is_object() || !plan.contains("records") || !plan["records"].is_number_unsigned() ||
      !plan.contains("shard") || !plan["shard"].is_number_unsigned())
    return std::nullopt;
  LedgerProgress progress{plan["records"], 0, is_there(folder + "/published")};
  const std::uint64_t size = plan["shard"];
  if (progress.is_published) progress.done = progress.records;
  if (progress.is_published || size == 0) return progress;
  const auto records_of = [&](std::uint64_t shard) {
    return shard * size < progress.records ? std::min(size, progress.records - shard * size) : 0;
  };
  std::map<std::uint64_t, std::uint64_t> done;  // by shard: of several files the one with the most
  for (const std::string& place : {std::string("todo"), std::string("running"), std::string("done"),
                                   std::string("shards")}) {  // the last one: where Redis keeps the claims
    const std::string path = folder + "/" + place + "/";
    if (!is_there(path)) continue;
    for (const std::string& name : names_in(path)) {
      const auto shard = number_of(std::string_view(name).substr(0, name.find('.')));
      if (!shard || name.ends_with(".new")) continue;
      const std::uint64_t records = records_of(*shard);
      done[*shard] = std::max(done[*shard], place == "done" ? records : marks_in(path + name, records));
    }
  }
  for (const auto& [shard, records] : done) progress.done += records;
  progress.done = std::min(progress.done, progress.records);
  return progress;
}

}  // namespace weft
