// Drawn ten times a second at most; see the header.
#include "cli/progress.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "trace/formatted.h"

namespace weft::cli {
namespace {

constexpr std::uint64_t bytes_between_looks = 256 * 1024;  // at the clock
constexpr std::chrono::milliseconds between_drawings{100};

bool is_terminal() {
  const char* const kind = std::getenv("TERM");
  return ::isatty(STDERR_FILENO) == 1 && kind != nullptr && std::string_view(kind) != "dumb";
}

}  // namespace

std::string bar(double share, std::size_t width) {
  const auto full = static_cast<std::size_t>(share * static_cast<double>(width));
  return "[" + std::string(full, '#') + std::string(width - full, '.') + "]";
}

std::string progress_line(const char* what, std::uint64_t done, std::uint64_t all, std::chrono::seconds elapsed) {
  constexpr std::size_t width = 20;
  const double share = all == 0 ? 1 : std::min(1.0, static_cast<double>(done) / static_cast<double>(all));
  std::string line = bar(share, width) + formatted(" %3.0f %%  %s", 100 * share, what);
  // Of the first moments nothing can be told.
  if (elapsed < std::chrono::seconds(2) || share < 0.02 || share >= 1) return line;
  const auto left = static_cast<long long>(static_cast<double>(elapsed.count()) * (1 - share) / share);
  return line + formatted(", %lld:%02lld left", left / 60, left % 60);
}

ProgressBar::ProgressBar() : visible_(is_terminal()) {}

void ProgressBar::begin(const char* what, std::uint64_t bytes) {
  what_ = what;
  done_ = 0;
  all_ = bytes;
  next_look_ = 0;
  between_looks_ = bytes_between_looks;
  began_ = Clock::now();
}

void ProgressBar::begin_steps(const char* what, std::uint64_t steps) {
  begin(what, steps);
  between_looks_ = 1;
}

void ProgressBar::advance(std::uint64_t bytes) {
  done_ += bytes;
  if (!visible_ || done_ < next_look_) return;
  next_look_ = done_ + between_looks_;
  if (Clock::now() - drawn_ >= between_drawings) draw();
}

void ProgressBar::draw() {
  drawn_ = Clock::now();
  const auto elapsed = std::chrono::duration_cast<std::chrono::seconds>(drawn_ - began_);
  std::fprintf(stderr, "\r%s\x1b[K", progress_line(what_, done_, all_, elapsed).c_str());
  on_screen_ = true;
}

void ProgressBar::clear() {
  if (on_screen_) std::fputs("\r\x1b[K", stderr);
  on_screen_ = false;
}

}  // namespace weft::cli
