/* Matrix products of the libraries that a system has, found by dlopen: f32 by OpenBLAS and oneDNN, bf16 by oneDNN.
 * Prints `LIBRARY FIGURE operations_per_second`, one a line; best of the rounds of about 0.5 s each. A library that is
 * not there prints nothing. Threads: OMP_NUM_THREADS, OPENBLAS_NUM_THREADS. */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define N 1024

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec + 1e-9 * t.tv_nsec;
}

static float a[N * N], b[N * N], c[N * N];
static uint16_t ha[N * N], hb[N * N];

typedef int (*dnnl_f32)(char, char, int64_t, int64_t, int64_t, float, const float *, int64_t, const float *, int64_t,
                        float, float *, int64_t);
typedef int (*dnnl_bf16)(char, char, int64_t, int64_t, int64_t, float, const uint16_t *, int64_t, const uint16_t *,
                         int64_t, float, float *, int64_t);
/* CblasRowMajor is 101, CblasNoTrans 111. */
typedef void (*blas_f32)(int, int, int, int, int, int, float, const float *, int, const float *, int, float, float *,
                         int);

static void *find(const char *const *files, const char *name)
{
    for (; *files; files++) {
        void *library = dlopen(*files, RTLD_NOW);
        if (library)
            return dlsym(library, name);
    }
    return 0;
}

#define TIMED(LIBRARY, FIGURE, CALL)                              \
    do {                                                          \
        double best = 0, until = now() + 0.5;                     \
        do {                                                      \
            double start = now();                                 \
            CALL;                                                 \
            double rate = 2.0 * N * N * N / (now() - start);      \
            if (rate > best)                                      \
                best = rate;                                      \
        } while (now() < until);                                  \
        printf(LIBRARY " " FIGURE " %.0f\n", best);               \
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
    }
    blas_f32 openblas = (blas_f32)find(blas, "cblas_sgemm");
    if (openblas)
        TIMED("OpenBLAS", "compute.f32.one.burst", openblas(101, 111, 111, N, N, N, 1, a, N, b, N, 0, c, N));
    dnnl_f32 f32 = (dnnl_f32)find(dnnl, "dnnl_sgemm");
    if (f32)
        TIMED("oneDNN", "compute.f32.one.burst", f32('N', 'N', N, N, N, 1, a, N, b, N, 0, c, N));
    dnnl_bf16 bf16 = (dnnl_bf16)find(dnnl, "dnnl_gemm_bf16bf16f32");
    /* Without the unit it may refuse. */
    if (bf16 && bf16('N', 'N', N, N, N, 1, ha, N, hb, N, 0, c, N) == 0)
        TIMED("oneDNN", "compute.bf16-matrix.one.burst", bf16('N', 'N', N, N, N, 1, ha, N, hb, N, 0, c, N));
    return 0;
}
