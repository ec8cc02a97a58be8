// The exports of libweft.so for the hooks: one entry each, under the exact name, for programs that are linked to the
// driver or to NCCL. An entry jumps to where the call has to go, which resolve.cpp decides at the first one.
//
// The names stand under a version of their own that is not the default one. A linked reference, which has no version, is
// bound to it all the same, because it is the library's first; dlsym, whoever calls it, does not find it. Any thread.
#define TARGET_BYTES 8

#define HOOK(library, name, presence, ...) ENTRY(name, __COUNTER__)
#define ENTRY(name, number) ENTRY_(name, number)
#define ENTRY_(name, number)                           \
    .type   weft_linked_##name, @function;             \
    .globl  weft_linked_##name;                        \
    .symver weft_linked_##name, name@WEFT;             \
    .p2align 4;                                        \
weft_linked_##name:                                    \
    .cfi_startproc;                                    \
    endbr64;                                           \
    movq    weft_link_targets+TARGET_BYTES*number(%rip), %rax; \
    testq   %rax, %rax;                                \
    je      1f;                                        \
    jmp     *%rax;                                     \
1:  movl    $number, %eax;                             \
    jmp     weft_first_call;                           \
    .cfi_endproc;                                      \
    .size   weft_linked_##name, . - weft_linked_##name
#define CALL(library, name, presence) .set weft_skipped, __COUNTER__

    .text
// Keeps the arguments, asks for the target of the symbol in %eax and goes there as if it had been called itself.
weft_first_call:
    .cfi_startproc
    pushq   %rdi
    .cfi_adjust_cfa_offset 8
    pushq   %rsi
    .cfi_adjust_cfa_offset 8
    pushq   %rdx
    .cfi_adjust_cfa_offset 8
    pushq   %rcx
    .cfi_adjust_cfa_offset 8
    pushq   %r8
    .cfi_adjust_cfa_offset 8
    pushq   %r9
    .cfi_adjust_cfa_offset 8
    subq    $8, %rsp
    .cfi_adjust_cfa_offset 8
    movl    %eax, %edi
    movq    56(%rsp), %rsi
    call    weft_link_target
    addq    $8, %rsp
    .cfi_adjust_cfa_offset -8
    popq    %r9
    .cfi_adjust_cfa_offset -8
    popq    %r8
    .cfi_adjust_cfa_offset -8
    popq    %rcx
    .cfi_adjust_cfa_offset -8
    popq    %rdx
    .cfi_adjust_cfa_offset -8
    popq    %rsi
    .cfi_adjust_cfa_offset -8
    popq    %rdi
    .cfi_adjust_cfa_offset -8
    jmp     *%rax
    .cfi_endproc
    .size   weft_first_call, . - weft_first_call

#include "shim/hooks.def"

    .section .note.gnu.property, "a"
    .p2align 3
    .long   4, 16, 5
    .asciz  "GNU"
    .long   0xc0000002, 4, 3, 0
    .section .note.GNU-stack, "", @progbits
