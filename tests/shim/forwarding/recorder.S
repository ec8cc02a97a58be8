// A stand-in for the driver or for NCCL that writes down what it is called with: which function, the six registers for
// arguments, and the words on the stack above the return address. It answers `recorded_answer`.
//
// STAND_IN_FOR_cuda or STAND_IN_FOR_nccl is defined. Only for forwarding_test.cpp, one thread.
#ifdef STAND_IN_FOR_cuda
#define cuda_function(name) recorded_function name
#define nccl_function(name)
#else
#define cuda_function(name)
#define nccl_function(name) recorded_function name
#endif
// As forwarding_test.cpp has them.
#define MOST_CALLS 64
#define STACK_WORDS 24
#define CALL_SIZE ((1 + 6 + STACK_WORDS) * 8)
#define HOOK(library, name, presence, ...) library##_function(name)
#define CALL(library, name, presence) library##_function(name)

    .macro recorded_function name
    .p2align 4
    .globl  \name
    .type   \name, @function
\name:
    endbr64
    leaq    .Lname_of_\name(%rip), %rax
    jmp     record
    .size   \name, . - \name
    .pushsection .rodata
.Lname_of_\name:
    .asciz  "\name"
    .popsection
    .endm

    .text
    .type   record, @function
record:
    movq    recorded_calls@GOTPCREL(%rip), %r10
    movq    calls_recorded@GOTPCREL(%rip), %r11
    cmpl    $MOST_CALLS, (%r11)
    jae     answer
    imull   $CALL_SIZE, (%r11), %r11d
    addq    %r11, %r10
    movq    calls_recorded@GOTPCREL(%rip), %r11
    incl    (%r11)
    movq    %rax, (%r10)
    movq    %rdi, 8(%r10)
    movq    %rsi, 16(%r10)
    movq    %rdx, 24(%r10)
    movq    %rcx, 32(%r10)
    movq    %r8, 40(%r10)
    movq    %r9, 48(%r10)
    leaq    8(%rsp), %rsi
    leaq    56(%r10), %rdi
    movl    $STACK_WORDS, %ecx
    cld
    rep movsq
answer:
    movq    recorded_answer@GOTPCREL(%rip), %rax
    movl    (%rax), %eax
    ret
    .size   record, . - record

#include "shim/hooks.def"

    .section .note.GNU-stack, "", @progbits
