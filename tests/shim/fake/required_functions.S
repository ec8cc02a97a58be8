// A function that does nothing and succeeds for each that hooks.def requires of one library: what a stand-in for the
// driver or NCCL has, besides the functions that it defines itself. They are weak, so that those take their place; the
// objects of the stand-in come before this one.
//
// STAND_IN_FOR_cuda or STAND_IN_FOR_nccl is defined. Only for tests and benchmarks, on any thread.
#ifdef STAND_IN_FOR_cuda
#define cuda_required(name)   \
    .p2align 4;               \
    .weak   name;             \
    .type   name, @function;  \
name:                         \
    endbr64;                  \
    xorl    %eax, %eax;       \
    ret;                      \
    .size   name, . - name
#else
#define cuda_required(name)
#endif
#ifdef STAND_IN_FOR_nccl
// Under both of NCCL's names.
#define nccl_required(name)     \
    .p2align 4;                 \
    .weak   name;               \
    .weak   p##name;            \
    .type   name, @function;    \
    .type   p##name, @function; \
name:                           \
p##name:                        \
    endbr64;                    \
    xorl    %eax, %eax;         \
    ret;                        \
    .size   name, . - name;     \
    .size   p##name, . - p##name
#else
#define nccl_required(name)
#endif
#define cuda_optional(name)
#define nccl_optional(name)
#define HOOK(library, name, presence, ...) library##_##presence(name)
#define CALL(library, name, presence) library##_##presence(name)

    .text
#include "shim/hooks.def"

    .section .note.GNU-stack, "", @progbits
