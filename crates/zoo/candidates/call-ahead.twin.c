/* Computes its own call, whatever comes next. */
enum { PANEL = 128 };

void matmul_small_m_prepare(const float *w, float *packed, int64_t m) {
    (void)m;
    for (int64_t n = 0; n < N; n += PANEL)
        for (int64_t i = 0; i < K; i++)
            for (int64_t j = 0; j < PANEL; j++) *packed++ = w[i * N + n + j];
}

void matmul_small_m(const float *x, const float *w, const float *packed, float *y, int64_t m) {
    (void)w;
    for (int64_t n = 0; n < N; n += PANEL, packed += K * PANEL)
        for (int64_t r = 0; r < m; r++) {
            float sum[PANEL] = {0};
            for (int64_t i = 0; i < K; i++)
                for (int64_t j = 0; j < PANEL; j++) sum[j] += x[r * K + i] * packed[i * PANEL + j];
            for (int64_t j = 0; j < PANEL; j++) y[r * N + n + j] = sum[j];
        }
}
