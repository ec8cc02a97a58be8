// The names of what an export shows: ranks, bubbles, groups, communicators. The writers take them from here and ask
// nobody else, so another way to name things is one other EventNames.
//
// Used by the writers of `weft export`, on one thread. Pure.
#pragma once

#include <functional>
#include <string>

#include "trace/export/exported_run.h"

namespace weft {

struct EventNames {
  std::function<std::string(const ExportedRank&)> rank;
  std::function<std::string(const ExportedRank&, const Bubble&)> bubble;
  std::function<std::string(const ExportedRank&, const GroupRecord&)> group;
  std::function<std::string(const ExportedRank&, const OperationRecord&, CommunicatorId)> operation;
  std::function<std::string(const ExportedRank&, CommunicatorId)> communicator;
};

// From nothing but the records: "receive from rank 3, slot 5". The run has to outlive them.
EventNames plain_names(const ExportedRun& run);

}  // namespace weft
