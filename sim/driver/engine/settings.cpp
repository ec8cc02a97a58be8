// The environment variables of the simulated GPU; see settings.h and the table in sim/README.md.
#include "engine/settings.h"

#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string_view>
#include <vector>

namespace simgpu {
namespace {

void complain(std::string_view name, std::string_view value, const char* wanted) {
  std::fprintf(stderr, "simgpu: %.*s=%.*s is ignored: %s\n", static_cast<int>(name.size()), name.data(),
               static_cast<int>(value.size()), value.data(), wanted);
}

// A number and what follows it. False when the text does not begin with a finite number.
bool parse_number(std::string_view text, double& number, std::string_view& rest) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || !std::isfinite(number)) return false;
  rest = text.substr(static_cast<std::size_t>(end - text.data()));
  return true;
}

bool parse_size(std::string_view text, std::size_t& bytes) {
  double number = 0;
  std::string_view unit;
  if (!parse_number(text, number, unit) || number < 0) return false;
  double factor = 1;
  if (unit == "KiB" || unit == "K") {
    factor = 1024.0;
  } else if (unit == "MiB" || unit == "M") {
    factor = 1024.0 * 1024;
  } else if (unit == "GiB" || unit == "G") {
    factor = 1024.0 * 1024 * 1024;
  } else if (!unit.empty() && unit != "B") {
    return false;
  }
  bytes = static_cast<std::size_t>(number * factor);
  return true;
}

bool parse_duration(std::string_view text, Duration& duration) {
  double number = 0;
  std::string_view unit;
  if (!parse_number(text, number, unit) || number < 0) return false;
  double factor = 0;
  if (unit == "ns") factor = 1;
  if (unit == "us") factor = 1e3;
  if (unit == "ms") factor = 1e6;
  if (unit == "s") factor = 1e9;
  if (factor == 0) return false;
  duration = Duration(std::llround(number * factor));
  return true;
}

std::optional<int> parse_driver_version(std::string_view text) {
  double number = 0;
  std::string_view rest;
  if (!parse_number(text, number, rest) || !rest.empty() || number < 1000 || number > 99999) return std::nullopt;
  return static_cast<int>(number);
}

// One of "alloc@N", "launch@N=CODE", "jitter=5%", "slow=F", "die@N". "link=..." belongs to the simulated NCCL.
bool parse_fault(std::string_view text, Faults& faults) {
  double number = 0;
  std::string_view rest;
  const auto after = [&](std::string_view prefix) {
    return text.starts_with(prefix) && parse_number(text.substr(prefix.size()), number, rest) && number >= 0;
  };
  if (text.starts_with("link=")) return true;
  if (after("alloc@")) {
    faults.failing_allocation = static_cast<uint64_t>(number);
    return rest.empty();
  }
  if (after("die@")) {
    faults.deadly_launch = static_cast<uint64_t>(number);
    return rest.empty();
  }
  if (after("launch@")) {
    faults.failing_launch = static_cast<uint64_t>(number);
    if (rest.empty()) return true;
    double code = 0;
    if (!rest.starts_with('=') || !parse_number(rest.substr(1), code, rest)) return false;
    faults.failing_launch_code = static_cast<int>(code);
    return rest.empty() && code > 0;
  }
  if (after("jitter=")) {
    faults.jitter = rest == "%" ? number / 100 : number;
    return (rest.empty() || rest == "%") && faults.jitter < 1;
  }
  if (after("slow=")) {
    faults.slowdown = number;
    return rest.empty() && number > 0;
  }
  return false;
}

void parse_faults(std::string_view text, Faults& faults) {
  while (!text.empty()) {
    const std::size_t comma = std::min(text.find(','), text.size());
    if (!parse_fault(text.substr(0, comma), faults))
      complain("SIMGPU_FAULTS", text.substr(0, comma), "not a known fault");
    text.remove_prefix(std::min(comma + 1, text.size()));
  }
}

struct Variable {
  std::string_view name;
  const char* wanted;
  std::function<bool(std::string_view, Settings&)> read;
};

template <class Number>
Variable number(std::string_view name, const char* wanted, Number Settings::*member, double least, double most) {
  return {name, wanted, [=](std::string_view text, Settings& settings) {
            double value = 0;
            std::string_view rest;
            if (!parse_number(text, value, rest) || !rest.empty() || value < least || value > most) return false;
            settings.*member = static_cast<Number>(value);
            return true;
          }};
}

Variable duration(std::string_view name, Duration Settings::*member) {
  return {name, "a time such as 5us is wanted",
          [=](std::string_view text, Settings& settings) { return parse_duration(text, settings.*member); }};
}

Variable text(std::string_view name, std::string Settings::*member) {
  return {name, "", [=](std::string_view value, Settings& settings) {
            settings.*member = value;
            return true;
          }};
}

// One of two words; the first one means true.
Variable choice(std::string_view name, std::string_view yes, std::string_view no, const char* wanted,
                bool QueueModel::*member) {
  return {name, wanted, [=](std::string_view text, Settings& settings) {
            settings.queue.*member = text == yes;
            return text == yes || text == no;
          }};
}

bool read_queue_depth(std::string_view text, Settings& settings) {
  double value = 0;
  std::string_view rest;
  if (!parse_number(text, value, rest) || !rest.empty() || value < 0 || value > 1e6) return false;
  settings.queue.depth = static_cast<unsigned>(value);
  return true;
}

std::vector<Variable> variables() {
  return {
      number("SIMGPU_DEVICES", "1 to 16 is wanted", &Settings::devices, 1, 16),
      {"SIMGPU_DRIVER_VERSION", "a version such as 12040 is wanted",  // see reported_driver_version()
       [](std::string_view value, Settings&) { return parse_driver_version(value).has_value(); }},
      {"SIMGPU_PROC_ADDRESS", "thunks is wanted",  // see gives_thunks()
       [](std::string_view value, Settings&) { return value == "thunks"; }},
      {"SIMGPU_TRACE_UNSUPPORTED", "", [](std::string_view, Settings&) { return true; }},  // the runtime reads it
      number("SIMGPU_SMS", "1 to 1024 is wanted", &Settings::multiprocessors, 1, 1024),
      number("SIMGPU_FLOPS", "a positive number is wanted", &Settings::flops, 1, 1e18),
      number("SIMGPU_BANDWIDTH", "bytes per second are wanted", &Settings::bandwidth, 1, 1e18),
      number("SIMGPU_HOST_BANDWIDTH", "bytes per second are wanted", &Settings::host_bandwidth, 1, 1e18),
      number("SIMGPU_TIME_SCALE", "a positive number is wanted", &Settings::time_scale, 1e-3, 1e6),
      number("SIMGPU_SEED", "a number is wanted", &Settings::seed, 0, 1e15),
      duration("SIMGPU_LAUNCH_LATENCY", &Settings::launch_latency),
      duration("SIMGPU_DEPENDENCY_GAP", &Settings::dependency_gap),
      duration("SIMGPU_WRITE_TIME", &Settings::write_time),
      duration("SIMGPU_RECORD_TIME", &Settings::record_time),
      duration("SIMGPU_COPY_LATENCY", &Settings::copy_latency),
      duration("SIMGPU_BLOCK_TIME", &Settings::block_time),
      text("SIMGPU_LOG", &Settings::log_directory),
      text("SIMGPU_KERNELS", &Settings::kernel_libraries),
      {"SIMGPU_MEMORY", "a size such as 16GiB is wanted",
       [](std::string_view value, Settings& settings) { return parse_size(value, settings.memory); }},
      {"SIMGPU_FAULTS", "",
       [](std::string_view value, Settings& settings) {
         parse_faults(value, settings.faults);
         return true;
       }},
      {"SIMGPU_QUEUE_DEPTH", "0 (no bound) to 1000000 is wanted", read_queue_depth},
      choice("SIMGPU_QUEUE_RECORD", "holds", "passes", "holds or passes is wanted", &QueueModel::record_holds),
      choice("SIMGPU_QUEUE_WRITE", "holds", "passes", "holds or passes is wanted", &QueueModel::write_holds),
      choice("SIMGPU_QUEUE_KERNEL", "holds", "passes", "holds or passes is wanted", &QueueModel::kernel_holds),
      choice("SIMGPU_QUEUE_WAIT", "holds", "passes", "holds or passes is wanted", &QueueModel::wait_holds),
      choice("SIMGPU_QUEUE_RECORD_BEHIND_WAIT", "holds", "passes", "holds or passes is wanted",
             &QueueModel::record_behind_wait_holds),
      choice("SIMGPU_QUEUE_GRAPH", "holds", "passes", "holds or passes is wanted", &QueueModel::graph_holds),
      choice("SIMGPU_HOST_WAIT_LAUNCH", "holds", "passes", "holds or passes is wanted",
             &QueueModel::launch_waits_for_host),
      choice("SIMGPU_HOST_WAIT", "all", "before", "all or before is wanted", &QueueModel::host_waits_for_later),
      choice("SIMGPU_QUEUE_PRIORITY", "shared", "own", "shared or own is wanted", &QueueModel::priorities_share),
      choice("SIMGPU_QUEUE_GREEN_CONTEXT", "shared", "own", "shared or own is wanted",
             &QueueModel::green_contexts_share),
      {"SIMGPU_HAZARDS", "stall, measured or log is wanted",
       [](std::string_view value, Settings& settings) {
         settings.stall_on_hazard = value != "log";
         settings.stall_as_measured = value == "measured";
         return value == "stall" || value == "measured" || value == "log";
       }},
      {"SIMGPU_SCHEDULING", "normal or realtime is wanted",
       [](std::string_view value, Settings& settings) {
         settings.realtime = value == "realtime";
         return value == "normal" || value == "realtime";
       }},
  };
}

// Everything that is modelled takes longer by the same factor.
void apply_time_scale(Settings& settings) {
  const auto scale = [&](Duration& value) {
    value = Duration(std::llround(static_cast<double>(value.count()) * settings.time_scale));
  };
  scale(settings.launch_latency);
  scale(settings.dependency_gap);
  scale(settings.write_time);
  scale(settings.record_time);
  scale(settings.copy_latency);
  scale(settings.block_time);
  settings.flops /= settings.time_scale;
  settings.bandwidth /= settings.time_scale;
  settings.host_bandwidth /= settings.time_scale;
}

void read_cuda_variables(Settings& settings) {
  if (const char* connections = std::getenv("CUDA_DEVICE_MAX_CONNECTIONS")) {
    const int value = std::atoi(connections);
    if (value >= 1 && value <= 32) settings.connections = static_cast<unsigned>(value);
  }
  if (const char* blocking = std::getenv("CUDA_LAUNCH_BLOCKING")) settings.launch_blocking = blocking[0] == '1';
  if (const char* loading = std::getenv("CUDA_MODULE_LOADING")) {
    settings.eager_loading = std::string_view(loading) == "EAGER";
  }
}

}  // namespace

Settings read_settings() {
  Settings settings;
  const std::vector<Variable> known = variables();
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string_view line(*entry);
    // The simulated NCCL and CUPTI read their own.
    if (!line.starts_with("SIMGPU_") || line.starts_with("SIMGPU_NCCL_") || line.starts_with("SIMGPU_CUPTI=")) continue;
    const std::size_t equals = std::min(line.find('='), line.size());
    const std::string_view name = line.substr(0, equals);
    const std::string_view value = line.substr(std::min(equals + 1, line.size()));
    const auto variable = std::find_if(known.begin(), known.end(), [&](const Variable& v) { return v.name == name; });
    if (variable == known.end()) {
      complain(name, value, "no variable of the simulated GPU has this name");
    } else if (!value.empty() && !variable->read(value, settings)) {
      complain(name, value, variable->wanted);
    }
  }
  read_cuda_variables(settings);
  apply_time_scale(settings);
  return settings;
}

int reported_driver_version() {
  static const int version = [] {
    const char* text = std::getenv("SIMGPU_DRIVER_VERSION");
    return parse_driver_version(text == nullptr ? "" : text).value_or(CUDA_VERSION);
  }();
  return version;
}

bool gives_thunks() {
  static const bool thunks = [] {
    const char* text = std::getenv("SIMGPU_PROC_ADDRESS");
    return text != nullptr && std::string_view(text) == "thunks";
  }();
  return thunks;
}

}  // namespace simgpu
