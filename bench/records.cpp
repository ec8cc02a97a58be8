// How many records the feeder and its ledger can move: `bench_records ledger FOLDER [redis+unix:///SOCKET]` claims and
// finishes all shards of files of records without working on any, by 1 to 64 processes, with the claims in the folder
// or in Redis; `bench_records channel FOLDER` feeds one rank that does nothing with its records. FOLDER is on the file
// system that is asked about. Prints a table in Markdown.
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "feeder/feeder.h"
#include "feeder/files/array_file.h"
#include "feeder/ledger.h"
#include "runner/clock.h"
#include "runner/feed/feed.h"

namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;
using weft::Duration;
using weft::Ledger;

double seconds(Duration time) {
  return std::chrono::duration<double>(time).count();
}

weft::LedgerPlan plan_of(std::uint64_t records, const std::string& server) {
  const std::string claims = server.empty() ? "" : server + "#bench";
  return {"{\"job\": \"bench\"}", records, std::max<std::uint64_t>(records / 4096, 16), claims};
}

// By so many processes at once.
Duration claim_all(const std::string& results, const weft::LedgerPlan& plan, int claimants) {
  const weft::TimePoint began = weft::now();
  for (int claimant = 0; claimant < claimants; ++claimant) {
    if (::fork() != 0) continue;
    Ledger ledger(results, plan);
    while (const auto shard = ledger.claims().claim(weft::Claims::From::anywhere)) ledger.claims().finish(*shard);
    ::_exit(0);
  }
  while (::wait(nullptr) > 0) continue;
  return weft::now() - began;
}

void time_ledger(const fs::path& folder, const std::string& server) {
  std::puts("| records | shards | claimants | made in | all claimed and finished in | shards/s | records/s |");
  std::puts("|---|---|---|---|---|---|---|");
  for (const std::uint64_t records : {10'000ULL, 100'000ULL, 1'000'000ULL, 10'000'000ULL, 100'000'000ULL})
    for (const int claimants : {1, 8, 64}) {
      const std::string results = (folder / "ledger").string();
      fs::remove_all(results + ".weft");
      const weft::TimePoint began = weft::now();
      const weft::LedgerPlan plan = plan_of(records, server);
      const std::uint64_t shards = Ledger(results, plan).shards();
      const Duration made = weft::now() - began, claimed = claim_all(results, plan, claimants);
      std::printf("| %llu | %llu | %d | %.3f s | %.3f s | %.0f | %.3g |\n", static_cast<unsigned long long>(records),
                  static_cast<unsigned long long>(shards), claimants, seconds(made), seconds(claimed),
                  static_cast<double>(shards) / seconds(claimed), static_cast<double>(records) / seconds(claimed));
      fs::remove_all(results + ".weft");
    }
}

// Until all have their results; outputs as large as inputs.
Duration feed_all(const fs::path& folder, const std::string& meet, std::uint64_t bytes, std::uint32_t per_unit) {
  weft::Feed feed({meet, (folder / "in.npy").string(), (folder / "out.npy").string(), "", ""}, "/proc/self/exe");
  const weft::Tensor tensor = weft::make_tensor("x", WEFT_UINT8, &bytes, 1);
  feed.set_records(per_unit);
  feed.add_input(tensor);
  feed.add_output(tensor);
  feed.begin(std::uint64_t{1} << 30);
  const weft::TimePoint began = weft::now();
  while (!feed.is_over()) {
    if (feed.has_next())
      feed.unit_ended(true);
    else
      std::this_thread::sleep_for(50us);
  }
  if (feed.has_failed()) std::fprintf(stderr, "%s\n", feed.why().c_str());
  return weft::now() - began;
}

void time_channel(const fs::path& folder) {
  std::string meet = "/dev/shm/weft-bench-XXXXXX";
  if (::mkdtemp(meet.data()) == nullptr) std::exit(1);
  std::puts("| bytes of a record | records | of a unit | all fed and written in | records/s | units/s | MB/s |");
  std::puts("|---|---|---|---|---|---|---|");
  std::atomic<bool> stop{false};
  std::thread feeder([&] {
    weft::Feeder(meet, &weft::open_records, [](const weft::Channel& channel) {
      return channel.header().closed == 0;
    }).run(stop);
  });
  for (const auto& [bytes, records] :
       {std::pair{64ULL, 1'000'000ULL}, std::pair{4096ULL, 100'000ULL}, std::pair{262'144ULL, 4'000ULL}}) {
    const std::uint64_t shape[] = {records, bytes};
    std::ofstream(folder / "in.npy", std::ios::binary)
        << weft::npy_begin(weft::make_tensor("x", WEFT_UINT8, shape, 2)) << std::string(records * bytes, 'x');
    for (const std::uint32_t per_unit : {8U, 64U}) {
      const Duration took = feed_all(folder, meet, bytes, per_unit);
      std::printf("| %llu | %llu | %u | %.2f s | %.0f | %.0f | %.0f |\n", bytes, records, per_unit, seconds(took),
                  static_cast<double>(records) / seconds(took), static_cast<double>(records) / per_unit / seconds(took),
                  static_cast<double>(records * bytes) / seconds(took) / 1e6);
      fs::remove_all(folder / "out.npy.weft");
      fs::remove(folder / "out.npy");
    }
  }
  stop = true;
  feeder.join();
  fs::remove_all(meet);
  fs::remove(folder / "in.npy");
}

}  // namespace

int main(int count, char** arguments) {
  const std::string what = count >= 3 ? arguments[1] : "";
  if (what == "ledger" && count <= 4) return time_ledger(arguments[2], count == 4 ? arguments[3] : ""), 0;
  if (what == "channel" && count == 3) return time_channel(arguments[2]), 0;
  std::fputs("bench_records ledger FOLDER [redis+unix:///SOCKET] | bench_records channel FOLDER\n", stderr);
  return 2;
}
