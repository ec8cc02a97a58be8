// Reading the log and asking it; see the header.
#include "truth/truth.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <utility>

namespace simgpu {
namespace {

using nlohmann::json;

std::int64_t integer(const json& record, const char* key) {
  const auto found = record.find(key);
  return found != record.end() && found->is_number_integer() ? found->get<std::int64_t>() : 0;
}

std::string text(const json& record, const char* key) {
  const auto found = record.find(key);
  return found != record.end() && found->is_string() ? found->get<std::string>() : "";
}

bool is_fill(const json& record) {
  return text(record, "thread").starts_with("weft");
}

// Sets and copies within the device run on the multiprocessors, as kernels do; the others on copy engines.
bool is_compute(const json& record) {
  const std::string kind = text(record, "kind");
  return text(record, "type") == "kernel" || kind == "set" || kind == "d2d";
}

bool is_communication(const json& kernel) {
  return text(kernel, "name").starts_with("ncclDevKernel") || kernel.value("spin", json()) == true;
}

Interval residence(const json& record, Times times) {
  if (times == Times::told && record.contains("end_told"))
    return {integer(record, "start_told"), integer(record, "end_told")};
  return {integer(record, "start"), integer(record, "end")};
}

// As if it had started when it was due.
Interval from_due(const json& record, Interval resident) {
  const std::int64_t held = record.contains("due") ? integer(record, "start") - integer(record, "due") : 0;
  return {resident.begin - std::max<std::int64_t>(held, 0), resident.end};
}

void take(const json& record, Times times, TruthLog& log) {
  const std::string type = text(record, "type");
  const Interval resident = residence(record, times);
  if (type == "hazard" && is_fill(record)) ++log.fill_hazards;
  // While NCCL connects to a peer the host is kept in the call and no kernel runs yet: communication all the same.
  if (type == "connection") {
    log.communication.push_back(resident);
    log.due_communication.push_back(resident);
  }
  if (type != "kernel" && type != "copy") return;
  if (is_fill(record)) {
    log.fill.push_back(resident);
    if (type == "kernel") ++log.fill_kernels;
  } else if (!is_compute(record)) {
    log.copies.push_back(resident);
  } else if (is_communication(record)) {
    log.communication.push_back(resident);
    log.due_communication.push_back(from_due(record, resident));
  } else {
    log.compute.push_back(resident);
  }
}

void take_header(const json& header, const std::string& path, TruthLog& log) {
  if (text(header, "format") != "simgpu-log" || integer(header, "version") != 1)
    throw std::runtime_error(path + " is not a log of the simulated GPU, version 1");
  log.process = integer(header, "pid");
  log.device = integer(header, "device");
}

}  // namespace

TruthLog read_truth_log(const std::string& path, Times times) {
  std::ifstream in(path, std::ios::binary);
  if (!in) throw std::runtime_error(path + " cannot be read: " + std::strerror(errno));
  TruthLog log;
  bool headed = false;
  std::string line;
  while (std::getline(in, line) && !in.eof()) {
    const json record = json::parse(line, nullptr, false);
    if (!headed) {
      take_header(record, path, log);
      headed = true;
    } else if (record.is_object()) {
      take(record, times, log);
    } else {
      ++log.unreadable_lines;
    }
  }
  if (!headed) throw std::runtime_error(path + " is empty");
  for (Intervals* intervals : {&log.compute, &log.communication, &log.due_communication, &log.copies, &log.fill})
    *intervals = united(std::move(*intervals));
  return log;
}

std::optional<Interval> communication_window(const TruthLog& log) {
  if (log.communication.empty()) return std::nullopt;
  return Interval{log.communication.front().begin, log.communication.back().end};
}

Truth truth_of(const TruthLog& log, Interval window, std::int64_t shortest, Idle idle) {
  const Intervals all = united({window});
  const Intervals compute = intersection(log.compute, all);
  const Intervals communication = intersection(log.communication, all);
  const Intervals fill = intersection(log.fill, all);
  Truth truth;
  truth.window = window;
  const bool by_waits = idle == Idle::behind_communication;
  truth.idle = difference(by_waits ? intersection(log.due_communication, all) : communication, compute);
  std::erase_if(truth.idle, [&](const Interval& each) { return each.end - each.begin < shortest; });
  truth.any_idle = length(difference(difference(difference(all, compute), communication), log.copies));
  truth.compute = length(compute);
  truth.fill = length(fill);
  truth.fill_beside_compute = length(intersection(fill, compute));
  truth.fill_in_idle = length(intersection(fill, truth.idle));
  return truth;
}

}  // namespace simgpu
