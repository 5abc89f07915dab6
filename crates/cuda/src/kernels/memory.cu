// Reads, writes, copies and triads over global memory, by width, unroll and cache; reads of shared memory.
//
// Every kernel's result can be checked: sums of the words read, modulo 2^32, or what was stored. `n` is in bytes and a
// multiple of 64 KiB. All blocks share them out.

// Random words of 8 bytes: of each, the bits of the mask `in` are drawn, and those of `repeats` are set.
KERNEL(fill) {
    for (u64 i = global_thread(); i < n / 8; i += all_threads())
        ((u64 *)out)[i] = (mix(seed + i) & (u64)in) | repeats;
}

// The sum of all words, the plain way: what every read has to come to.
KERNEL(sum) {
    u32 sum = 0;
    for (u64 i = global_thread(); i < n / 4; i += all_threads()) sum += ((const u32 *)in)[i];
    atomicAdd(&((Record *)out)->sum, sum);
}

#define LOAD_4(cache, v, p) asm volatile("ld.global." cache ".u32 %0, [%1];" : "=r"((v).x) : "l"(p) : "memory")
#define LOAD_8(cache, v, p) \
    asm volatile("ld.global." cache ".v2.u32 {%0, %1}, [%2];" : "=r"((v).x), "=r"((v).y) : "l"(p) : "memory")
#define LOAD_16(cache, v, p)                                   \
    asm volatile("ld.global." cache ".v4.u32 {%0, %1, %2, %3}, [%4];" \
                 : "=r"((v).x), "=r"((v).y), "=r"((v).z), "=r"((v).w) \
                 : "l"(p)                                      \
                 : "memory")

struct Words {
    u32 x = 0, y = 0, z = 0, w = 0;
    __device__ __forceinline__ u32 sum() const { return x + y + z + w; }
};

#define READ(cache, tag, width, unroll)                                               \
    KERNEL(read_##tag##_w##width##_u##unroll) {                                       \
        u64 me = global_thread() * width, step = all_threads() * width;               \
        u32 sum = 0;                                                                  \
        Span span = start();                                                          \
        for (u64 r = 0; r < repeats; r++) {                                           \
            u8 *p = in + me;                                                          \
            u8 *end = in + n;                                                         \
            for (; p + (unroll - 1) * step < end; p += unroll * step) {               \
                Words v[unroll];                                                      \
                _Pragma("unroll") for (int k = 0; k < unroll; k++) LOAD_##width(cache, v[k], p + k * step); \
                _Pragma("unroll") for (int k = 0; k < unroll; k++) sum += v[k].sum(); \
            }                                                                         \
            for (; p < end; p += step) {                                              \
                Words v;                                                              \
                LOAD_##width(cache, v, p);                                            \
                sum += v.sum();                                                       \
            }                                                                         \
        }                                                                             \
        finish(out, span, sum);                                                       \
    }
#define READ_WIDTHS(cache, tag, unroll) \
    READ(cache, tag, 4, unroll) READ(cache, tag, 8, unroll) READ(cache, tag, 16, unroll)
#define READS(cache, tag) \
    READ_WIDTHS(cache, tag, 1) READ_WIDTHS(cache, tag, 2) READ_WIDTHS(cache, tag, 4) READ_WIDTHS(cache, tag, 8)

READS("cg", cg)

#define STORE_16(p, v)                                                                                   \
    asm volatile("st.global.v4.u32 [%0], {%1, %2, %3, %4};" ::"l"(p), "r"((v).x), "r"((v).y), "r"((v).z), "r"((v).w) \
                 : "memory")

// Writes each word's own number plus the seed; `repeats` passes, each over everything.
#define WRITE(unroll)                                                            \
    KERNEL(write_w16_u##unroll) {                                                \
        u64 step = all_threads() * 16;                                           \
        Span span = start();                                                     \
        for (u64 r = 0; r < repeats; r++) {                                      \
            u64 at = global_thread() * 16;                                       \
            for (; at < n; at += unroll * step) {                                \
                _Pragma("unroll") for (int k = 0; k < unroll; k++) {             \
                    u64 here = at + k * step;                                    \
                    u32 word = (u32)(here >> 2) + (u32)seed;                     \
                    Words v;                                                     \
                    v.x = word, v.y = word + 1, v.z = word + 2, v.w = word + 3;  \
                    if (here < n) STORE_16((u8 *)extra + here, v);               \
                }                                                                \
            }                                                                    \
        }                                                                        \
        finish(out, span, 0);                                                    \
    }
WRITE(1)
WRITE(4)

// From `in` to `extra`, an address.
#define COPY(unroll)                                                                              \
    KERNEL(copy_w16_u##unroll) {                                                                  \
        u64 step = all_threads() * 16;                                                            \
        Span span = start();                                                                      \
        for (u64 r = 0; r < repeats; r++) {                                                       \
            u64 at = global_thread() * 16;                                                        \
            for (; at + (unroll - 1) * step < n; at += unroll * step) {                           \
                Words v[unroll];                                                                  \
                _Pragma("unroll") for (int k = 0; k < unroll; k++) LOAD_16("cg", v[k], in + at + k * step);  \
                _Pragma("unroll") for (int k = 0; k < unroll; k++) STORE_16((u8 *)extra + at + k * step, v[k]); \
            }                                                                                     \
            for (; at < n; at += step) {                                                          \
                Words v;                                                                          \
                LOAD_16("cg", v, in + at);                                                        \
                STORE_16((u8 *)extra + at, v);                                                    \
            }                                                                                     \
        }                                                                                         \
        finish(out, span, 0);                                                                     \
    }
COPY(1)
COPY(4)

// extra[i] = in[i] + s * in[n + i], where s = 1 + the lowest byte of the seed / 256.
#define TRIAD(unroll)                                                                             \
    KERNEL(triad_w16_u##unroll) {                                                                 \
        u64 step = all_threads() * 16;                                                            \
        float s = 1.0f + (float)(seed & 255) / 256.0f;                                            \
        Span span = start();                                                                      \
        for (u64 r = 0; r < repeats; r++) {                                                       \
            u64 at = global_thread() * 16;                                                        \
            for (; at < n; at += unroll * step) {                                                 \
                Words a[unroll], b[unroll];                                                       \
                _Pragma("unroll") for (int k = 0; k < unroll; k++) if (at + k * step < n) {       \
                    LOAD_16("cg", a[k], in + at + k * step);                                      \
                    LOAD_16("cg", b[k], in + n + at + k * step);                                  \
                }                                                                                 \
                _Pragma("unroll") for (int k = 0; k < unroll; k++) if (at + k * step < n) {       \
                    Words v;                                                                      \
                    v.x = __float_as_uint(fmaf(s, __uint_as_float(b[k].x), __uint_as_float(a[k].x))); \
                    v.y = __float_as_uint(fmaf(s, __uint_as_float(b[k].y), __uint_as_float(a[k].y))); \
                    v.z = __float_as_uint(fmaf(s, __uint_as_float(b[k].z), __uint_as_float(a[k].z))); \
                    v.w = __float_as_uint(fmaf(s, __uint_as_float(b[k].w), __uint_as_float(a[k].w))); \
                    STORE_16((u8 *)extra + at + k * step, v);                                     \
                }                                                                                 \
            }                                                                                     \
        }                                                                                         \
        finish(out, span, 0);                                                                     \
    }
TRIAD(1)
TRIAD(4)

// The grid covers everything once, each block's bytes lie together, and as blocks end others begin: reads and writes
// then stay closer together in memory than those of threads that walk over all of it.
#define STORE(modifier, p, v)                                                                         \
    asm volatile("st.global" modifier ".v4.u32 [%0], {%1, %2, %3, %4};" ::"l"(p), "r"((v).x), "r"((v).y), "r"((v).z), \
                 "r"((v).w)                                                                           \
                 : "memory")
#define COPY_ONCE(tag, cache, modifier, unroll)                                                       \
    KERNEL(copy_##tag##_u##unroll) {                                                                  \
        u64 at = ((u64)blockIdx.x * unroll * blockDim.x + threadIdx.x) * 16;                          \
        u32 step = blockDim.x * 16;                                                                   \
        Words v[unroll];                                                                              \
        _Pragma("unroll") for (int k = 0; k < unroll; k++) LOAD_16(cache, v[k], in + at + k * step);  \
        _Pragma("unroll") for (int k = 0; k < unroll; k++) STORE(modifier, (u8 *)extra + at + k * step, v[k]); \
    }
COPY_ONCE(once, "cg", "", 1)
COPY_ONCE(once, "cg", "", 2)
COPY_ONCE(stream, "cs", ".cs", 1)
COPY_ONCE(stream, "cs", ".cs", 2)
COPY_ONCE(stream, "cs", ".cs", 8)

#define WRITE_ONCE(tag, modifier)                                              \
    KERNEL(write_##tag##_u1) {                                                 \
        u64 at = global_thread() * 16;                                         \
        u32 word = (u32)(at >> 2) + (u32)seed;                                 \
        Words v;                                                               \
        v.x = word, v.y = word + 1, v.z = word + 2, v.w = word + 3;            \
        STORE(modifier, (u8 *)extra + at, v);                                  \
    }
WRITE_ONCE(once, "")
WRITE_ONCE(stream, ".cs")

#define TRIAD_ONCE(tag, cache, modifier)                                                              \
    KERNEL(triad_##tag##_u1) {                                                                        \
        u64 at = global_thread() * 16;                                                                \
        float s = 1.0f + (float)(seed & 255) / 256.0f;                                                \
        Words a, b, v;                                                                                \
        LOAD_16(cache, a, in + at);                                                                   \
        LOAD_16(cache, b, in + n + at);                                                               \
        v.x = __float_as_uint(fmaf(s, __uint_as_float(b.x), __uint_as_float(a.x)));                   \
        v.y = __float_as_uint(fmaf(s, __uint_as_float(b.y), __uint_as_float(a.y)));                   \
        v.z = __float_as_uint(fmaf(s, __uint_as_float(b.z), __uint_as_float(a.z)));                   \
        v.w = __float_as_uint(fmaf(s, __uint_as_float(b.w), __uint_as_float(a.w)));                   \
        STORE(modifier, (u8 *)extra + at, v);                                                         \
    }
TRIAD_ONCE(once, "cg", "")
TRIAD_ONCE(stream, "cs", ".cs")

extern __shared__ __align__(1024) u8 pool[];

// The same `threads` x `unroll` x `width` bytes again and again, every address known beforehand, so that the loop costs
// next to nothing: shared memory, which holds mix(seed + i) as words of 8 bytes, or the L1 under `in`. `extra` is 0, but
// the assembler must not know that: it would load once and add the same words for ever.
#define TIGHT(name, width, threads, unroll, address, LOAD, FILL)                        \
    KERNEL_OF(threads, name##_w##width##_t##threads##_u##unroll) {                      \
        FILL(threads * unroll * width)                                                  \
        auto base = address + threadIdx.x * width;                                      \
        u32 even = 0, odd = 0;                                                          \
        Span span = start();                                                            \
        for (u64 r = 0; r < repeats; r++) {                                             \
            Words v[unroll];                                                            \
            _Pragma("unroll") for (int k = 0; k < unroll; k++) LOAD(v[k], base + k * threads * width); \
            _Pragma("unroll") for (int k = 0; k < unroll; k++)                          \
                even += v[k].x + v[k].y, odd += v[k].z + v[k].w;                        \
            base += extra;                                                              \
        }                                                                               \
        finish(out, span, even + odd);                                                  \
    }
#define FILL_SHARED(bytes)                                                              \
    for (u64 i = threadIdx.x; i < (bytes) / 8; i += blockDim.x) ((u64 *)pool)[i] = mix(seed + i); \
    __syncthreads();
#define FILL_NOTHING(bytes)
#define SHARED_4(v, p) asm volatile("ld.shared.u32 %0, [%1];" : "=r"((v).x) : "r"(p) : "memory")
#define SHARED_8(v, p) asm volatile("ld.shared.v2.u32 {%0, %1}, [%2];" : "=r"((v).x), "=r"((v).y) : "r"(p) : "memory")
#define SHARED_16(v, p)                                     \
    asm volatile("ld.shared.v4.u32 {%0, %1, %2, %3}, [%4];" \
                 : "=r"((v).x), "=r"((v).y), "=r"((v).z), "=r"((v).w) \
                 : "r"(p)                                   \
                 : "memory")
#define NEAR_4(v, p) LOAD_4("ca", v, p)
#define NEAR_8(v, p) LOAD_8("ca", v, p)
#define NEAR_16(v, p) LOAD_16("ca", v, p)
#define POOL (u32) __cvta_generic_to_shared(pool)
#define TIGHTS(width, threads, unroll)                                           \
    TIGHT(shared, width, threads, unroll, POOL, SHARED_##width, FILL_SHARED)     \
    TIGHT(near, width, threads, unroll, in, NEAR_##width, FILL_NOTHING)
TIGHTS(4, 1024, 8)
TIGHTS(4, 1024, 16)
TIGHTS(8, 1024, 8)
TIGHTS(8, 1024, 16)
TIGHTS(16, 1024, 8)
TIGHTS(16, 512, 8)
TIGHTS(16, 512, 16)
TIGHTS(16, 256, 16)
