// The objects that are loaded in this process, as ld.so knows them: which one an address lies in, its handle, its
// order.
//
// Used by the files of this folder, on any thread, once a hooked name has been asked for: most of it calls ld.so, which
// takes its lock. elf.h reads an object without calling anybody.
#pragma once

#include <link.h>

namespace weft {

// The object that `address` belongs to; nullptr: none.
const link_map* object_of(const void* address) noexcept;

// The same as a handle, which the caller closes; nullptr: none, or the main program.
void* object_handle(const void* address) noexcept;

// A handle of the object of that name, which the caller closes; nullptr: it is not loaded. `flags`: besides RTLD_LAZY.
void* open_loaded(const char* name, int flags = 0) noexcept;

// The object stays loaded for the rest of the process, whoever closes it.
void keep_loaded(const link_map* object) noexcept;

// The address is a hook, or an entry of ours that is linked to.
bool is_ours(const void* address) noexcept;

// The name under which the address is exported; nullptr: under none.
const char* exported_name(const void* address) noexcept;

// The first comes before the second in the loader's list, which programs look through in that order.
bool comes_before(const link_map* first, const link_map* second) noexcept;

}  // namespace weft
