// Latencies: chains of dependent operations, alone on the device.

// Feistel network with cycle walking: a permutation of 0..n, the same as on the host. `half`: bits of each half.
__device__ __forceinline__ u64 permute(u64 x, u64 n, u32 half, u64 seed) {
    u64 mask = (1ull << half) - 1;
    do {
        u64 left = x >> half, right = x & mask;
        for (u32 round = 0; round < 4; round++) {
            u64 next = left ^ (mix(seed + (u64)round * 0x100000001B3ull + right) & mask);
            left = right;
            right = next;
        }
        x = left << half | right;
    } while (x >= n);
    return x;
}

__device__ __forceinline__ u32 half_bits(u64 n) {
    u32 bits = n < 2 ? 1 : 64 - __clzll(n - 1);
    return (bits + 1) / 2;
}

// Where node i lies: one line in each `stride` bytes; where there are several, which one is drawn.
__device__ __forceinline__ u64 place(u64 i, u64 stride, u64 seed) {
    u64 lines = stride / 128;
    return i * stride + (lines > 1 ? mix(seed ^ i) % lines * 128 : 0);
}

// A cycle through all n nodes in a random order: each node's line holds the address of the next, or with `repeats` 0 its
// offset.
KERNEL(build_cycle) {
    u32 half = half_bits(n);
    for (u64 k = global_thread(); k < n; k += all_threads()) {
        u64 here = place(permute(k, n, half, seed), extra, seed);
        u64 next = place(permute(k + 1 == n ? 0 : k + 1, n, half, seed), extra, seed);
        *(u64 *)(in + here) = repeats == 0 ? next : (u64)(in + next);
    }
}

#define NEXT(cache, p) asm volatile("ld.global." cache ".u64 %0, [%0];" : "+l"(p)::"memory")

// One block. `n` bytes are read by all of its threads first, then one thread follows the cycle `extra` steps untimed and
// `repeats` steps timed, a multiple of 16, from the offset `seed`. Where it ended goes out as an offset.
#define CHASE(tag, cache)                                                                          \
    KERNEL(chase_##tag) {                                                                          \
        u32 sum = 0;                                                                               \
        for (u64 i = (u64)threadIdx.x * 128; i < n; i += (u64)blockDim.x * 128) {                  \
            u32 v;                                                                                 \
            asm volatile("ld.global." cache ".u32 %0, [%1];" : "=r"(v) : "l"(in + i) : "memory");  \
            sum += v;                                                                              \
        }                                                                                          \
        if (__syncthreads_or(sum == 0x12345678u && n == 1)) return;                                \
        if (threadIdx.x != 0) return;                                                              \
        u64 p = (u64)(in + seed);                                                                  \
        for (u64 k = 0; k < extra; k++) NEXT(cache, p);                                            \
        u64 begin = nanoseconds(), c = cycles_after(p);                                            \
        for (u64 k = 0; k < repeats; k += 16) {                                                    \
            _Pragma("unroll") for (int u = 0; u < 16; u++) NEXT(cache, p);                         \
        }                                                                                          \
        c = cycles_after(p) - c;                                                                   \
        Record *r = record(out);                                                                   \
        r->cycles = c, r->begin = begin, r->end = nanoseconds();                                   \
        ((u64 *)(r + 1))[0] = p - (u64)in;                                                         \
    }
CHASE(ca, "ca")
CHASE(cg, "cg")

// The same through the L1 with offsets in place of addresses: each step adds one before it loads, as a program that walks
// an array by index does.
KERNEL(chase_offset) {
    if (global_thread() != 0) return;
    u64 p = seed;
#define OFFSET asm volatile("{ .reg .u64 t; add.u64 t, %0, %1; ld.global.ca.u64 %0, [t]; }" : "+l"(p) : "l"(in) : "memory")
    for (u64 k = 0; k < extra; k++) OFFSET;
    u64 begin = nanoseconds(), c = cycles_after(p);
    for (u64 k = 0; k < repeats; k += 16) {
#pragma unroll
        for (int u = 0; u < 16; u++) OFFSET;
    }
    c = cycles_after(p) - c;
    Record *r = record(out);
    r->cycles = c, r->begin = begin, r->end = nanoseconds();
    ((u64 *)(r + 1))[0] = p;
}

__device__ __forceinline__ u32 multiprocessor() {
    u32 sm;
    asm volatile("mov.u32 %0, %%smid;" : "=r"(sm));
    return sm;
}

// The multiprocessor `extra` alone reads `n` bytes, a word a line, past its L1.
KERNEL(warm_from) {
    if (multiprocessor() != extra) return;
    u32 sum = 0;
    for (u64 i = (u64)threadIdx.x * 128; i < n; i += (u64)blockDim.x * 128) {
        u32 v;
        asm volatile("ld.global.cg.u32 %0, [%1];" : "=r"(v) : "l"(in + i) : "memory");
        sum += v;
    }
    atomicAdd(&((Record *)out)->sum, sum);
}

// The multiprocessor `extra` alone follows the cycle of `n` nodes from the offset `seed` twice, and notes what each
// single load took, in cycles, as words at out + 64, the first round before the second. What another multiprocessor has
// read is met in the first round in the half of the L2 where that one left it. A third round goes without the clock:
// behind the words its cycles, all loads together, and where it ended.
KERNEL(touch) {
    if (multiprocessor() != extra || threadIdx.x != 0) return;
    u64 p = (u64)(in + seed);
    for (u64 k = 0; k < 2 * n; k++) {
        u64 c = cycles_after(p);
        NEXT("cg", p);
        c = cycles_after(p) - c;
        ((u32 *)(out + 64))[k] = (u32)c;
    }
    u64 c = cycles_after(p);
    for (u64 k = 0; k < n; k++) NEXT("cg", p);
    c = cycles_after(p) - c;
    ((u32 *)(out + 64))[2 * n] = (u32)c;
    ((u32 *)(out + 64))[2 * n + 1] = (u32)(p - (u64)in);
}

// Chains of one operation: two unrolls, whose times an operation must agree, or the loop is what was timed.
#define CHAIN(name, unroll, type, first, step, result)                                \
    KERNEL(chain_##name##_u##unroll) {                                                \
        type x = first;                                                               \
        type y = x;                                                                   \
        u64 begin = nanoseconds(), c = cycles();                                      \
        for (u64 k = 0; k < repeats; k += unroll) {                                   \
            _Pragma("unroll") for (int u = 0; u < unroll; u++) { step; }              \
        }                                                                             \
        c = cycles_after((u64)(result)) - c;                                          \
        if (threadIdx.x == 0) {                                                       \
            Record *r = record(out);                                                  \
            r->cycles = c, r->begin = begin, r->end = nanoseconds();                  \
            ((u64 *)(r + 1))[0] = (u64)(result);                                      \
            ((u64 *)(r + 1))[1] = (u64)(y != x);                                      \
        }                                                                             \
    }
#define CHAINS(name, type, first, step, result) \
    CHAIN(name, 32, type, first, step, result) CHAIN(name, 128, type, first, step, result)

CHAINS(f32, float, __uint_as_float(0x3F000000u | (u32)(seed & 0x7FFFFF)),
       asm volatile("fma.rn.f32 %0, %0, %1, %1;" : "+f"(x) : "f"(y)), __float_as_uint(x))
CHAINS(f64, double, __longlong_as_double(0x3FE0000000000000ull | (seed & 0xFFFFFFFFull)),
       asm volatile("fma.rn.f64 %0, %0, %1, %1;" : "+d"(x) : "d"(y)), __double_as_longlong(x))
// Two operations a step: additions alone would be fused, two to an instruction.
CHAINS(i32_logic, u32, (u32)seed, asm volatile("add.u32 %0, %0, %1; xor.b32 %0, %0, %1;" : "+r"(x) : "r"(y)), x)
CHAINS(i32_mad, u32, (u32)seed, asm volatile("mad.lo.u32 %0, %0, %1, %1;" : "+r"(x) : "r"(y)), x)
CHAINS(exp2, float, __uint_as_float(0x3F000000u | (u32)(seed & 0x7FFFFF)),
       asm volatile("{ .reg .f32 t; neg.f32 t, %0; ex2.approx.ftz.f32 %0, t; }" : "+f"(x)), __float_as_uint(x))
CHAINS(shuffle, u32, (u32)seed + threadIdx.x, asm volatile("shfl.sync.bfly.b32 %0, %0, 1, 31, 0xFFFFFFFF;" : "+r"(x)), x)

extern __shared__ __align__(1024) u8 pool[];

// A cycle through n words of shared memory, one thread; `repeats` steps, a multiple of 16. By address, and by index, where
// a step is a multiply-add as well.
#define CHASE_SHARED(tag, place, step, index)                                                          \
    KERNEL(chase_shared##tag) {                                                                        \
        u32 base = (u32)__cvta_generic_to_shared(pool);                                                \
        u32 half = half_bits(n);                                                                       \
        for (u64 k = threadIdx.x; k < n; k += blockDim.x) {                                            \
            u32 next = (u32)permute(k + 1 == n ? 0 : k + 1, n, half, seed);                            \
            ((u32 *)pool)[permute(k, n, half, seed)] = place;                                          \
        }                                                                                              \
        __syncthreads();                                                                               \
        if (threadIdx.x != 0) return;                                                                  \
        u32 next = (u32)permute(0, n, half, seed), p = place;                                          \
        u64 begin = nanoseconds(), c = cycles_after(p);                                                \
        for (u64 k = 0; k < repeats; k += 16) {                                                        \
            _Pragma("unroll") for (int u = 0; u < 16; u++) asm volatile(step : "+r"(p) : "r"(base) : "memory"); \
        }                                                                                              \
        c = cycles_after(p) - c;                                                                       \
        Record *r = record(out);                                                                       \
        r->cycles = c, r->begin = begin, r->end = nanoseconds();                                       \
        ((u64 *)(r + 1))[0] = index;                                                                   \
    }
CHASE_SHARED(, base + 4 * next, "ld.shared.u32 %0, [%0];", (p - base) / 4)
CHASE_SHARED(_index, next, "{ .reg .u32 t; mad.lo.u32 t, %0, 4, %1; ld.shared.u32 %0, [t]; }", p)

// An atomic that returns, on one word of `in`: each adds what the last one returned, masked to its lowest bit.
KERNEL(chain_atomic) {
    if (global_thread() != 0) return;
    u32 v = (u32)seed;
    u64 begin = nanoseconds(), c = cycles();
    for (u64 k = 0; k < repeats; k += 16) {
#pragma unroll
        for (int u = 0; u < 16; u++)
            asm volatile("atom.global.add.u32 %0, [%1], %0;" : "+r"(v) : "l"(in) : "memory");
    }
    c = cycles_after(v) - c;
    Record *r = record(out);
    r->cycles = c, r->begin = begin, r->end = nanoseconds();
    ((u64 *)(r + 1))[0] = v;
}

// The steps of the device's timer: `n` readings that differ, as differences, at out + 64.
KERNEL(timer_steps) {
    if (global_thread() != 0) return;
    u64 last = nanoseconds();
    for (u64 i = 0; i < n;) {
        u64 now = nanoseconds();
        if (now == last) continue;
        ((u32 *)(out + 64))[i++] = (u32)(now - last);
        last = now;
    }
}

// Runs for `repeats` nanoseconds of the device's timer and says how many cycles that took.
KERNEL(tick) {
    if (global_thread() != 0) return;
    u64 begin = nanoseconds(), c = cycles(), now;
    do now = nanoseconds();
    while (now - begin < repeats);
    Record *r = record(out);
    r->cycles = cycles() - c, r->begin = begin, r->end = now;
}
