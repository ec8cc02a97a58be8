// cuDNN's numbers and statuses, without its header, which neither the toolkit nor this repository has.
//
// Included by all files of this folder. Nothing here may depend on CUDA.
#ifndef SIMGPU_CUDNN_NUMBERS_H
#define SIMGPU_CUDNN_NUMBERS_H

namespace simgpu::cudnn {

enum Number : int {
#define NUMBER(name, value) name = value,
#include "numbers.def"
#undef NUMBER
};

// A cudnnStatus_t.
using Status = int;

// Notes why a call of this thread failed, for cudnnGetLastErrorString, and returns `status`. A status of the kind
// NOT_SUPPORTED is also said on stderr, each text once: the caller may well go on without.
[[gnu::format(printf, 2, 3)]] Status fail(Status status, const char* format, ...);
// The reason that fail() noted last on this thread; valid until the next one.
const char* last_error();

}  // namespace simgpu::cudnn

#endif
