/* PARTS partial sums over k. */
#ifndef PARTS
#define PARTS 8
#endif

void matmul_small_m(const float *x, const float *w, const float *packed, float *y, int64_t m)
{
    (void)packed;
    for (int64_t i = 0; i < m; i++)
        for (int64_t j = 0; j < N; j++) {
            float part[PARTS] = {0}, s = 0.0f;
            for (int64_t l = 0; l < K; l += PARTS)
                for (int64_t p = 0; p < PARTS; p++)
                    part[p] += MUL(x[i * K + l + p], w[(l + p) * N + j]);
            for (int64_t p = 0; p < PARTS; p++)
                s += part[p];
            y[i * N + j] = s;
        }
}
