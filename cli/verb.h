// The verbs of the weft command: one file each, one line each in the table of cli/main.cpp.
#pragma once

#include <string>
#include <vector>

#include "cli/exit_codes.h"

namespace weft::cli {

using Arguments = std::vector<std::string>;  // without the verb

struct Verb {
  const char* name;
  const char* summary;
  int (*run)(const Arguments& arguments);  // returns the exit code, see exit_codes.def
};

int run_verb(const Arguments& arguments);
int lib_verb(const Arguments& arguments);
int config_verb(const Arguments& arguments);
int check_verb(const Arguments& arguments);
int summary_verb(const Arguments& arguments);
int top_verb(const Arguments& arguments);
int validate_verb(const Arguments& arguments);
int estimate_verb(const Arguments& arguments);
int diff_verb(const Arguments& arguments);
int export_verb(const Arguments& arguments);
int report_verb(const Arguments& arguments);
int simulate_verb(const Arguments& arguments);
int try_verb(const Arguments& arguments);
int new_job_verb(const Arguments& arguments);
int jobs_verb(const Arguments& arguments);
int replay_verb(const Arguments& arguments);
int completion_verb(const Arguments& arguments);
int version_verb(const Arguments& arguments);

inline constexpr const char* help_name = "help";              // a verb that is none of a file of its own
inline constexpr const char* exit_codes_name = "exit-codes";  // of a page of `weft help`

// One line on stderr, "weft: ..." in front.
void complain(const std::string& text);  // an error
void warn(const std::string& text);
void inform(const std::string& text);

}  // namespace weft::cli
