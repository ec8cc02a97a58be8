// Writes the pages of a made-up run of as many ranks as wanted, as a running job does: for tests of `weft top` on a
// terminal, and to look at it.
//   page_writer FOLDER RANKS [SECONDS]   SECONDS: writes them anew once a second, for so long
#include <fcntl.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <thread>

#include "tests/trace/live/sample_pages.h"
#include "trace/write/clocks.h"
#include "trace/write/own_process.h"

namespace {

// As the writer thread of a trace does: never an empty file in between.
void write_over(const std::string& path, const weft::LivePage& page) {
  const int file = ::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
  if (file < 0 || ::pwrite(file, &page, sizeof page, 0) != static_cast<ssize_t>(sizeof page)) std::perror(path.c_str());
  ::close(file);
}

// Of this machine and this moment, with the process that writes them: so they are running.
void write(const std::string& folder, std::int32_t ranks, std::uint64_t second) {
  const weft::LiveObserver here = weft::observer_here();
  const std::int64_t process = ::getpid();
  for (weft::LivePageOf& one : weft::test::sample_pages(ranks)) {
    weft::LiveIdentity& identity = one.page.identity;
    weft::LiveNumbers& numbers = one.page.numbers;
    const std::int64_t age = weft::test::sample_now - numbers.time, run = numbers.time - identity.started;
    identity.process = process;
    identity.process_namespace = weft::own_process_namespace();
    const bool is_gone = identity.process_started == 1;
    identity.process_started = is_gone ? 1 : weft::start_of_process(process).value_or(0);
    weft::set_text(identity.boot, here.boot);
    identity.clock_offset_known = here.clock_offset ? 1 : 0;
    identity.clock_offset = here.clock_offset.value_or(weft::Duration{}).count();
    numbers.time = here.monotonic.count() - age;
    identity.started = std::max<std::int64_t>(numbers.time - run, 0);
    identity.wall_clock = here.wall_clock.count() - age - (numbers.time - identity.started);
    numbers.iterations += second;
    seal(one.page, second + 1);
    const std::string path = folder + "/rank" + std::to_string(identity.rank) + "." + std::to_string(process) + ".live";
    write_over(path, one.page);
  }
}

}  // namespace

int main(int count, char** values) {
  if (count < 3) {
    std::fputs("usage: page_writer FOLDER RANKS [SECONDS]\n", stderr);
    return 2;
  }
  std::filesystem::create_directories(values[1]);
  const int seconds = count > 3 ? std::atoi(values[3]) : 0;
  for (int second = 0; second <= seconds; ++second) {
    write(values[1], std::atoi(values[2]), static_cast<std::uint64_t>(second));
    if (second < seconds) std::this_thread::sleep_for(std::chrono::seconds(1));
  }
  return 0;
}
