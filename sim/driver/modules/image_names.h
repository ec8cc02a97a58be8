// The names of the kernels in an image, as far as they can be read: from the symbols of a cubin, from the text of PTX,
// or from those in a fat binary.
//
// Called when a module or library is loaded, on the host thread that loads it. An image is trusted to be as large as it
// says, as the driver does.
#pragma once

#include <optional>
#include <set>
#include <string>

namespace simgpu {

using KernelNames = std::set<std::string, std::less<>>;

// Nothing: they are not known. That is so of compressed code, of text without an entry, which stands for whatever is
// asked for, and of what has the begin of an image and no more.
std::optional<KernelNames> kernel_names_in(const void* image);

}  // namespace simgpu
