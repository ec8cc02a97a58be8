// The vendor headers as the shim needs them: every ABI under its own exact name. The definitions of the hooks take
// their visibility from here: hidden in libweft.so, which exports linked_entry.S in their place; default in the
// stand-ins for the driver and for NCCL that the tests have.
#pragma once

#define __CUDA_API_VERSION_INTERNAL
#ifdef WEFT_HIDDEN_HOOKS
#pragma GCC visibility push(hidden)
#else
#pragma GCC visibility push(default)
#endif
#include <cuda.h>
#include <nccl.h>

#include "shim/routing/newer_nccl.h"
#pragma GCC visibility pop

#if NCCL_VERSION_CODE < 22809
#error "Weft is built against nccl.h 2.28.9 or newer; at run time any NCCL from 2.18 on will do."
#endif
