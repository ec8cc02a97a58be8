// The answers of `weft check`, kept per GPU, driver and environment in a small text file, and read by a run.
//
// Pure but for read_answers() and keep_answers(), which are called by the command and by the core at set-up, on a
// thread of the main job. Nothing here throws because of a file's content: what is wrong with it is said in words.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "runner/options/variables.h"

namespace weft {

enum class Asked : std::uint8_t {
#define ASKED(name, words) name,
#include "runner/options/answers.def"
#undef ASKED
};
inline constexpr std::array asked_names{
#define ASKED(name, words) #name,
#include "runner/options/answers.def"
#undef ASKED
};
inline constexpr std::array asked_words{
#define ASKED(name, words) words,
#include "runner/options/answers.def"
#undef ASKED
};

// passes: the other kernel runs beside the first one. holds: it waits for its end.
enum class Found : std::uint8_t { unknown, passes, holds };

// Answers hold where all of this is the same.
struct Machine {
  std::string gpu;  // its name
  int driver_version = 0;
  std::uint32_t queues = 0;  // CUDA_DEVICE_MAX_CONNECTIONS, as the driver reads it
  bool mps = false;          // clients of one server share queues

  friend bool operator==(const Machine&, const Machine&) = default;
};
// The process is a client of an MPS server, as far as its variables say.
bool is_under_mps(const Variables& variables);
Machine machine_of(const std::string& gpu, int driver_version, const Variables& variables);

struct Answers {
  Machine machine;
  std::array<Found, asked_names.size()> found{};
  // Why the driver could not be asked, which counts as `holds`. As they were found, not as they were kept.
  std::array<std::string, asked_names.size()> why{};

  Found operator[](Asked asked) const { return found[static_cast<std::size_t>(asked)]; }
  Found& operator[](Asked asked) { return found[static_cast<std::size_t>(asked)]; }
};

// The folder of WEFT_ANSWERS, else weft/ in $XDG_CACHE_HOME or ~/.cache; "": there is none.
std::string answers_folder(const std::string& option, const Variables& variables);
std::string answers_file(const std::string& folder, const Machine& machine);

// Their findings as one word, a letter for each question. False: that is none, and `answers` stays as it is.
std::string letters_of(const Answers& answers);
bool parse_letters(std::string_view letters, Answers& answers);

std::string text_of(const Answers& answers);
// False, and why in `fault`, where the text is damaged; `answers` may hold a part then.
bool parse_answers(std::string_view text, Answers& answers, std::string& fault);

// False where nobody has asked; with a `fault` where the file cannot be used.
bool read_answers(const std::string& folder, const Machine& machine, Answers& answers, std::string& fault);
// Those that decide how a run on the machine marks, with any number of queues: what was found with one, see marking.h.
bool read_deciding_answers(const std::string& folder, Machine machine, Answers& answers, std::string& fault);
// Why they could not be kept; "": they are.
std::string keep_answers(const std::string& folder, const Answers& answers);

}  // namespace weft
