// The tensor cores through `mma`, which a warp issues and whose operands lie in registers.
//
// Operands: A holds two tiles of 16 rows, B four of 8 columns, K-major, 32 bytes of K each, whatever the type; each warp
// begins 2 KiB further into `in`, of `n` such sets. A repeat is the eight products of each A with each B, added to eight
// accumulators. With `extra` 1 all accumulators go out, D[warp][a][b][16][8], behind 4 KiB.

#define MMA(name, instruction, constraint, type, bits)                                            \
    KERNEL_OF(512, mma_##name) {                                                                  \
        u32 lane = threadIdx.x & 31, group = lane >> 2, quad = lane & 3;                          \
        u64 warp = global_thread() >> 5;                                                          \
        const u8 *set = in + warp % n * 2048;                                                     \
        u32 a[2][4], b[4][2];                                                                     \
        _Pragma("unroll") for (int t = 0; t < 2; t++) _Pragma("unroll") for (int i = 0; i < 4; i++) \
            a[t][i] = *(const u32 *)(set + t * 512 + (group + 8 * (i & 1)) * 32 + quad * 4 + 16 * (i >> 1)); \
        _Pragma("unroll") for (int t = 0; t < 4; t++) _Pragma("unroll") for (int i = 0; i < 2; i++) \
            b[t][i] = *(const u32 *)(set + 1024 + t * 256 + group * 32 + quad * 4 + 16 * i);      \
        type d[2][4][4];                                                                          \
        _Pragma("unroll") for (int i = 0; i < 32; i++) (&d[0][0][0])[i] = 0;                      \
        Span span = start();                                                                      \
        for (u64 r = 0; r < repeats; r++) {                                                       \
            _Pragma("unroll") for (int s = 0; s < 2; s++) _Pragma("unroll") for (int t = 0; t < 4; t++) \
                asm volatile(instruction " {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};" \
                             : "+" constraint(d[s][t][0]), "+" constraint(d[s][t][1]),            \
                               "+" constraint(d[s][t][2]), "+" constraint(d[s][t][3])             \
                             : "r"(a[s][0]), "r"(a[s][1]), "r"(a[s][2]), "r"(a[s][3]), "r"(b[t][0]), "r"(b[t][1])); \
        }                                                                                         \
        u32 sum = 0;                                                                              \
        _Pragma("unroll") for (int i = 0; i < 32; i++) sum += bits((&d[0][0][0])[i]);             \
        finish(out, span, sum);                                                                   \
        if (extra == 1) {                                                                         \
            _Pragma("unroll") for (int t = 0; t < 8; t++) _Pragma("unroll") for (int i = 0; i < 4; i++) { \
                u32 row = group + 8 * (i >> 1), column = quad * 2 + (i & 1);                      \
                ((type *)(out + 4096))[((warp * 8 + t) * 16 + row) * 8 + column] = d[t >> 2][t & 3][i]; \
            }                                                                                     \
        }                                                                                         \
    }
#define SAME(x) (u32)(x)

MMA(f16, "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32", "f", float, __float_as_uint)
MMA(bf16, "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32", "f", float, __float_as_uint)
MMA(tf32, "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32", "f", float, __float_as_uint)
MMA(i8, "mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32", "r", int, SAME)
#ifdef HAS_F8
MMA(f8, "mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e4m3.f32", "f", float, __float_as_uint)
#endif
