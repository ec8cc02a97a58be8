// weft export --prometheus: the numbers of the ranks of this host, again and again, beside the training.
//
// Used by export.cpp. It runs until SIGTERM, SIGINT or SIGHUP, and takes its files away then; or writes them once.
#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "cli/parse.h"
#include "detector/event.h"
#include "trace/export/exported_run.h"

namespace weft::cli {

struct MetricsWanted {
  std::string folder;                // "": no metrics
  std::string run;                   // "": the name of the first directory
  std::optional<Duration> interval;  // nothing: the default
  bool once = false, all_hosts = false;
};

void add_metrics_options(CLI::App& app, MetricsWanted& wanted);

// Why this cannot be wanted; nothing: it can. `others`: something of the other formats is wanted too.
std::optional<std::string> mistake_in(const MetricsWanted& wanted, bool others);

// Returns the exit code.
int export_metrics(const MetricsWanted& wanted, const ExportWanted& traces);

}  // namespace weft::cli
