/* Matrix products of the libraries that a system has, found by dlopen: f32 and f64 by OpenBLAS, f32, bf16 and bytes by
 * oneDNN. Prints `LIBRARY FIGURE operations_per_second`, one a line; the median of the products of about 0.5 s each, since
 * the map's figures are medians too. A library that is not there prints nothing. Threads: OMP_NUM_THREADS,
 * OPENBLAS_NUM_THREADS. */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define N 1024
/* The unit that a product of bytes takes: the widest that the compiler sees here. */
#ifdef __AMX_INT8__
#define BYTES "compute.i8-matrix.one"
#elif defined(__AVX512VNNI__)
#define BYTES "compute.i8-vnni.one"
#else
#define BYTES "compute.i8-avx-vnni.one"
#endif

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

static float a[N * N], b[N * N], c[N * N];
static double da[N * N], db[N * N], dc[N * N];
static uint16_t ha[N * N], hb[N * N];
static uint8_t ua[N * N];
static int8_t sb[N * N];
static int32_t ic[N * N];

typedef int (*dnnl_f32)(char, char, int64_t, int64_t, int64_t, float, const float *, int64_t, const float *, int64_t,
                        float, float *, int64_t);
typedef int (*dnnl_bf16)(char, char, int64_t, int64_t, int64_t, float, const uint16_t *, int64_t, const uint16_t *,
                         int64_t, float, float *, int64_t);
/* CblasRowMajor is 101, CblasNoTrans 111. */
typedef void (*blas_f32)(int, int, int, int, int, int, float, const float *, int, const float *, int, float, float *,
                         int);

typedef void (*blas_f64)(int, int, int, int, int, int, double, const double *, int, const double *, int, double,
                         double *, int);
typedef int (*dnnl_i8)(char, char, char, int64_t, int64_t, int64_t, float, const uint8_t *, int64_t, uint8_t,
                       const int8_t *, int64_t, int8_t, float, int32_t *, int64_t, const int32_t *);

static void *find(const char *const *files, const char *name)
{
    for (; *files; files++) {
        void *library = dlopen(*files, RTLD_NOW);
        if (library)
            return dlsym(library, name);
    }
    return 0;
}

#define ROUNDS 8192
static double rates[ROUNDS];

/* The first product is not counted: libraries make their code and their threads then. */
#define TIMED(LIBRARY, FIGURE, CALL)                                      \
    do {                                                                  \
        CALL;                                                             \
        double until = now() + 0.5;                                       \
        int rounds = 0;                                                   \
        do {                                                              \
            double start = now();                                         \
            CALL;                                                         \
            rates[rounds++] = 2.0 * N * N * N / (now() - start);          \
        } while (now() < until && rounds < ROUNDS);                       \
        qsort(rates, rounds, sizeof(double), compare);                    \
        printf(LIBRARY " " FIGURE " %.0f\n", rates[rounds / 2]);          \
    } while (0)

int main(void)
{
    const char *const dnnl[] = { "libdnnl.so.3", "libdnnl.so.2", "libdnnl.so", 0 };
    const char *const blas[] = { "libopenblas.so.0", "libopenblas.so", 0 };
    for (int i = 0; i < N * N; i++) {
        union { float f; uint32_t bits; } x = { (float)rand() / RAND_MAX - 0.5f }, y = { (float)rand() / RAND_MAX - 0.5f };
        a[i] = x.f;
        b[i] = y.f;
        ha[i] = x.bits >> 16;
        hb[i] = y.bits >> 16;
        da[i] = x.f;
        db[i] = y.f;
        ua[i] = rand() >> 8;
        sb[i] = rand() >> 8;
    }
    blas_f32 openblas = (blas_f32)find(blas, "cblas_sgemm");
    if (openblas)
        TIMED("OpenBLAS", "compute.f32.one", openblas(101, 111, 111, N, N, N, 1, a, N, b, N, 0, c, N));
    blas_f64 openblas64 = (blas_f64)find(blas, "cblas_dgemm");
    if (openblas64)
        TIMED("OpenBLAS", "compute.f64.one", openblas64(101, 111, 111, N, N, N, 1, da, N, db, N, 0, dc, N));
    dnnl_f32 f32 = (dnnl_f32)find(dnnl, "dnnl_sgemm");
    if (f32)
        TIMED("oneDNN", "compute.f32.one", f32('N', 'N', N, N, N, 1, a, N, b, N, 0, c, N));
    dnnl_bf16 bf16 = (dnnl_bf16)find(dnnl, "dnnl_gemm_bf16bf16f32");
    /* Without the unit it may refuse. */
    if (bf16 && bf16('N', 'N', N, N, N, 1, ha, N, hb, N, 0, c, N) == 0)
        TIMED("oneDNN", "compute.bf16-matrix.one", bf16('N', 'N', N, N, N, 1, ha, N, hb, N, 0, c, N));
    const int32_t zero = 0;
    dnnl_i8 i8 = (dnnl_i8)find(dnnl, "dnnl_gemm_u8s8s32");
    if (i8 && i8('N', 'N', 'F', N, N, N, 1, ua, N, 0, sb, N, 0, 0, ic, N, &zero) == 0)
        TIMED("oneDNN", BYTES, i8('N', 'N', 'F', N, N, N, 1, ua, N, 0, sb, N, 0, 0, ic, N, &zero));
    return 0;
}
