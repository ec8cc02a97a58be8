/* The fat binary of kernels.cu as data of the probes, for gpu.cpp; the build gives its path. Not code. */
    .section .rodata
    .balign 64
    .globl probe_kernel_image
    .hidden probe_kernel_image
probe_kernel_image:
    .incbin PROBE_IMAGE
    .section .note.GNU-stack,"",@progbits
