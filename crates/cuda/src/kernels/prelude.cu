// What every probe begins with. Includes nothing, so that NVRTC needs no header's folder.
//
// Every kernel takes the same six arguments, so that one launcher does for all. `out` begins with one record of 32 bytes
// a block: cycles, nanoseconds at start and at end, a checksum.

typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;

#define KERNEL(name) \
    extern "C" __global__ void __launch_bounds__(1024) name(u8 *in, u8 *out, u64 n, u64 repeats, u64 seed, u64 extra)
#define KERNEL_OF(threads, name) \
    extern "C" __global__ void __launch_bounds__(threads, 1) name(u8 *in, u8 *out, u64 n, u64 repeats, u64 seed, u64 extra)

// SplitMix64 (Steele, Lea, Flood 2014), the same as on the host.
__device__ __forceinline__ u64 mix(u64 x) {
    u64 z = x + 0x9E3779B97F4A7C15ull;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ull;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBull;
    return z ^ (z >> 31);
}

__device__ __forceinline__ u64 cycles() {
    u64 c;
    asm volatile("mov.u64 %0, %%clock64;" : "=l"(c)::"memory");
    return c;
}

__device__ __forceinline__ u64 nanoseconds() {
    u64 t;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(t)::"memory");
    return t;
}

// Not before `value` is there: the branch waits for it, and the clock is read after the branch.
__device__ __forceinline__ u64 cycles_after(u64 value) {
    u64 c;
    asm volatile("{ .reg .pred p; setp.eq.u64 p, %1, 0xDEADBEEFDEADBEEF; @p trap; mov.u64 %0, %%clock64; }"
                 : "=l"(c)
                 : "l"(value)
                 : "memory");
    return c;
}

__device__ __forceinline__ u64 global_thread() { return (u64)blockIdx.x * blockDim.x + threadIdx.x; }
__device__ __forceinline__ u64 all_threads() { return (u64)gridDim.x * blockDim.x; }

struct Record {
    u64 cycles, begin, end;
    u32 sum, sm;
};

__device__ __forceinline__ Record *record(u8 *out) { return (Record *)out + blockIdx.x; }

struct Span {
    u64 cycles, begin;
};

__device__ __forceinline__ Span start() { return Span{cycles(), nanoseconds()}; }

// Adds this thread's checksum to its block's, and writes the times of the block's slowest thread.
__device__ __forceinline__ void finish(u8 *out, Span span, u32 sum) {
    u64 took = cycles_after(sum) - span.cycles;
    u64 end = nanoseconds();
    Record *r = record(out);
    atomicAdd(&r->sum, sum);
    atomicMax(&r->cycles, took);
    atomicMax(&r->end, end);
    if (threadIdx.x == 0) {
        u32 sm;
        asm volatile("mov.u32 %0, %%smid;" : "=r"(sm));
        r->begin = span.begin;
        r->sm = sm;
    }
}
