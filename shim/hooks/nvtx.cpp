// weft_nvtx_v1(): NVTX's way to Weft, through libweft-nvtx.so (nvtx_tool.c). Each copy of NVTX in the process
// (PyTorch's, NCCL's, the program's) calls it once, at its first call, where `weft run --nvtx` has named that library.
// No hook, because it stands in front of nothing. From then on ranges that a thread pushes and pops are known
// (main_job/ranges.h). Any thread, at any time; no lock, no allocation.
//
// The few declarations of NVTX 3 that are needed are our own: they are an ABI that does not change.
#include <cstddef>
#include <cstdint>

#include "shim/main_job/ranges.h"
#include "shim/process.h"

using namespace weft;

namespace {

using Function = void (*)();
using FunctionTable = Function**;  // of places, each of a pointer to a function

enum : std::uint32_t { table_of_callbacks = 1 };
enum Module : int { core = 1, domains = 5 };
enum CoreCallback : unsigned { range_push_ex = 8, range_push_a = 9, range_push_w = 10, range_pop = 11 };
enum DomainCallback : unsigned { domain_push_ex = 4, domain_pop = 5, register_string_a = 10 };
enum MessageType : std::int32_t { ascii = 1, registered = 3 };

struct Callbacks {
  std::size_t bytes;
  int (*function_table)(int module, FunctionTable* table, unsigned* size);
};

// nvtxEventAttributes_t, up to the message.
struct Attributes {
  std::uint16_t version, bytes;
  std::uint32_t category;
  std::int32_t colour_type;
  std::uint32_t colour;
  std::int32_t payload_type, reserved;
  std::uint64_t payload;
  std::int32_t message_type;
  const char* message;  // a registered one is a handle, which keep_text() has made
};

int push(const char* text) noexcept {
  return level() == Level::pass ? -1 : push_range(text);
}

int push_ascii(const char* text) {
  return push(text);
}
int push_wide(const wchar_t*) {
  return push(nullptr);
}
int push_attributes(const Attributes* event) {
  const bool has_text = event != nullptr && event->bytes >= sizeof(Attributes) &&
                        (event->message_type == ascii || event->message_type == registered);
  return push(has_text ? event->message : nullptr);
}
int push_in_domain(void*, const Attributes* event) {
  return push_attributes(event);
}
int pop() {
  return level() == Level::pass ? -1 : pop_range();
}
int pop_in_domain(void*) {
  return pop();
}
const void* register_string(void*, const char* text) {
  return keep_text(text);
}

template <class Callback>
void put(FunctionTable table, unsigned size, unsigned place, Callback callback) noexcept {
  if (place < size && table[place] != nullptr) *table[place] = reinterpret_cast<Function>(callback);
}

}  // namespace

// 1: this tool takes part. Else NVTX goes on without one.
extern "C" [[gnu::visibility("default")]] int weft_nvtx_v1(const void* (*table_of)(std::uint32_t)) noexcept {
  if (switched_off() || table_of == nullptr) return 0;
  const auto* const callbacks = static_cast<const Callbacks*>(table_of(table_of_callbacks));
  FunctionTable table = nullptr;
  unsigned size = 0;
  if (callbacks == nullptr || callbacks->bytes < sizeof(Callbacks)) return 0;
  if (callbacks->function_table(core, &table, &size) == 0 || table == nullptr) return 0;
  put(table, size, range_push_ex, push_attributes);
  put(table, size, range_push_a, push_ascii);
  put(table, size, range_push_w, push_wide);
  put(table, size, range_pop, pop);
  if (callbacks->function_table(domains, &table, &size) == 0 || table == nullptr) return 1;
  put(table, size, domain_push_ex, push_in_domain);
  put(table, size, domain_pop, pop_in_domain);
  put(table, size, register_string_a, register_string);
  return 1;
}
