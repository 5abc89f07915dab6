/* Multiply-add peaks in cpufp's manner: as many independent chains as the units can take, operands in registers.
 * Prints `NAME operations_per_second`, one a line; the median of the rounds of about 0.4 s each, since the map's figures
 * are medians too: cpufp itself prints one long round. */
#include <immintrin.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec + 1e-9 * t.tv_nsec;
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

#define ROUNDS 4096
static double rates[ROUNDS];

/* Twelve variables and no array, since a compiler keeps an array in memory and then the stores are timed; and hidden at
 * the start, since it makes one chain of those that it can see to be the same. */
#define CHAINS(X) X(0) X(1) X(2) X(3) X(4) X(5) X(6) X(7) X(8) X(9) X(10) X(11)
#define HIDE(i) __asm__ volatile("" : "+v"(a##i));
#define END(i) __asm__ volatile("" : : "v"(a##i));
#define LOOP(NAME, TYPE, ZERO, STEP, WORK)                                                               \
    static void NAME(TYPE x, TYPE y)                                                                     \
    {                                                                                                    \
        double until = now() + 0.4;                                                                      \
        int rounds = 0;                                                                                  \
        TYPE a0 = ZERO, a1 = ZERO, a2 = ZERO, a3 = ZERO, a4 = ZERO, a5 = ZERO;                           \
        TYPE a6 = ZERO, a7 = ZERO, a8 = ZERO, a9 = ZERO, a10 = ZERO, a11 = ZERO;                         \
        CHAINS(HIDE)                                                                                     \
        do {                                                                                             \
            double start = now();                                                                        \
            for (int n = 0; n < 100000; n++) {                                                           \
                CHAINS(STEP)                                                                             \
                __asm__ volatile("" : "+v"(a0), "+v"(x), "+v"(y));                                       \
            }                                                                                            \
            rates[rounds++] = 100000.0 * 12 * WORK / (now() - start);                                    \
        } while (now() < until && rounds < ROUNDS);                                                      \
        CHAINS(END)                                                                                      \
        qsort(rates, rounds, sizeof(double), compare);                                                   \
        printf(#NAME " %.0f\n", rates[rounds / 2]);                                                      \
    }

#ifdef __AVX512F__
#define F32(i) a##i = _mm512_fmadd_ps(x, y, a##i);
LOOP(f32, __m512, _mm512_setzero_ps(), F32, 32)
#define F64(i) a##i = _mm512_fmadd_pd(x, y, a##i);
LOOP(f64, __m512d, _mm512_setzero_pd(), F64, 16)
#ifdef __AVX512VNNI__
#define I8(i) a##i = _mm512_dpbusd_epi32(a##i, x, y);
LOOP(i8_vnni, __m512i, _mm512_setzero_si512(), I8, 128)
#endif
#ifdef __AVX512BF16__
#define BF(i) a##i = _mm512_dpbf16_ps(a##i, (__m512bh)x, (__m512bh)y);
LOOP(bf16_dot, __m512, _mm512_setzero_ps(), BF, 64)
#endif
#elif defined(__FMA__)
#define F32(i) a##i = _mm256_fmadd_ps(x, y, a##i);
LOOP(f32, __m256, _mm256_setzero_ps(), F32, 16)
#define F64(i) a##i = _mm256_fmadd_pd(x, y, a##i);
LOOP(f64, __m256d, _mm256_setzero_pd(), F64, 8)
#endif

int main(int argc, char **argv)
{
    (void)argv;
#ifdef __AVX512F__
    f32(_mm512_set1_ps(1.1f * argc), _mm512_set1_ps(0.7f * argc));
    f64(_mm512_set1_pd(1.1 * argc), _mm512_set1_pd(0.7 * argc));
#ifdef __AVX512VNNI__
    i8_vnni(_mm512_set1_epi32(0x3b1f5d07 * argc), _mm512_set1_epi32(0x17c4297e * argc));
#endif
#ifdef __AVX512BF16__
    bf16_dot(_mm512_set1_ps(1.1f * argc), _mm512_set1_ps(0.7f * argc));
#endif
#elif defined(__FMA__)
    f32(_mm256_set1_ps(1.1f * argc), _mm256_set1_ps(0.7f * argc));
    f64(_mm256_set1_pd(1.1 * argc), _mm256_set1_pd(0.7 * argc));
#endif
    return 0;
}
