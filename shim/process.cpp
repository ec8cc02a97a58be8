// Permission of the hooks to act in this process: the kill switch, the page that fork() clears, and the shim's own few
// words.
//
// Called when a hooked name is first looked up or called, on the main job's threads. No lock, no allocation, no stdio.
#include "shim/process.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>

#include "shim/seam/stderr.h"

namespace weft {
namespace {

constinit ProcessPage zero_page{};
constinit std::atomic<std::uint32_t> known_switch{0};
constexpr std::uint32_t known_on = 1;
constexpr std::uint32_t known_off = 2;
constexpr std::size_t page_bytes = 4096;

// Not strcasecmp: this may run before the interceptors of a sanitizer are ready.
bool is_off(const char* value) noexcept {
  return (value[0] | 0x20) == 'o' && (value[1] | 0x20) == 'f' && (value[2] | 0x20) == 'f' && value[3] == '\0';
}

std::size_t length(const char* text) noexcept {
  std::size_t count = 0;
  while (text[count] != '\0') ++count;
  return count;
}

}  // namespace

constinit ProcessPage* process_page = &zero_page;
constinit thread_local ThreadState thread_state{};

bool switched_off() noexcept {
  const std::uint32_t known = known_switch.load(std::memory_order_relaxed);
  if (known != 0) return known == known_off;
  if (environ == nullptr) return true;  // too early to know: asked again at the next lookup
  std::uint32_t found = known_on;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const char* text = *entry;
    if (text[0] == 'W' && text[1] == 'E' && text[2] == 'F' && text[3] == 'T' && text[4] == '=') {
      found = is_off(text + 5) ? known_off : known_on;
      break;
    }
  }
  known_switch.store(found, std::memory_order_relaxed);
  return found == known_off;
}

void start_routing() noexcept {
  if (&present_page() != &zero_page || switched_off()) return;
  void* memory = mmap(nullptr, page_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return;
  if (madvise(memory, page_bytes, MADV_WIPEONFORK) != 0) {
    munmap(memory, page_bytes);  // a kernel before 4.14: a child could not be told apart, so stay a pass-through
    return;
  }
  auto* page = static_cast<ProcessPage*>(memory);
  page->level.store(static_cast<std::uint32_t>(Level::routed), std::memory_order_relaxed);
  ProcessPage* expected = &zero_page;
  if (!__atomic_compare_exchange_n(&process_page, &expected, page, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
    munmap(memory, page_bytes);
  }
}

void set_level(Level level) noexcept {
  ProcessPage& page = present_page();
  if (&page != &zero_page) page.level.store(static_cast<std::uint32_t>(level), std::memory_order_seq_cst);
}

void say(std::initializer_list<const char*> parts) noexcept {
  char line[512];
  std::size_t used = 0;
  const auto add = [&](const char* part) {
    const std::size_t bytes = length(part);
    for (std::size_t i = 0; i < bytes && used + 1 < sizeof(line); ++i) line[used++] = part[i];
  };
  add("weft: warning: ");
  for (const char* part : parts) add(part);
  line[used++] = '\n';
  write_to_stderr(line, used);
}

}  // namespace weft
