/* Row `row` is columns 64 * (row % (N / 64)) and on of line row / (N / 64) of y. */
#define RUN 64

static void oracle_row(const float *x, const float *w, int64_t m, int64_t row, real *out)
{
    (void)m;
    const int64_t line = row / (N / RUN), first = row % (N / RUN) * RUN;
    real acc[RUN] = {0};
    for (int64_t i = 0; i < K; i++)
        for (int64_t j = 0; j < RUN; j++)
            acc[j] += (real)x[line * K + i] * (real)w[i * N + first + j];
    for (int64_t j = 0; j < RUN; j++)
        out[j] = acc[j];
}
