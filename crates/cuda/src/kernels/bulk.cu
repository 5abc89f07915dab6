// Reads and copies by the bulk copy engine, for devices of compute capability 9.0 and later: one thread keeps a ring of
// chunks in flight, so that few registers and no instruction per element stand between the memory and its bandwidth.
//
// `n` is in bytes and a multiple of CHUNK. Dynamic shared memory: STAGES chunks and a line for the barriers.

#define CHUNK 16384u
#define STAGES 12u
#define LAG 6u

extern __shared__ __align__(1024) u8 pool[];

__device__ __forceinline__ void expect(u32 barrier, u32 bytes) {
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "r"(bytes) : "memory");
}

__device__ __forceinline__ void await(u32 barrier, u32 parity) {
    u32 done = 0;
    while (!done) {
        asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2; selp.u32 %0, 1, 0, p; }"
                     : "=r"(done)
                     : "r"(barrier), "r"(parity)
                     : "memory");
    }
}

__device__ __forceinline__ void load(u32 to, const u8 *from, u32 barrier) {
    expect(barrier, CHUNK);
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(to),
                 "l"(from), "r"(CHUNK), "r"(barrier)
                 : "memory");
}

__device__ __forceinline__ void store(u8 *to, u32 from) {
    asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" ::"l"(to), "r"(from), "r"(CHUNK)
                 : "memory");
    asm volatile("cp.async.bulk.commit_group;" ::: "memory");
}

struct Ring {
    u32 data, barriers;
    __device__ __forceinline__ u32 chunk(u64 j) const { return data + (u32)(j % STAGES) * CHUNK; }
    __device__ __forceinline__ u32 barrier(u64 j) const { return barriers + (u32)(j % STAGES) * 8; }
    __device__ __forceinline__ u32 parity(u64 j) const { return (u32)(j / STAGES) & 1; }
};

__device__ __forceinline__ Ring ring() {
    Ring r;
    r.data = (u32)__cvta_generic_to_shared(pool);
    r.barriers = r.data + STAGES * CHUNK;
    if (threadIdx.x == 0) {
        for (u32 s = 0; s < STAGES; s++)
            asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(r.barriers + 8 * s) : "memory");
        asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    }
    __syncthreads();
    return r;
}

// This block's share of the chunks, all passes together.
struct Share {
    u64 mine, total;
    __device__ __forceinline__ u64 offset(u64 j) const { return (blockIdx.x + j % mine * gridDim.x) * (u64)CHUNK; }
};

__device__ __forceinline__ Share share(u64 n, u64 repeats) {
    u64 chunks = n / CHUNK;
    u64 mine = blockIdx.x < chunks ? (chunks - blockIdx.x + gridDim.x - 1) / gridDim.x : 0;
    return Share{mine, mine * repeats};
}

// Reads everything into shared memory and sums it there.
KERNEL(read_bulk) {
    Ring r = ring();
    Share s = share(n, repeats);
    u32 sum = 0;
    Span span = start();
    if (threadIdx.x == 0)
        for (u64 j = 0; j < STAGES && j < s.total; j++) load(r.chunk(j), in + s.offset(j), r.barrier(j));
    for (u64 j = 0; j < s.total; j++) {
        await(r.barrier(j), r.parity(j));
        for (u32 at = threadIdx.x * 16; at < CHUNK; at += blockDim.x * 16) {
            u32 x, y, z, w;
            asm volatile("ld.shared.v4.u32 {%0, %1, %2, %3}, [%4];"
                         : "=r"(x), "=r"(y), "=r"(z), "=r"(w)
                         : "r"(r.chunk(j) + at)
                         : "memory");
            sum += x + y + z + w;
        }
        __syncthreads();
        if (threadIdx.x == 0 && j + STAGES < s.total)
            load(r.chunk(j), in + s.offset(j + STAGES), r.barrier(j));
    }
    finish(out, span, sum);
}

// From `in` to `extra`, an address, through shared memory; one thread a block works.
KERNEL(copy_bulk) {
    Ring r = ring();
    Share s = share(n, repeats);
    Span span = start();
    if (threadIdx.x == 0) {
        for (u64 j = 0; j < STAGES && j < s.total; j++) load(r.chunk(j), in + s.offset(j), r.barrier(j));
        for (u64 j = 0; j < s.total; j++) {
            await(r.barrier(j), r.parity(j));
            store((u8 *)extra + s.offset(j), r.chunk(j));
            // The chunk stored LAG steps ago has been read: its place takes the next load.
            asm volatile("cp.async.bulk.wait_group.read %0;" ::"n"(LAG) : "memory");
            if (j >= LAG && j - LAG + STAGES < s.total)
                load(r.chunk(j - LAG), in + s.offset(j - LAG + STAGES), r.barrier(j - LAG));
        }
        asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
    }
    finish(out, span, 0);
}
