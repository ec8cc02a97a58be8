// The exported dlsym. It must jump, not call, into the real one: glibc takes the object that asks from the return address,
// and RTLD_NEXT would otherwise search from our place instead of the caller's. Any thread, at any time after loading.
    .text
    .globl  dlsym
    .type   dlsym, @function
    .p2align 4
dlsym:
    .cfi_startproc
    endbr64
    pushq   %rdi
    .cfi_adjust_cfa_offset 8
    pushq   %rsi
    .cfi_adjust_cfa_offset 8
    subq    $8, %rsp
    .cfi_adjust_cfa_offset 8
    movq    24(%rsp), %rdx
    call    weft_pick
    addq    $8, %rsp
    .cfi_adjust_cfa_offset -8
    popq    %rsi
    .cfi_adjust_cfa_offset -8
    popq    %rdi
    .cfi_adjust_cfa_offset -8
    testq   %rdx, %rdx
    je      1f
    ret
1:  jmp     *weft_real_dlsym(%rip)
    .cfi_endproc
    .size   dlsym, . - dlsym
    .section .note.gnu.property, "a"
    .p2align 3
    .long   4, 16, 5
    .asciz  "GNU"
    .long   0xc0000002, 4, 3, 0
    .section .note.GNU-stack, "", @progbits
