//! Every kind of edit on a small source: what it does to the text, and that the C compiler takes it.

mod sources;

use model::Source;
use search::proposers::embedded::edits::{EDITS, Offer, edit};
use sources::{ATTENTION, MATMUL, RMS_NORM, code, constants, syntax};

const DOT: &str = r"float dot(const float *a, const float *b, int64_t n) {
    float s = 0.0f;
    for (int64_t i = 0; i < n; i++) {
        s += a[i] * b[i];
    }
    return s;
}
";
const SOFTMAX: &str = r"void softmax(const float *x, float *y, int64_t n) {
    for (int64_t j = 0; j < n; j++) {
        y[j] = x[j] * 2.0f;
    }
    float top = y[0];
    for (int64_t j = 1; j < n; j++) {
        if (y[j] > top) top = y[j];
    }
    float sum = 0.0f;
    for (int64_t j = 0; j < n; j++) {
        y[j] = expf(y[j] - top);
        sum += y[j];
    }
    for (int64_t j = 0; j < n; j++) {
        y[j] = y[j] / sum;
    }
}
";
const PRODUCT: &str = r"void product(const float *x, const float *w, float *y, int64_t m) {
    for (int64_t i = 0; i < m; i++) {
        for (int64_t j = 0; j < N; j++) {
            float s = 0.0f;
            for (int64_t k = 0; k < K; k++) {
                s += x[i * K + k] * w[k * N + j];
            }
            y[i * N + j] = s;
        }
    }
}
";
const ROWS: &str = r"void rows(const float *q, const float *k, float *out, float *scratch, int64_t n) {
    for (int64_t i = 0; i < n; i++) {
        for (int64_t j = 0; j <= i; j++) {
            float s = 0.0f;
            for (int64_t d = 0; d < 16; d++) {
                s += q[i * 16 + d] * k[j * 16 + d];
            }
            scratch[j] = s;
        }
        float sum = 0.0f;
        for (int64_t j = 0; j <= i; j++) {
            sum += expf(scratch[j]);
        }
        out[i] = sum;
    }
}
";
const SCALE: &str = r"void scale(const float *x, float *y, int64_t rows) {
    for (int64_t i = 0; i < rows; i++) {
        for (int64_t j = 0; j < 64; j++) {
            y[i * 64 + j] = x[i * 64 + j] * 3.0f;
        }
    }
}
";
const TUNED: &str = r"enum { TILE = 8 };
#define WIDTH 16
static const int depth = 4;
int tiles(int n) { return n / TILE / WIDTH / depth; }
";

/// The first offer of a kind whose words begin so, as a diff.
fn change(kind: &str, words: &str, text: &str) -> String {
    let offers = (edit(kind).expect(kind).offers)(&code(text, &[]));
    let offer = offers.into_iter().find(|offer| offer.what.starts_with(words)).expect(words);
    let after = Source { flags: offer.flags.clone(), ..Source::c(offer.text) };
    let diff = search::mining::diff(&Source::c(text), &after);
    diff.lines()
        .skip_while(|line| line.starts_with("---") || line.starts_with("+++"))
        .fold(String::new(), |out, line| out + line.trim_end() + "\n")
}

#[test]
fn accumulators() {
    insta::assert_snapshot!(change("accumulators", "s in 4 scalars", DOT), @r#"
    @@ -1,7 +1,17 @@
     float dot(const float *a, const float *b, int64_t n) {
         float s = 0.0f;
    -    for (int64_t i = 0; i < n; i++) {
    -        s += a[i] * b[i];
    +    {
    +        float s_part0 = 0, s_part1 = 0, s_part2 = 0, s_part3 = 0;
    +        for (int64_t i = 0; i < n / 4 * 4; i += 4) {
    +            s_part0 += a[i] * b[i];
    +            s_part1 += a[(i + 1)] * b[(i + 1)];
    +            s_part2 += a[(i + 2)] * b[(i + 2)];
    +            s_part3 += a[(i + 3)] * b[(i + 3)];
    +        }
    +        s += s_part0 + s_part1 + s_part2 + s_part3;
    +        for (int64_t i = n / 4 * 4; i < n; i++) {
    +            s += a[i] * b[i];
    +        }
         }
         return s;
     }
    "#);
}

#[test]
fn accumulators_of_lanes() {
    insta::assert_snapshot!(change("accumulators", "s in 2 vectors", DOT), @r#"
    @@ -1,7 +1,18 @@
    +typedef float lanes __attribute__((vector_size(64)));
    +typedef float lanes_any __attribute__((vector_size(64), aligned(4), may_alias));
     float dot(const float *a, const float *b, int64_t n) {
         float s = 0.0f;
    -    for (int64_t i = 0; i < n; i++) {
    -        s += a[i] * b[i];
    +    {
    +        lanes s_wide0 = {0}, s_wide1 = {0};
    +        for (int64_t i = 0; i < n / 32 * 32; i += 32) {
    +            s_wide0 += *(const lanes_any *)&a[i] * *(const lanes_any *)&b[i];
    +            s_wide1 += *(const lanes_any *)&a[(i + 16)] * *(const lanes_any *)&b[(i + 16)];
    +        }
    +        s_wide0 += s_wide1;
    +        for (int lane = 0; lane < 16; lane++) s += s_wide0[lane];
    +        for (int64_t i = n / 32 * 32; i < n; i++) {
    +            s += a[i] * b[i];
    +        }
         }
         return s;
     }
    "#);
}

#[test]
fn align() {
    insta::assert_snapshot!(change("align", "", DOT), @r#"
    @@ -1,4 +1,6 @@
     float dot(const float *a, const float *b, int64_t n) {
    +    a = __builtin_assume_aligned(a, 64);
    +    b = __builtin_assume_aligned(b, 64);
         float s = 0.0f;
         for (int64_t i = 0; i < n; i++) {
             s += a[i] * b[i];
    "#);
}

#[test]
fn distribute() {
    insta::assert_snapshot!(change("distribute", "", SOFTMAX), @r#"
    @@ -9,6 +9,8 @@
         float sum = 0.0f;
         for (int64_t j = 0; j < n; j++) {
             y[j] = expf(y[j] - top);
    +    }
    +    for (int64_t j = 0; j < n; j++) {
             sum += y[j];
         }
         for (int64_t j = 0; j < n; j++) {
    "#);
}

#[test]
fn expand_reduction() {
    insta::assert_snapshot!(change("expand-reduction", "s over", PRODUCT), @r#"
    @@ -1,11 +1,17 @@
     void product(const float *x, const float *w, float *y, int64_t m) {
         for (int64_t i = 0; i < m; i++) {
    -        for (int64_t j = 0; j < N; j++) {
    -            float s = 0.0f;
    +        {
    +            _Alignas(64) float s_of[N];
    +            for (int64_t j = 0; j < N; j++) s_of[j] = 0.0f;
                 for (int64_t k = 0; k < K; k++) {
    -                s += x[i * K + k] * w[k * N + j];
    +                for (int64_t j = 0; j < N; j++) {
    +                    s_of[j] += x[i * K + k] * w[k * N + j];
    +                }
                 }
    -            y[i * N + j] = s;
    +            for (int64_t j = 0; j < N; j++) {
    +                const float s = s_of[j];
    +                y[i * N + j] = s;
    +            }
             }
         }
     }
    "#);
}

#[test]
fn fast_exp() {
    insta::assert_snapshot!(change("fast-exp", "degree 6", SOFTMAX), @r#"
    @@ -1,3 +1,18 @@
    +#include <string.h>
    +static inline float exp_poly6(float x) {
    +    x = x < -87.3f ? -87.3f : x;
    +    x = x > 88.37f ? 88.37f : x;
    +    const float shifted = x * 1.44269504f + 12582912.0f;
    +    const float n = shifted - 12582912.0f;
    +    const float r = (x - n * 0.693145752f) - n * 1.42860677e-6f;
    +    const float tail = 0.5f + r * (0.166666672f + r * (0.0416666679f + r * (0.00833333377f + r * 0.00138888892f)));
    +    int32_t bits;
    +    memcpy(&bits, &shifted, 4);
    +    bits = (int32_t)((uint32_t)bits << 23) + 0x3f800000;
    +    float power;
    +    memcpy(&power, &bits, 4);
    +    return power * (1.0f + r * (1.0f + r * tail));
    +}
     void softmax(const float *x, float *y, int64_t n) {
         for (int64_t j = 0; j < n; j++) {
             y[j] = x[j] * 2.0f;
    @@ -8,7 +23,7 @@
         }
         float sum = 0.0f;
         for (int64_t j = 0; j < n; j++) {
    -        y[j] = expf(y[j] - top);
    +        y[j] = exp_poly6(y[j] - top);
             sum += y[j];
         }
         for (int64_t j = 0; j < n; j++) {
    "#);
}

#[test]
fn flag() {
    insta::assert_snapshot!(change("flag", "-fassociative-math", DOT), @"flags: none -> -fno-signed-zeros -fno-trapping-math -fassociative-math");
}

#[test]
fn fuse() {
    insta::assert_snapshot!(change("fuse", "", SOFTMAX), @r#"
    @@ -1,9 +1,7 @@
     void softmax(const float *x, float *y, int64_t n) {
    +    float top = -INFINITY;
         for (int64_t j = 0; j < n; j++) {
             y[j] = x[j] * 2.0f;
    -    }
    -    float top = y[0];
    -    for (int64_t j = 1; j < n; j++) {
             if (y[j] > top) top = y[j];
         }
         float sum = 0.0f;
    "#);
}

#[test]
fn hoist() {
    insta::assert_snapshot!(change("hoist", "y out of", SCALE), @r#"
    @@ -1,7 +1,10 @@
     void scale(const float *x, float *y, int64_t rows) {
         for (int64_t i = 0; i < rows; i++) {
    -        for (int64_t j = 0; j < 64; j++) {
    -            y[i * 64 + j] = x[i * 64 + j] * 3.0f;
    +        {
    +            float *y_row = y + i * 64;
    +            for (int64_t j = 0; j < 64; j++) {
    +                y_row[j] = x[i * 64 + j] * 3.0f;
    +            }
             }
         }
     }
    "#);
}

#[test]
fn interchange() {
    insta::assert_snapshot!(change("interchange", "", SCALE), @r#"
    @@ -1,6 +1,6 @@
     void scale(const float *x, float *y, int64_t rows) {
    -    for (int64_t i = 0; i < rows; i++) {
    -        for (int64_t j = 0; j < 64; j++) {
    +    for (int64_t j = 0; j < 64; j++) {
    +        for (int64_t i = 0; i < rows; i++) {
                 y[i * 64 + j] = x[i * 64 + j] * 3.0f;
             }
         }
    "#);
}

#[test]
fn prefetch() {
    insta::assert_snapshot!(change("prefetch", "a 16", DOT), @r#"
    @@ -1,6 +1,7 @@
     float dot(const float *a, const float *b, int64_t n) {
         float s = 0.0f;
         for (int64_t i = 0; i < n; i++) {
    +        __builtin_prefetch(&a[(i + 16)]);
             s += a[i] * b[i];
         }
         return s;
    "#);
}

#[test]
fn reciprocal() {
    insta::assert_snapshot!(change("reciprocal", "sum", SOFTMAX), @r#"
    @@ -11,7 +11,10 @@
             y[j] = expf(y[j] - top);
             sum += y[j];
         }
    -    for (int64_t j = 0; j < n; j++) {
    -        y[j] = y[j] / sum;
    +    {
    +        const float reciprocal = 1.0f / sum;
    +        for (int64_t j = 0; j < n; j++) {
    +            y[j] = y[j] * reciprocal;
    +        }
         }
     }
    "#);
}

#[expect(clippy::too_many_lines, reason = "the snapshot is the text of a tile")]
#[test]
fn register_tile() {
    insta::assert_snapshot!(change("register-tile", "s 2i x 64j", PRODUCT), @r#"
    @@ -1,11 +1,77 @@
    +typedef float lanes __attribute__((vector_size(64)));
    +typedef float lanes_any __attribute__((vector_size(64), aligned(4), may_alias));
     void product(const float *x, const float *w, float *y, int64_t m) {
    -    for (int64_t i = 0; i < m; i++) {
    -        for (int64_t j = 0; j < N; j++) {
    -            float s = 0.0f;
    -            for (int64_t k = 0; k < K; k++) {
    -                s += x[i * K + k] * w[k * N + j];
    +    {
    +        int64_t i0 = 0;
    +        for (; i0 + 2 <= m; i0 += 2) {
    +            int64_t j0 = 0;
    +            for (; j0 + 64 <= N; j0 += 64) {
    +                lanes s_0_0 = {0}, s_0_1 = {0}, s_0_2 = {0}, s_0_3 = {0};
    +                lanes s_1_0 = {0}, s_1_1 = {0}, s_1_2 = {0}, s_1_3 = {0};
    +                for (int64_t k = 0; k < K; k++) {
    +                    const float one0_0 = x[i0 * K + k];
    +                    const float one0_1 = x[(i0 + 1) * K + k];
    +                    const lanes vec1_0 = *(const lanes_any *)&w[k * N + j0];
    +                    const lanes vec1_1 = *(const lanes_any *)&w[k * N + (j0 + 16)];
    +                    const lanes vec1_2 = *(const lanes_any *)&w[k * N + (j0 + 32)];
    +                    const lanes vec1_3 = *(const lanes_any *)&w[k * N + (j0 + 48)];
    +                    s_0_0 += one0_0 * vec1_0;
    +                    s_0_1 += one0_0 * vec1_1;
    +                    s_0_2 += one0_0 * vec1_2;
    +                    s_0_3 += one0_0 * vec1_3;
    +                    s_1_0 += one0_1 * vec1_0;
    +                    s_1_1 += one0_1 * vec1_1;
    +                    s_1_2 += one0_1 * vec1_2;
    +                    s_1_3 += one0_1 * vec1_3;
    +                }
    +                _Alignas(64) float s_tile[2][64];
    +                *(lanes_any *)&s_tile[0][0] = s_0_0;
    +                *(lanes_any *)&s_tile[0][16] = s_0_1;
    +                *(lanes_any *)&s_tile[0][32] = s_0_2;
    +                *(lanes_any *)&s_tile[0][48] = s_0_3;
    +                *(lanes_any *)&s_tile[1][0] = s_1_0;
    +                *(lanes_any *)&s_tile[1][16] = s_1_1;
    +                *(lanes_any *)&s_tile[1][32] = s_1_2;
    +                *(lanes_any *)&s_tile[1][48] = s_1_3;
    +                for (int u = 0; u < 2; u++) {
    +                    for (int w2 = 0; w2 < 64; w2++) {
    +                        const int64_t i = i0 + u;
    +                        const int64_t j = j0 + w2;
    +                        const float s = s_tile[u][w2];
    +                        y[i * N + j] = s;
    +                    }
    +                }
                 }
    -            y[i * N + j] = s;
             }
    +        for (; i0 < m; i0++) {
    +            int64_t j0 = 0;
    +            for (; j0 + 64 <= N; j0 += 64) {
    +                lanes s_0_0 = {0}, s_0_1 = {0}, s_0_2 = {0}, s_0_3 = {0};
    +                for (int64_t k = 0; k < K; k++) {
    +                    const float one0_0 = x[i0 * K + k];
    +                    const lanes vec1_0 = *(const lanes_any *)&w[k * N + j0];
    +                    const lanes vec1_1 = *(const lanes_any *)&w[k * N + (j0 + 16)];
    +                    const lanes vec1_2 = *(const lanes_any *)&w[k * N + (j0 + 32)];
    +                    const lanes vec1_3 = *(const lanes_any *)&w[k * N + (j0 + 48)];
    +                    s_0_0 += one0_0 * vec1_0;
    +                    s_0_1 += one0_0 * vec1_1;
    +                    s_0_2 += one0_0 * vec1_2;
    +                    s_0_3 += one0_0 * vec1_3;
    +                }
    +                _Alignas(64) float s_tile[1][64];
    +                *(lanes_any *)&s_tile[0][0] = s_0_0;
    +                *(lanes_any *)&s_tile[0][16] = s_0_1;
    +                *(lanes_any *)&s_tile[0][32] = s_0_2;
    +                *(lanes_any *)&s_tile[0][48] = s_0_3;
    +                for (int u = 0; u < 1; u++) {
    +                    for (int w2 = 0; w2 < 64; w2++) {
    +                        const int64_t i = i0 + u;
    +                        const int64_t j = j0 + w2;
    +                        const float s = s_tile[u][w2];
    +                        y[i * N + j] = s;
    +                    }
    +                }
    +            }
    +        }
         }
     }
    "#);
}

#[test]
fn restrict() {
    insta::assert_snapshot!(change("restrict", "pointers", DOT), @r#"
    @@ -1,4 +1,4 @@
    -float dot(const float *a, const float *b, int64_t n) {
    +float dot(const float *restrict a, const float *restrict b, int64_t n) {
         float s = 0.0f;
         for (int64_t i = 0; i < n; i++) {
             s += a[i] * b[i];
    "#);
}

#[test]
fn row_block() {
    insta::assert_snapshot!(change("row-block", "i by 16", ROWS), @r#"
    @@ -1,16 +1,29 @@
    +enum { BLOCK_I = 16 };
     void rows(const float *q, const float *k, float *out, float *scratch, int64_t n) {
    -    for (int64_t i = 0; i < n; i++) {
    -        for (int64_t j = 0; j <= i; j++) {
    -            float s = 0.0f;
    -            for (int64_t d = 0; d < 16; d++) {
    -                s += q[i * 16 + d] * k[j * 16 + d];
    +    for (int64_t i0 = 0; i0 < n; i0 += BLOCK_I) {
    +        int64_t i_at[BLOCK_I];
    +        for (int64_t ir = 0; ir < BLOCK_I; ir++) i_at[ir] = i0 + ir < n ? i0 + ir : n - 1;
    +        _Alignas(64) float scratch_rows[n * BLOCK_I];
    +        for (int64_t j = 0; j <= i_at[BLOCK_I - 1]; j++) {
    +            for (int64_t ir = 0; ir < BLOCK_I; ir++) {
    +                float s = 0.0f;
    +                for (int64_t d = 0; d < 16; d++) {
    +                    s += q[i_at[ir] * 16 + d] * k[j * 16 + d];
    +                }
    +                scratch_rows[j * BLOCK_I + ir] = j <= i_at[ir] ? s : -INFINITY;
                 }
    -            scratch[j] = s;
             }
    -        float sum = 0.0f;
    -        for (int64_t j = 0; j <= i; j++) {
    -            sum += expf(scratch[j]);
    +        float sum[BLOCK_I];
    +        for (int64_t ir = 0; ir < BLOCK_I; ir++) {
    +            sum[ir] = 0.0f;
    +        }
    +        for (int64_t j = 0; j <= i_at[BLOCK_I - 1]; j++) {
    +            for (int64_t ir = 0; ir < BLOCK_I; ir++) {
    +                sum[ir] += expf(scratch_rows[j * BLOCK_I + ir]);
    +            }
    +        }
    +        for (int64_t ir = 0; ir < BLOCK_I; ir++) {
    +            out[i_at[ir]] = sum[ir];
             }
    -        out[i] = sum;
         }
     }
    "#);
}

#[test]
fn select() {
    insta::assert_snapshot!(change("select", "top", SOFTMAX), @r#"
    @@ -4,7 +4,7 @@
         }
         float top = y[0];
         for (int64_t j = 1; j < n; j++) {
    -        if (y[j] > top) top = y[j];
    +        top = (y[j] > top) ? y[j] : top;
         }
         float sum = 0.0f;
         for (int64_t j = 0; j < n; j++) {
    "#);
}

#[test]
fn simd() {
    insta::assert_snapshot!(change("simd", "", DOT), @r#"
    @@ -1,5 +1,6 @@
     float dot(const float *a, const float *b, int64_t n) {
         float s = 0.0f;
    +    #pragma omp simd reduction(+:s)
         for (int64_t i = 0; i < n; i++) {
             s += a[i] * b[i];
         }
    flags: none -> -fopenmp-simd
    "#);
}

#[test]
fn stream() {
    insta::assert_snapshot!(change("stream", "", SCALE), @r#"
    @@ -1,7 +1,27 @@
    +typedef float lanes __attribute__((vector_size(64)));
    +typedef float lanes_any __attribute__((vector_size(64), aligned(4), may_alias));
    +static inline void stream_line(float *to, const float *line) {
    +#if defined(__AVX512F__)
    +    __builtin_ia32_movntps512(to, *(const lanes *)line);
    +#else
    +    *(lanes *)to = *(const lanes *)line;
    +#endif
    +}
    +static inline void stream_end(void) {
    +#if defined(__AVX512F__)
    +    __builtin_ia32_sfence();
    +#endif
    +}
     void scale(const float *x, float *y, int64_t rows) {
         for (int64_t i = 0; i < rows; i++) {
    -        for (int64_t j = 0; j < 64; j++) {
    -            y[i * 64 + j] = x[i * 64 + j] * 3.0f;
    +        for (int64_t j0 = 0; j0 < 64; j0 += 16) {
    +            _Alignas(64) float line[16];
    +            for (int lane = 0; lane < 16; lane++) {
    +                const int64_t j = j0 + lane;
    +                line[lane] = x[i * 64 + j] * 3.0f;
    +            }
    +            stream_line(&y[i * 64 + j0], line);
             }
         }
    +    stream_end();
     }
    "#);
}

#[test]
fn strip_mine() {
    insta::assert_snapshot!(change("strip-mine", "j by 32 around", SCALE), @r#"
    @@ -1,7 +1,9 @@
     void scale(const float *x, float *y, int64_t rows) {
    -    for (int64_t i = 0; i < rows; i++) {
    -        for (int64_t j = 0; j < 64; j++) {
    -            y[i * 64 + j] = x[i * 64 + j] * 3.0f;
    +    for (int64_t j0 = 0; j0 < 64; j0 += 32) {
    +        for (int64_t i = 0; i < rows; i++) {
    +            for (int64_t j = j0; j < (j0 + 32 < 64 ? j0 + 32 : 64); j++) {
    +                y[i * 64 + j] = x[i * 64 + j] * 3.0f;
    +            }
             }
         }
     }
    "#);
}

#[test]
fn tunable() {
    insta::assert_snapshot!(change("tunable", "TILE = 16", TUNED), @r#"
    @@ -1,4 +1,4 @@
    -enum { TILE = 8 };
    +enum { TILE = 16 };
     #define WIDTH 16
     static const int depth = 4;
     int tiles(int n) { return n / TILE / WIDTH / depth; }
    "#);
}

#[test]
fn unroll() {
    insta::assert_snapshot!(change("unroll", "i by 4", DOT), @r#"
    @@ -1,5 +1,6 @@
     float dot(const float *a, const float *b, int64_t n) {
         float s = 0.0f;
    +    #pragma GCC unroll 4
         for (int64_t i = 0; i < n; i++) {
             s += a[i] * b[i];
         }
    "#);
}

#[test]
fn unroll_and_jam() {
    insta::assert_snapshot!(change("unroll-and-jam", "j by 2", PRODUCT), @r#"
    @@ -1,11 +1,16 @@
     void product(const float *x, const float *w, float *y, int64_t m) {
         for (int64_t i = 0; i < m; i++) {
    -        for (int64_t j = 0; j < N; j++) {
    -            float s = 0.0f;
    -            for (int64_t k = 0; k < K; k++) {
    -                s += x[i * K + k] * w[k * N + j];
    +        {
    +            for (int64_t j = 0; j < N; j += 2) {
    +                float s_0 = 0.0f;
    +                float s_1 = 0.0f;
    +                for (int64_t k = 0; k < K; k++) {
    +                    s_0 += x[i * K + k] * w[k * N + j];
    +                    s_1 += x[i * K + k] * w[k * N + (j + 1)];
    +                }
    +                y[i * N + j] = s_0;
    +                y[i * N + (j + 1)] = s_1;
                 }
    -            y[i * N + j] = s;
             }
         }
     }
    "#);
}

#[test]
fn every_edit_has_a_snapshot_or_is_one() {
    let covered = include_str!("edits.rs");
    for edit in EDITS {
        assert!(covered.contains(&format!("change(\"{}\"", edit.kind)), "no snapshot of {}", edit.kind);
    }
}

/// Whether everything that the edits offer for a source is C, and changes something.
fn all_compile(name: &str, text: &str) {
    let before = code(text, &[]);
    let mut seen = std::collections::BTreeSet::new();
    for edit in EDITS {
        // Offers of one kind differ in sizes: one for each target is enough for the compiler.
        let offers = (edit.offers)(&before);
        let of_target =
            |offer: &&Offer| seen.insert(format!("{} {}", edit.kind, offer.what.split(' ').next().unwrap_or_default()));
        for offer in offers.iter().filter(of_target).take(6).collect::<Vec<_>>() {
            assert!(offer.text != text || !offer.flags.is_empty(), "{name}: {} changes nothing", offer.what);
            if edit.kind != "flag"
                && let Err(log) = syntax(&offer.text, &offer.flags)
            {
                panic!("{name}: {} {}: {log}\n{}", edit.kind, offer.note(), offer.text);
            }
        }
    }
}

#[test]
fn offers_for_the_problems_compile() {
    if !sources::has_compiler("offers_for_the_problems_compile") {
        return;
    }
    assert!(constants().contains_key("DIM"));
    all_compile("attention", ATTENTION);
    all_compile("matmul", MATMUL);
    all_compile("rms-norm", RMS_NORM);
}
