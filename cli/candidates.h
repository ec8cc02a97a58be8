// Completion of a command line: which words can stand in the place of the last one, which is not finished. From the
// description of the verb that CLI11 holds and from the option table.
//
// Used by `weft __complete`, which the scripts of `weft completion` call. Reads the folder of the fill jobs that come
// with Weft; otherwise pure.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "cli/verb.h"

namespace weft::cli {

struct Candidate {
  std::string word;
  std::string about{};  // "": nothing is said of it
};

// Beside the words a shell offers these, which it knows better. Behind `command` a command line of its own begins.
enum class AlsoOffered : std::uint8_t { nothing, files, folders, command };

struct Candidates {
  std::vector<Candidate> words;
  AlsoOffered also = AlsoOffered::nothing;
  std::size_t command_at = 0;  // which of the words typed is the first of the command
};

// `words`: behind the verb, the last one up to the cursor, perhaps "".
Candidates candidates(const CLI::App& app, const Arguments& words);

// Those of a list that begin as the word does.
std::vector<Candidate> beginning_with(const std::string& typed, const std::vector<Candidate>& all);

// A line for each word, with a tab in front of what is said of it; then, for the rest, ":files", ":folders" or
// ":command N".
std::string text_of(const Candidates& candidates);

}  // namespace weft::cli
