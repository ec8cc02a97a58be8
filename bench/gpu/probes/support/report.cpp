// See report.h. The watchdog is a thread of its own that makes no call of CUDA: the others may all be stuck in one.
#include "report.h"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <thread>

#include "children.h"
#include "driver.h"
#include "gpu.h"

namespace probe {
namespace {

constexpr int skipped_code = 77, hung_code = 3;

std::atomic<const char*> question_at_risk{nullptr};

void print(const std::string& line) {
  std::fputs((line + "\n").c_str(), stdout);
  std::fflush(stdout);
}

void start_watchdog(const char* name, const Report& report, bool is_part, std::chrono::milliseconds limit) {
  std::thread([=, &report] {
    std::this_thread::sleep_for(limit);
    end_children();
    const char* question = question_at_risk.load();
    if (question == nullptr || is_part) {
      std::fprintf(stderr, "%s: hangs%s%s\n", name, question != nullptr ? " in " : "", question ? question : "");
      _exit(hung_code);
    }
    print(report.line(name, std::string("stalls in ") + question));
    _exit(0);
  }).detach();
}

Options parse(int argc, char** argv) {
  Options options;
  for (int index = 1; index < argc; ++index) {
    const std::string_view argument = argv[index];
    if (argument == "--quick") {
      options.quick = true;
    } else if (argument == "--part" && index + 1 < argc) {
      options.part.assign(argv + index + 1, argv + argc);
      return options;
    } else {
      std::fprintf(stderr, "usage: %s [--quick]\n", argv[0]);
      std::exit(2);
    }
  }
  return options;
}

}  // namespace

std::string quoted(std::string_view text) {
  std::string result = "\"";
  for (const char letter : text) {
    if (letter == '"' || letter == '\\') result += '\\';
    result += static_cast<unsigned char>(letter) < 0x20 ? ' ' : letter;
  }
  return result + "\"";
}

std::string number(double value) {
  return std::isfinite(value) ? format("%.9g", value) : "null";
}

std::string format(const char* pattern, ...) {
  va_list arguments;
  va_start(arguments, pattern);
  char text[1024];
  std::vsnprintf(text, sizeof text, pattern, arguments);
  va_end(arguments);
  return text;
}

void Report::add(std::string_view key, std::string_view text) {
  add_json(key, quoted(text));
}

void Report::add(std::string_view key, double value) {
  add_json(key, number(value));
}

void Report::add(std::string_view key, const std::vector<double>& numbers) {
  std::string json;
  for (const double each : numbers) json += (json.empty() ? "" : ",") + number(each);
  add_json(key, "[" + json + "]");
}

void Report::add(std::string_view key, const std::vector<std::string>& texts) {
  std::string json;
  for (const std::string& each : texts) json += (json.empty() ? "" : ",") + quoted(each);
  add_json(key, "[" + json + "]");
}

void Report::add_json(std::string_view key, std::string json) {
  const std::lock_guard lock(mutex_);
  const auto found =
      std::find_if(values_.begin(), values_.end(), [&](const auto& value) { return value.first == key; });
  if (found == values_.end()) {
    values_.emplace_back(key, std::move(json));
  } else {
    found->second = std::move(json);
  }
}

std::string Report::line(std::string_view probe, std::string_view fact) const {
  std::string values;
  const std::lock_guard lock(mutex_);
  for (const auto& [key, json] : values_) values += (values.empty() ? "" : ",") + quoted(key) + ":" + json;
  const DeviceName device = device_name();
  return "{\"probe\":" + quoted(probe) + ",\"device\":" + quoted(device.text) +
         ",\"simulated\":" + (device.simulated ? "true" : "false") + ",\"fact\":" + quoted(fact) + ",\"values\":{" +
         values + "}}";
}

bool answered(Report& report, const std::string& key, const std::function<void()>& ask) {
  try {
    ask();
    return true;
  } catch (const Skipped&) {
    throw;
  } catch (const std::exception& error) {
    report.add(key + "_error", error.what());
    return false;
  }
}

void ask_at_risk(const char* question) {
  question_at_risk = question;
}

int run_probe(int argc, char** argv, const char* name, const Measure& measure, std::chrono::milliseconds limit) {
  const Options options = parse(argc, argv);
  const bool is_part = !options.part.empty();
  static Report report;  // the watchdog may outlive this function
  start_watchdog(name, report, is_part, limit);
  int code = 0;
  try {
    const std::string fact = measure(options, report);
    print(is_part ? fact : report.line(name, fact));
  } catch (const Skipped& skipped) {
    print(is_part ? skipped.what() : "{\"probe\":" + quoted(name) + ",\"skipped\":" + quoted(skipped.what()) + "}");
    code = skipped_code;
  } catch (const std::exception& error) {
    if (is_part)
      print(error.what());  // for the process that started it
    else
      std::fprintf(stderr, "%s: %s\n", name, error.what());
    code = 1;
  }
  end_children();
  // Not exit(): work may still be on the device, and what ends it is the end of the process.
  _exit(code);
}

}  // namespace probe
