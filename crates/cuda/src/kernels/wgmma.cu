// The tensor cores through `wgmma`, for compute capability 9.0: four warps issue together, both operands lie in shared
// memory, the product runs on its own. The only way to this device's full rate.
//
// Operands in `in`, K-major, 32 bytes of K a row whatever the type: for each of SLICES slices of K and each warpgroup 64
// rows of A, A[warpgroup][slice][64][32]; then B[slice][256][32]; `n` such sets, one a block, round and round. A repeat
// adds the products of all slices: D[warpgroup] += sum over s of A[warpgroup][s] B[s]. With `extra` 1 all accumulators go
// out, D[block][warpgroup][64][256], behind 4 KiB.

#define GROUPS 2
#define SLICES 4
#define A_BYTES (64 * 32)
#define B_BYTES (256 * 32)
#define SET (GROUPS * SLICES * A_BYTES + SLICES * B_BYTES)

extern __shared__ __align__(1024) u8 pool[];

// Without swizzle, operands are made of 8 rows of 16 bytes that lie together: neighbours along K 128 bytes apart,
// neighbours along the rows 256.
__device__ __forceinline__ u32 tiled(u32 at) {
    u32 row = at / 32, byte = at % 32;
    return row / 8 * 256 + byte / 16 * 128 + row % 8 * 16 + byte % 16;
}

__device__ __forceinline__ u64 descriptor(u32 address) {
    return (u64)((address & 0x3FFFF) >> 4) | (u64)(128 >> 4) << 16 | (u64)(256 >> 4) << 32;
}

#define REGISTERS \
    "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, %20, %21, %22, " \
    "%23, %24, %25, %26, %27, %28, %29, %30, %31, %32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, " \
    "%44, %45, %46, %47, %48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63, %64, " \
    "%65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, %78, %79, %80, %81, %82, %83, %84, %85, " \
    "%86, %87, %88, %89, %90, %91, %92, %93, %94, %95, %96, %97, %98, %99, %100, %101, %102, %103, %104, %105, " \
    "%106, %107, %108, %109, %110, %111, %112, %113, %114, %115, %116, %117, %118, %119, %120, %121, %122, " \
    "%123, %124, %125, %126, %127}"
#define D4(c, i) "+" c(d[i]), "+" c(d[i + 1]), "+" c(d[i + 2]), "+" c(d[i + 3])
#define D16(c, i) D4(c, i), D4(c, i + 4), D4(c, i + 8), D4(c, i + 12)
#define D64(c, i) D16(c, i), D16(c, i + 16), D16(c, i + 32), D16(c, i + 48)

#define WGMMA(name, instruction, flags, constraint, type, bits)                                          \
    KERNEL_OF(GROUPS * 128, wgmma_##name) {                                                              \
        const u8 *set = in + blockIdx.x % n * (u64)SET;                                                  \
        for (u32 at = threadIdx.x * 16; at < SET; at += blockDim.x * 16)                                 \
            *(uint4 *)(pool + tiled(at)) = *(const uint4 *)(set + at);                                   \
        asm volatile("fence.proxy.async.shared::cta;" ::: "memory");                                     \
        __syncthreads();                                                                                 \
        u32 group = threadIdx.x / 128, base = (u32)__cvta_generic_to_shared(pool);                       \
        u64 a = descriptor(base + group * SLICES * A_BYTES);                                             \
        u64 b = descriptor(base + GROUPS * SLICES * A_BYTES);                                            \
        type d[128];                                                                                     \
        _Pragma("unroll") for (int i = 0; i < 128; i++) d[i] = 0;                                        \
        Span span = start();                                                                             \
        asm volatile("wgmma.fence.sync.aligned;" ::: "memory");                                          \
        for (u64 r = 0; r < repeats; r++) {                                                              \
            _Pragma("unroll") for (int s = 0; s < SLICES; s++)                                           \
                asm volatile("{ .reg .pred p; setp.eq.u32 p, 0, 0; " instruction " " REGISTERS           \
                             ", %128, %129, p" flags "; }"                                               \
                             : D64(constraint, 0), D64(constraint, 64)                                   \
                             : "l"(a + s * (A_BYTES >> 4)), "l"(b + s * (B_BYTES >> 4)));                \
            asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");                               \
            asm volatile("wgmma.wait_group.sync.aligned 1;" ::: "memory");                               \
        }                                                                                                \
        asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");                                   \
        u32 sum = 0;                                                                                     \
        _Pragma("unroll") for (int i = 0; i < 128; i++) sum += bits(d[i]);                               \
        finish(out, span, sum);                                                                          \
        if (extra == 1) {                                                                                \
            u32 lane = threadIdx.x & 31, warp = threadIdx.x / 32 & 3;                                    \
            u64 tile = (u64)blockIdx.x * GROUPS + group;                                                 \
            _Pragma("unroll") for (int i = 0; i < 128; i++) {                                            \
                u32 row = 16 * warp + lane / 4 + 8 * (i / 2 % 2), column = i / 4 * 8 + lane % 4 * 2 + i % 2; \
                ((type *)(out + 4096))[(tile * 64 + row) * 256 + column] = d[i];                         \
            }                                                                                            \
        }                                                                                                \
    }
#define SAME(x) (u32)(x)

WGMMA(f16, "wgmma.mma_async.sync.aligned.m64n256k16.f32.f16.f16", ", 1, 1, 0, 0", "f", float, __float_as_uint)
WGMMA(bf16, "wgmma.mma_async.sync.aligned.m64n256k16.f32.bf16.bf16", ", 1, 1, 0, 0", "f", float, __float_as_uint)
WGMMA(tf32, "wgmma.mma_async.sync.aligned.m64n256k8.f32.tf32.tf32", ", 1, 1", "f", float, __float_as_uint)
WGMMA(f8, "wgmma.mma_async.sync.aligned.m64n256k32.f32.e4m3.e4m3", ", 1, 1", "f", float, __float_as_uint)
WGMMA(i8, "wgmma.mma_async.sync.aligned.m64n256k32.s32.s8.s8", "", "r", int, SAME)
