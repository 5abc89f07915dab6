/* STREAM's four loops in double precision, as J. McCalpin defines them, on N elements an array; bytes that the loops
 * name. The median of eleven rounds, since the map's figures are medians too: STREAM itself prints the best. Prints `NAME bytes_per_second`, one a line. argv: N. Threads: OMP_NUM_THREADS. */
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>

#define ROUNDS 11

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

int main(int argc, char **argv)
{
    long n = argc > 1 ? atol(argv[1]) : 20000000;
    double *a = aligned_alloc(64, 8 * n), *b = aligned_alloc(64, 8 * n), *c = aligned_alloc(64, 8 * n);
    if (!a || !b || !c)
        return 1;
#pragma omp parallel for
    for (long i = 0; i < n; i++) {
        a[i] = 1.0;
        b[i] = 2.0;
        c[i] = 0.0;
    }
    double times[4][ROUNDS], scalar = 3.0;
    for (int round = -1; round < ROUNDS; round++) {
        double t[5];
        t[0] = omp_get_wtime();
#pragma omp parallel for
        for (long i = 0; i < n; i++)
            c[i] = a[i];
        t[1] = omp_get_wtime();
#pragma omp parallel for
        for (long i = 0; i < n; i++)
            b[i] = scalar * c[i];
        t[2] = omp_get_wtime();
#pragma omp parallel for
        for (long i = 0; i < n; i++)
            c[i] = a[i] + b[i];
        t[3] = omp_get_wtime();
#pragma omp parallel for
        for (long i = 0; i < n; i++)
            a[i] = b[i] + scalar * c[i];
        t[4] = omp_get_wtime();
        for (int k = 0; k < 4; k++)
            if (round >= 0)
                times[k][round] = t[k + 1] - t[k];
    }
    const char *names[4] = { "copy", "scale", "add", "triad" };
    const double arrays[4] = { 2, 2, 3, 3 };
    for (int k = 0; k < 4; k++) {
        qsort(times[k], ROUNDS, sizeof(double), compare);
        printf("%s %.0f\n", names[k], arrays[k] * 8 * n / times[k][ROUNDS / 2]);
    }
    return a[n / 2] == 0.0;
}
