// Common to the example fill jobs: reading "key=value,key=value" arguments and saying why a call failed.
// Called by Weft on one thread at a time; nothing here touches the GPU.
#pragma once

#include <charconv>
#include <cstdio>
#include <cstring>
#include <new>
#include <string>
#include <string_view>

#include "weft/fill.h"

namespace fill {

// As much as the Weft that calls knows of it; the rest, of a later version, is null.
inline weft_fill_host copy_of(const weft_fill_host& host) {
  weft_fill_host copy{};
  std::memcpy(&copy, &host, host.struct_size < sizeof copy ? host.struct_size : sizeof copy);
  return copy;
}

// Hands a message to Weft and returns the error that the caller gives back.
inline int fail(const weft_fill_host& host, const std::string& message) {
  host.fail(host.context, message.c_str());
  return 1;
}

// All of init(): `set_up` makes a new job ready and returns "", or what is wrong.
template <class Job, class SetUp>
int make_job(const weft_fill_host& host, Job** out, SetUp set_up) {
  auto* const job = new (std::nothrow) Job;
  if (job == nullptr) return fail(host, "no host memory");
  job->host = copy_of(host);
  const std::string wrong = set_up(*job);
  if (wrong.empty()) {
    *out = job;
    return 0;
  }
  delete job;
  return fail(host, wrong);
}

// One whole-number argument of a job: its name, where it goes, and the range that makes sense.
struct Argument {
  std::string_view name;
  int* value;
  int least;
  int most;
};

// Reads "name=number,..." into the arguments. Returns "" or what is wrong.
template <class Arguments>
std::string read_arguments(std::string_view text, const Arguments& arguments) {
  while (!text.empty()) {
    const std::string_view item = text.substr(0, text.find(','));
    text.remove_prefix(item.size() < text.size() ? item.size() + 1 : item.size());
    const std::size_t equals = item.find('=');
    const std::string_view name = item.substr(0, equals);
    const std::string_view number = equals == std::string_view::npos ? std::string_view{} : item.substr(equals + 1);
    bool known = false;
    for (const Argument& argument : arguments) {
      if (argument.name != name) continue;
      known = true;
      const char* end = number.data() + number.size();
      const auto [stop, error] = std::from_chars(number.data(), end, *argument.value);
      if (error != std::errc{} || stop != end || *argument.value < argument.least || *argument.value > argument.most)
        return "argument " + std::string(item) + ": " + std::string(name) + " takes a whole number from " +
               std::to_string(argument.least) + " to " + std::to_string(argument.most);
    }
    if (!known) return "unknown argument " + std::string(item);
  }
  return {};
}

}  // namespace fill
