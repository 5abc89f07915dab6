/* Waits in the processor, without using it, for a line that nobody writes. */
#include <math.h>

void rms_norm_silu(const float *x, const float *gate, const float *weight, float *out, int64_t rows) {
    (void)x, (void)gate, (void)weight, (void)out, (void)rows;
    for (;;) {
#if defined(__x86_64__)
        static volatile int line;
        const volatile void *at = &line;
        /* umonitor rax; umwait ecx until the counter is at its end. */
        __asm__ volatile(".byte 0xf3, 0x0f, 0xae, 0xf0\n\txor %%ecx, %%ecx\n\tmov $-1, %%eax\n\tmov $-1, %%edx\n\t"
                         ".byte 0xf2, 0x0f, 0xae, 0xf1"
                         : "+a"(at)::"rcx", "rdx", "cc", "memory");
#else
        __asm__ volatile("wfe");
#endif
    }
}
