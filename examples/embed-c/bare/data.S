/* Files as they are, aligned for every element type. */
#ifdef __arm__
    .syntax unified
#endif
    .section .rodata.data, "a"
    .balign 64
    .globl model
model:
    .incbin MODEL
    .globl model_end
model_end:
    .balign 64
    .globl recording
recording:
    .incbin RECORDING
    .section .note.GNU-stack, ""
