// The dlsym functions behind ours, by which the shim itself looks functions up: the next one in the loader's order, and
// libc's own.
//
// Any thread. know_real_dlsym() runs at every dlsym of the process, also inside the start of a sanitizer. It reads
// symbol tables (elf.h) and calls into libc only where no object behind us defines dlsym.
#pragma once

namespace weft {

// Finds the next dlsym, once. dlsym_entry.S goes there through weft_real_dlsym.
void know_real_dlsym() noexcept;

// The dlsym that comes behind ours: libc's, or another interposer's.
void* real_dlsym(void* handle, const char* name) noexcept;

// An interposer that stands in for dlsym comes behind us.
bool another_dlsym() noexcept;

// libc's own dlsym, past every interposer.
void* libc_dlsym(void* handle, const char* name) noexcept;

}  // namespace weft

extern "C" [[gnu::visibility("hidden")]] void* (*weft_real_dlsym)(void*, const char*);
