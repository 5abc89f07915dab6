// The least that can be launched, and atomics.

KERNEL(empty) {}

// Every thread adds 1 to the first word of `in`, `repeats` times 8.
KERNEL(atomic_same) {
    Span span = start();
    for (u64 r = 0; r < repeats; r++) {
#pragma unroll
        for (int u = 0; u < 8; u++) asm volatile("red.global.add.u32 [%0], %1;" ::"l"(in), "r"(1u) : "memory");
    }
    finish(out, span, 0);
}

// Every thread adds 1 to words of its own, of the n bytes of `in`.
#define SPREAD(name, instruction, constraint, type, one)                                            \
    KERNEL(name) {                                                                                  \
        Span span = start();                                                                        \
        for (u64 r = 0; r < repeats; r++) {                                                         \
            u64 at = (global_thread() + r * all_threads()) * 4;                                     \
            u8 *p = in + at % n;                                                                    \
            asm volatile(instruction " [%0], %1;" ::"l"(p), constraint((type)one) : "memory");      \
        }                                                                                           \
        finish(out, span, 0);                                                                       \
    }
SPREAD(atomic_spread, "red.global.add.u32", "r", u32, 1)
SPREAD(atomic_spread_f32, "red.global.add.f32", "f", float, 1)

extern __shared__ __align__(1024) u8 pool[];

// In shared memory: each lane its own word, or with `extra` 1 all lanes one word; the words' sum is the checksum.
KERNEL(atomic_shared) {
    for (u32 i = threadIdx.x; i < n / 4; i += blockDim.x) ((u32 *)pool)[i] = 0;
    __syncthreads();
    u32 p = (u32)__cvta_generic_to_shared(pool) + (extra == 1 ? 0 : threadIdx.x * 4);
    Span span = start();
    for (u64 r = 0; r < repeats; r++) {
#pragma unroll
        for (int u = 0; u < 8; u++) asm volatile("red.shared.add.u32 [%0], %1;" ::"r"(p), "r"(1u) : "memory");
    }
    __syncthreads();
    u32 sum = 0;
    for (u32 i = threadIdx.x; i < n / 4; i += blockDim.x) sum += ((u32 *)pool)[i];
    finish(out, span, sum);
}
