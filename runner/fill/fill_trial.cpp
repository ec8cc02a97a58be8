// Starting the fill probe and reading its verdict; see the header.
#include "runner/fill/fill_trial.h"

#include <fcntl.h>
#include <linux/futex.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <memory>
#include <string_view>
#include <vector>

#include "runner/clock.h"
#include "runner/fill/file_identity.h"
#include "runner/fill/trial_guardian.h"
#include "runner/options/probe_request.h"

namespace weft {
namespace {

using namespace std::chrono_literals;

constexpr int transcript_descriptor = 3;  // of the probe
constexpr std::size_t stack_bytes = 64 * 1024;
constexpr std::size_t most_transcript = 64 * 1024;
constexpr Duration look_every = 20ms;
constexpr Duration longest_end = 2s;  // of a probe that was killed

// LD_PRELOAD without libweft.so; others in it may be there for a reason (a sanitizer, another allocator).
std::string preload_without_weft(std::string_view value) {
  std::string kept;
  while (!value.empty()) {
    const std::size_t end = std::min(value.find_first_of(": "), value.size());
    const std::string_view entry = value.substr(0, end);
    if (!entry.empty() && !entry.ends_with("libweft.so")) kept += (kept.empty() ? "" : ":") + std::string(entry);
    value.remove_prefix(std::min(end + 1, value.size()));
  }
  return kept;
}

std::vector<char*> pointers_to(std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  for (std::string& text : texts) pointers.push_back(text.data());
  pointers.push_back(nullptr);
  return pointers;
}

std::vector<std::string> command(const std::string& probe, const FillSettings& settings, Duration limit) {
  const ConfineOptions& confine = settings.unit.confine;
  ProbeRequest request;
  request.device = static_cast<std::uint64_t>(settings.lane.device);
  request.uuid = settings.uuid;
  request.path = settings.spec.path;
  request.arguments = settings.spec.arguments;
  request.input = settings.feed.input;
  request.results = settings.feed.results;
  request.weights = settings.feed.weights;
  request.memory = settings.memory;
  request.max_blocks = confine.max_blocks;
  request.reserved = confine.reserved;
  request.slice_cap = static_cast<std::uint64_t>(settings.unit.slice_cap.count());
  request.limit = static_cast<std::uint64_t>(std::chrono::floor<std::chrono::seconds>(limit).count() + 1);
  request.confine = confine_names[static_cast<std::size_t>(confine.wish)];
  request.stream = name_of(settings.lane.stream);
  request.one_queue = settings.asks_machine ? name_of(settings.wish) : "";
  std::vector<std::string> texts = arguments_of(request);
  texts.insert(texts.begin(), probe);
  return texts;
}

// Everything that the guardian and the probe read, on pages of its own. Where the guardian does not end, it stays.
class Trial {
 public:
  Trial(const ProbeProgram& probe, const FillSettings& settings, Duration limit)
      : texts_(command(probe.path, settings, limit)),
        environment_texts_(probe.environment),
        arguments_(pointers_to(texts_)),
        environment_(pointers_to(environment_texts_)) {
    task_.program = texts_.front().c_str();
    task_.arguments = arguments_.data();
    task_.environment = environment_.data();
    task_.deadline = (now() + limit).time_since_epoch().count();
    task_.rank = ::getpid();
    task_.transcript = above_the_standard_ones(::memfd_create("weft-trial", MFD_CLOEXEC));
    transcript_ = FileIdentity::of(task_.transcript);
    stacks_ = ::mmap(nullptr, 2 * stack_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  }
  ~Trial() {
    if (transcript_.is_behind(task_.transcript)) ::close(task_.transcript);
    if (stacks_ != MAP_FAILED) ::munmap(stacks_, 2 * stack_bytes);
  }
  Trial(const Trial&) = delete;
  Trial& operator=(const Trial&) = delete;

  bool start() {
    if (task_.transcript < 0 || stacks_ == MAP_FAILED) return false;
    std::byte* const stacks = static_cast<std::byte*>(stacks_);
    task_.probe_stack = stacks + stack_bytes;
    // It has the main job's signal handlers and shares its memory: none of them may run there.
    sigset_t all, before;
    sigfillset(&all);
    ::pthread_sigmask(SIG_SETMASK, &all, &before);
    guardian_ = start_guardian(task_, stacks + 2 * stack_bytes);
    ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
    return guardian_ > 0;
  }

  // Until guardian and probe have ended, sooner when `stop` is set. False: they have not.
  bool wait(TimePoint until, const std::atomic<bool>& stop) {
    for (int process = task_.process; process != 0; process = task_.process) {
      if (now() >= until) return false;
      if (stop) task_.stop = true;
      const timespec limit{0, look_every.count()};
      ::syscall(SYS_futex, &task_.process, FUTEX_WAIT, process, &limit, nullptr, 0);
    }
    // A wait of the main job with __WALL may have been there first.
    while (::waitpid(static_cast<pid_t>(guardian_), nullptr, static_cast<int>(__WCLONE)) < 0 && errno == EINTR) {
    }
    return true;
  }

  ProbeEnd end() const { return task_.end; }
  std::string transcript() const {
    if (!transcript_.is_behind(task_.transcript)) return {};
    std::string text(most_transcript, '\0');
    const ssize_t size = ::pread(task_.transcript, text.data(), text.size(), 0);
    text.resize(static_cast<std::size_t>(std::max<ssize_t>(size, 0)));
    return text;
  }

 private:
  static int above_the_standard_ones(int descriptor) {
    if (descriptor < 0) return descriptor;
    const int higher = ::fcntl(descriptor, F_DUPFD_CLOEXEC, transcript_descriptor + 1);
    ::close(descriptor);
    return higher;
  }

  std::vector<std::string> texts_, environment_texts_;
  std::vector<char*> arguments_, environment_;
  GuardianTask task_;
  FileIdentity transcript_;
  void* stacks_ = MAP_FAILED;
  long guardian_ = 0;
};

// A fault that lies with this process or its GPU.
TrialVerdict not_tried(const std::string& why) {
  return {"the fill job cannot be tried: " + why, {}, true};
}

}  // namespace

ProbeProgram::ProbeProgram(std::string file, const Variables& variables) : path(std::move(file)) {
  for (const auto& [name, value] : variables)
    if (name != "WEFT")
      environment.push_back(name + "=" + (name == "LD_PRELOAD" ? preload_without_weft(value) : value));
  environment.emplace_back("WEFT=off");
}

TrialVerdict verdict_of(const std::string& path, const std::string& transcript, bool timed_out, Duration limit) {
  TrialVerdict verdict;
  bool about_job = timed_out;
  std::string step = "before init";
  std::string_view rest = transcript;
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find('\n'), rest.size());
    const std::string_view line = rest.substr(0, end);
    if (line == "ok") return verdict;
    if (line == "lacks memory") verdict.lacks_memory = true;
    if (line.starts_with("failed ")) return {std::string(line.substr(7)), {}, !about_job, {}, verdict.lacks_memory};
    if (line.starts_with("at ")) {
      step = "in " + std::string(line.substr(3));
      about_job = true;
    }
    if (line.starts_with("found ")) verdict.found = line.substr(6);
    if (line.starts_with("movable ")) verdict.movable = std::strtoull(line.data() + 8, nullptr, 10);
    if (line.starts_with("prepared ")) verdict.preparation = Duration(std::atoll(line.data() + 9));
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  const std::string job = "fill job " + path;
  if (!timed_out) return {job + " crashed " + step + " (in a trial process)", {}, !about_job};
  return {job + " hung " + step + ": its trial took longer than " +
              std::to_string(std::chrono::duration_cast<std::chrono::seconds>(limit).count()) + " s",
          {}};
}

std::optional<TrialVerdict> try_fill_job(const ProbeProgram& probe, const FillSettings& settings, Duration limit,
                                         const std::atomic<bool>& stop) {
  auto trial = std::make_unique<Trial>(probe, settings, limit);
  if (!trial->start()) return not_tried("no process for it");
  const bool gone = trial->wait(now() + limit + longest_end, stop);
  const ProbeEnd end = trial->end();
  const std::string transcript = trial->transcript();
  if (!gone) [[maybe_unused]]
    const Trial* const left = trial.release();
  if (end == ProbeEnd::stopped) return std::nullopt;
  if (end == ProbeEnd::not_started) return not_tried(probe.path + " does not start");
  if (end == ProbeEnd::none) return not_tried(gone ? "its guardian was killed" : "its guardian does not end");
  return verdict_of(settings.spec.path, transcript, end == ProbeEnd::overdue, limit);
}

}  // namespace weft
