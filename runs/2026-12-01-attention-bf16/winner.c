#include <immintrin.h>
#include <math.h>
#include <string.h>

enum { R = 6, PAIRS = DIM / 2 };

static inline __m512bh load_bh(const void *p) { return (__m512bh)_mm512_loadu_si512(p); }
static inline __m512bh pair(const uint16_t *p) {
    int x;
    memcpy(&x, p, 4);
    return (__m512bh)_mm512_set1_epi32(x);
}

static inline void transpose(__m512i r[16]) {
    __m512i t[16], u[16];
#pragma GCC unroll 8
    for (int i = 0; i < 16; i += 2) {
        t[i] = _mm512_unpacklo_epi32(r[i], r[i + 1]);
        t[i + 1] = _mm512_unpackhi_epi32(r[i], r[i + 1]);
    }
#pragma GCC unroll 4
    for (int i = 0; i < 16; i += 4) {
        u[i] = _mm512_unpacklo_epi64(t[i], t[i + 2]);
        u[i + 1] = _mm512_unpackhi_epi64(t[i], t[i + 2]);
        u[i + 2] = _mm512_unpacklo_epi64(t[i + 1], t[i + 3]);
        u[i + 3] = _mm512_unpackhi_epi64(t[i + 1], t[i + 3]);
    }
#pragma GCC unroll 4
    for (int k = 0; k < 4; k++) {
        __m512i x0 = _mm512_shuffle_i32x4(u[k], u[4 + k], 0x44), x1 = _mm512_shuffle_i32x4(u[k], u[4 + k], 0xee);
        __m512i y0 = _mm512_shuffle_i32x4(u[8 + k], u[12 + k], 0x44), y1 = _mm512_shuffle_i32x4(u[8 + k], u[12 + k], 0xee);
        r[k] = _mm512_shuffle_i32x4(x0, y0, 0x88);
        r[4 + k] = _mm512_shuffle_i32x4(x0, y0, 0xdd);
        r[8 + k] = _mm512_shuffle_i32x4(x1, y1, 0x88);
        r[12 + k] = _mm512_shuffle_i32x4(x1, y1, 0xdd);
    }
}

/* 16 keys a vector, two neighbouring d a lane; the four vectors of 64 keys lie side by side, so that a step is one line after
   the other. */
static void pack_k(const uint16_t *k, uint16_t *packed, int64_t len) {
    for (int64_t j = 0; j < len; j += 16)
        for (int part = 0; part < DIM / 32; part++) {
            __m512i r[16];
#pragma GCC unroll 16
            for (int i = 0; i < 16; i++)
                r[i] = j + i < len ? _mm512_loadu_si512(k + (j + i) * DIM + part * 32) : _mm512_setzero_si512();
            transpose(r);
#pragma GCC unroll 16
            for (int i = 0; i < 16; i++)
                _mm512_store_si512(packed + (j / 64 * PAIRS * 4 + (part * 16 + i) * 4 + j / 16 % 4) * 32, r[i]);
        }
}

/* 16 d a vector, two neighbouring keys a lane. */
static void pack_v(const uint16_t *v, uint16_t *packed, int64_t len) {
    uint16_t index[2][32];
    for (int i = 0; i < 16; i++)
        for (int half = 0; half < 2; half++) {
            index[half][2 * i] = half * 16 + i;
            index[half][2 * i + 1] = 32 + half * 16 + i;
        }
    const __m512i low = _mm512_loadu_si512(index[0]), high = _mm512_loadu_si512(index[1]);
    const int64_t padded = (len + 15) / 16 * 16;
    for (int64_t j = 0; j < padded; j += 2)
        for (int part = 0; part < DIM / 32; part++) {
            __m512i a = j < len ? _mm512_loadu_si512(v + j * DIM + part * 32) : _mm512_setzero_si512();
            __m512i b = j + 1 < len ? _mm512_loadu_si512(v + (j + 1) * DIM + part * 32) : _mm512_setzero_si512();
            uint16_t *to = packed + j * DIM + part * 64;
            _mm512_store_si512(to, _mm512_permutex2var_epi16(a, low, b));
            _mm512_store_si512(to + 32, _mm512_permutex2var_epi16(a, high, b));
        }
}

/* Scores of R rows against C vectors of keys; `first` is the first key's number, rows see keys up to their own. */
static inline __attribute__((always_inline)) void scores(
    const uint16_t *const rows[R], const uint16_t *k, float *s, int64_t stride, __m512 most[R], const int C,
    const int masked, int64_t first, int64_t row)
{
    __m512 acc[R][4];
#pragma GCC unroll 6
    for (int r = 0; r < R; r++)
#pragma GCC unroll 4
        for (int c = 0; c < C; c++)
            acc[r][c] = _mm512_setzero_ps();
#pragma GCC unroll 2
    for (int p = 0; p < PAIRS; p++) {
        __m512bh b[4];
#pragma GCC unroll 4
        for (int c = 0; c < C; c++)
            b[c] = load_bh(k + (p * 4 + c) * 32);
#pragma GCC unroll 6
        for (int r = 0; r < R; r++) {
            __m512bh a = pair(rows[r] + 2 * p);
#pragma GCC unroll 4
            for (int c = 0; c < C; c++)
                acc[r][c] = _mm512_dpbf16_ps(acc[r][c], a, b[c]);
        }
    }
#pragma GCC unroll 6
    for (int r = 0; r < R; r++)
#pragma GCC unroll 4
        for (int c = 0; c < C; c++) {
            _mm512_store_ps(s + r * stride + c * 16, acc[r][c]);
            if (masked) {
                const __m512i lane = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
                __mmask16 m = _mm512_cmple_epi32_mask(lane, _mm512_set1_epi32((int)(row + r % (R / 2) - first - c * 16)));
                most[r] = _mm512_mask_max_ps(most[r], m, most[r], acc[r][c]);
            } else
                most[r] = _mm512_max_ps(most[r], acc[r][c]);
        }
}

static inline __m512 exp2_512(__m512 x) {
    __m512 n = _mm512_roundscale_ps(x, 8), f = _mm512_sub_ps(x, n);
    __m512 p = _mm512_set1_ps(0.0558282f);
    p = _mm512_fmadd_ps(p, f, _mm512_set1_ps(0.2401385f));
    p = _mm512_fmadd_ps(p, f, _mm512_set1_ps(0.6931286f));
    p = _mm512_fmadd_ps(p, f, _mm512_set1_ps(1.0f));
    return _mm512_scalef_ps(p, n);
}

/* Weights of one row in bf16; gives their sum. Two vectors at a time, the mask for the last ones alone. */
static inline float weights(const float *s, uint16_t *w, int64_t vectors, int64_t seen, __m512 most, float factor) {
    const __m512 f = _mm512_set1_ps(factor), m = _mm512_set1_ps(_mm512_reduce_max_ps(most) * factor);
    __m512 sum = _mm512_setzero_ps(), other = _mm512_setzero_ps();
    int64_t c = 0;
    for (; c + 2 <= seen / 16; c += 2) {
        __m512 e0 = exp2_512(_mm512_fmsub_ps(_mm512_load_ps(s + c * 16), f, m));
        __m512 e1 = exp2_512(_mm512_fmsub_ps(_mm512_load_ps(s + c * 16 + 16), f, m));
        sum = _mm512_add_ps(sum, e0);
        other = _mm512_add_ps(other, e1);
        _mm512_store_si512(w + c * 16, (__m512i)_mm512_cvtne2ps_pbh(e1, e0));
    }
    for (; c < vectors; c++) {
        const int64_t left = seen - c * 16;
        const __mmask16 mask = left >= 16 ? 0xffff : left <= 0 ? 0 : (1u << left) - 1;
        __m512 e = _mm512_maskz_mov_ps(mask, exp2_512(_mm512_fmsub_ps(_mm512_load_ps(s + c * 16), f, m)));
        sum = _mm512_add_ps(sum, e);
        _mm256_store_si256((__m256i *)(w + c * 16), (__m256i)_mm512_cvtneps_pbh(e));
    }
    return _mm512_reduce_add_ps(_mm512_add_ps(sum, other));
}

/* Three rows of weights times V. */
static inline __attribute__((always_inline)) void values(
    const uint16_t *w, int64_t stride, const uint16_t *v, int64_t pairs, const float *factor, float *out, int count)
{
    const uint16_t *w0 = w, *w1 = w + stride, *w2 = w + 2 * stride;
    __m512 acc[3][8];
#pragma GCC unroll 3
    for (int r = 0; r < 3; r++)
#pragma GCC unroll 8
        for (int c = 0; c < 8; c++)
            acc[r][c] = _mm512_setzero_ps();
#pragma GCC unroll 2
    for (int64_t j = 0; j < pairs; j++, w0 += 2, w1 += 2, w2 += 2, v += 2 * DIM) {
        const __m512bh a0 = pair(w0), a1 = pair(w1), a2 = pair(w2);
#pragma GCC unroll 8
        for (int c = 0; c < 8; c++) {
            const __m512bh b = load_bh(v + c * 32);
            acc[0][c] = _mm512_dpbf16_ps(acc[0][c], a0, b);
            acc[1][c] = _mm512_dpbf16_ps(acc[1][c], a1, b);
            acc[2][c] = _mm512_dpbf16_ps(acc[2][c], a2, b);
        }
    }
#pragma GCC unroll 3
    for (int r = 0; r < 3; r++)
        if (r < count) {
            const __m512 f = _mm512_set1_ps(factor[r]);
#pragma GCC unroll 8
            for (int c = 0; c < 8; c++)
                _mm512_stream_ps(out + r * DIM + c * 16, _mm512_mul_ps(acc[r][c], f));
        }
}

void attention_prefill_bf16(
    const uint16_t *q, const uint16_t *k, const uint16_t *v, float *out, float *scratch, int64_t len)
{
    (void)scratch;
    const float factor = 1.4426950408889634f / sqrtf((float)DIM);
    const int64_t padded = (len + 63) / 64 * 64;
    unsigned char room[(2 * DIM * 2 + R * 6) * padded + 256];
    uint16_t *kp = (uint16_t *)(((uintptr_t)room + 63) & ~(uintptr_t)63);
    uint16_t *vp = kp + DIM * padded;
    float *s = (float *)(vp + DIM * padded);
    uint16_t *w = (uint16_t *)(s + R * padded);
    for (int64_t g = 0; g < HEADS_KV; g++) {
        pack_k(k + g * len * DIM, kp, len);
        pack_v(v + g * len * DIM, vp, len);
        /* Three rows of each of the group's two heads: a tile's rows end within three keys of each other. */
        const int64_t h = g * (HEADS_Q / HEADS_KV);
        enum { H = R / 2 };
        for (int64_t i = 0; i < len; i += H) {
            const int count = len - i < H ? (int)(len - i) : H;
            const uint16_t *rows[R];
            __m512 most[R];
            for (int r = 0; r < R; r++) {
                const int own = r % H < count ? r % H : count - 1;
                rows[r] = q + ((h + r / H) * len + i + own) * DIM;
                most[r] = _mm512_set1_ps(-INFINITY);
            }
            /* A share of the next group's keys and values, while this group is computed. */
            if (g + 1 < HEADS_KV)
                for (int64_t r = i; r < i + count; r++)
                    for (int x = 0; x < 4; x++) {
                        _mm_prefetch((const char *)(k + ((g + 1) * len + r) * DIM + x * 32), _MM_HINT_T1);
                        _mm_prefetch((const char *)(v + ((g + 1) * len + r) * DIM + x * 32), _MM_HINT_T1);
                    }
            const int64_t vectors = (i + count - 1) / 16 + 1, full = (i + 1) / 16;
            int64_t c = 0;
            for (; c + 4 <= full; c += 4)
                scores(rows, kp + c * 16 * DIM, s + c * 16, padded, most, 4, 0, c * 16, i);
            while (c < vectors) {
                const uint16_t *from = kp + c * 16 * DIM;
                switch (vectors - c) {
                case 1: scores(rows, from, s + c * 16, padded, most, 1, 1, c * 16, i); c += 1; break;
                case 2: scores(rows, from, s + c * 16, padded, most, 2, 1, c * 16, i); c += 2; break;
                case 3: scores(rows, from, s + c * 16, padded, most, 3, 1, c * 16, i); c += 3; break;
                default: scores(rows, from, s + c * 16, padded, most, 4, 1, c * 16, i); c += 4; break;
                }
            }
            float inverse[R];
            for (int r = 0; r < R; r++) {
                const int64_t seen = i + (r % H < count ? r % H : count - 1) + 1;
                inverse[r] = 1.0f / weights(s + r * padded, w + r * padded, vectors, seen, most[r], factor);
            }
            for (int half = 0; half < 2; half++)
                values(w + half * H * padded, padded, vp, (i + count + 1) / 2, inverse + half * H,
                       out + ((h + half) * len + i) * DIM, count);
        }
    }
}
