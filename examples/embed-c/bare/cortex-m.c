/* Cortex-M4F: vector table, floating-point unit on, output through the debugger (semihosting). */
#include "bare.h"

#include <stdint.h>

extern uint32_t _stack_top, _data_start, _data_end, _data_load, _bss_start, _bss_end;
void reset(void);

static void fault(void) {
    bare_print("fault\n");
    for (;;) {}
}

__attribute__((section(".vectors"), used)) static const struct {
    uint32_t *stack;
    void (*handlers[15])(void);
} vectors = {&_stack_top, {reset, fault, fault, fault, fault, fault, 0, 0, 0, 0, fault, fault, 0, fault, fault}};

static int semihosting(int operation, const void *argument) {
    register int r0 __asm__("r0") = operation;
    register const void *r1 __asm__("r1") = argument;
    __asm__ volatile("bkpt 0xab" : "+r"(r0) : "r"(r1) : "memory");
    return r0;
}

void bare_print(const char *text) {
    semihosting(4, text);
}

void reset(void) {
    /* Coprocessors 10 and 11 on, before the first instruction that uses them. */
    *(volatile uint32_t *)0xE000ED88u |= 0xFu << 20;
    __asm__ volatile("dsb\n isb" ::: "memory");
    uint32_t *from = &_data_load;
    for (uint32_t *to = &_data_start; to < &_data_end;) *to++ = *from++;
    for (uint32_t *to = &_bss_start; to < &_bss_end;) *to++ = 0;
    const uint32_t end[2] = {0x20026, (uint32_t)bare_main()};
    semihosting(0x20, end);
    for (;;) {}
}
