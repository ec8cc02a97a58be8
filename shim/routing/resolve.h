// Routing: which answer of dlsym or cuGetProcAddress is replaced by a hook, and where a linked reference goes.
//
// One rule: an answer is replaced only when it *is* the function that the hook calls (real.h), or an address that
// cuGetProcAddress gives for the same symbol (proc_address.h). So version and stream ABI are right by construction, an
// interposer that looks the driver up gets the driver, and whatever we do not know goes through untouched. Any thread;
// wait-free after the first lookup of a library; settling one twice at the same time writes the same values.
#pragma once

#include <cstdint>

#include "shim/routing/symbols.h"

namespace weft {

// A hook where `found` is what the hook calls, else `found`.
void* routed(std::uint16_t symbol, void* found) noexcept;

// The answer to the caller of cuGetProcAddress for this address of the driver: a hook, or the address itself.
void* route_address(void* address) noexcept;

// The hook of the symbol calls the function at this address.
void learn_export(Symbol symbol, void* address) noexcept;

// The driver gives this address for the symbol, besides the one it exports. Does nothing when the address is an export.
void learn_alias(Symbol symbol, void* address) noexcept;

}  // namespace weft
