// Paths with % sequences, as in WEFT_OUTPUT and WEFT_CHECKPOINT.
//
// Used by the core on a main-job thread, and by the weft command. No file is touched here.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runner/options/options.h"
#include "runner/options/variables.h"

namespace weft {

// Values of the % sequences of WEFT_OUTPUT. A sequence whose value is not known yet stays as it is, and so does that of
// a variable that is not set or empty: without its beginning a path may be one of the root.
struct OutputNames {
  std::optional<int> rank;
  std::optional<int> process;
  std::optional<std::string> host;
  std::optional<std::string> job;
  const Variables* variables = nullptr;
  bool of_all_ranks = false;  // %r, %p and %h become '*': a shell pattern for the directories of all ranks
};

// Of this process; the rank is for the caller to fill in.
OutputNames output_names(const Options& options, const Variables& variables);

// Those that may go wrong, in the order of the path.
struct PathSequences {
  std::vector<std::string> variables;  // NAME of each %q{NAME}
  std::string unknown;                 // the first sequence that stands for nothing; "": none
};
PathSequences sequences_in(std::string_view pattern);

std::string expand_output(std::string_view pattern, const OutputNames& names);

}  // namespace weft
