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

/* The chains are variables of a function that calls nothing, loaded from memory that the compiler knows nothing about: it
 * keeps an array, or what lives across a call, in memory, and makes one chain of those that it can see to be the same. */
#define CHAINS(X) X(0) X(1) X(2) X(3) X(4) X(5) X(6) X(7) X(8) X(9) X(10) X(11)
#define LOOP(NAME, TYPE, STEP, WORK)                                          \
    static __attribute__((noinline)) void NAME##_chains(TYPE *a, TYPE x, TYPE y) \
    {                                                                         \
        TYPE a0 = a[0], a1 = a[1], a2 = a[2], a3 = a[3], a4 = a[4], a5 = a[5]; \
        TYPE a6 = a[6], a7 = a[7], a8 = a[8], a9 = a[9], a10 = a[10], a11 = a[11]; \
        for (int n = 0; n < 100000; n++) {                                    \
            CHAINS(STEP)                                                      \
            __asm__ volatile("" : "+v"(x), "+v"(y));                          \
        }                                                                     \
        a[0] = a0, a[1] = a1, a[2] = a2, a[3] = a3, a[4] = a4, a[5] = a5;     \
        a[6] = a6, a[7] = a7, a[8] = a8, a[9] = a9, a[10] = a10, a[11] = a11; \
    }                                                                         \
    static void NAME(TYPE x, TYPE y)                                          \
    {                                                                         \
        static TYPE a[12];                                                    \
        double until = now() + 0.4;                                           \
        int rounds = 0;                                                       \
        do {                                                                  \
            double start = now();                                             \
            NAME##_chains(a, x, y);                                           \
            rates[rounds++] = 100000.0 * 12 * WORK / (now() - start);         \
            __asm__ volatile("" : : "r"(a) : "memory");                       \
        } while (now() < until && rounds < ROUNDS);                           \
        qsort(rates, rounds, sizeof(double), compare);                        \
        printf(#NAME " %.0f\n", rates[rounds / 2]);                           \
    }

#ifdef __AVX512F__
#define F32(i) a##i = _mm512_fmadd_ps(x, y, a##i);
LOOP(f32, __m512, F32, 32)
#define F64(i) a##i = _mm512_fmadd_pd(x, y, a##i);
LOOP(f64, __m512d, F64, 16)
#ifdef __AVX512VNNI__
#define I8(i) a##i = _mm512_dpbusd_epi32(a##i, x, y);
LOOP(i8_vnni, __m512i, I8, 128)
#endif
#ifdef __AVX512BF16__
#define BF(i) a##i = _mm512_dpbf16_ps(a##i, (__m512bh)x, (__m512bh)y);
LOOP(bf16_dot, __m512, BF, 64)
#endif
#elif defined(__FMA__)
#define F32(i) a##i = _mm256_fmadd_ps(x, y, a##i);
LOOP(f32, __m256, F32, 16)
#define F64(i) a##i = _mm256_fmadd_pd(x, y, a##i);
LOOP(f64, __m256d, F64, 8)
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
