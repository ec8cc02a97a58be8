// The vendor headers as the shim needs them: every ABI under its own exact name, and declarations with default
// visibility, because the definitions of the hooks take theirs from here. Included by the shim's sources only.
#pragma once

#define __CUDA_API_VERSION_INTERNAL
#pragma GCC visibility push(default)
#include <cuda.h>
#include <nccl.h>
#pragma GCC visibility pop

#if NCCL_VERSION_CODE < 22809
#error "Weft is built against nccl.h 2.28.9 or newer; at run time any NCCL from 2.18 on will do."
#endif
